"""Calls of public functions whose arguments have names that there are none of, are missing, or are of a wrong kind: told as wrong
values are. Which values of the right kind are allowed is each function's own business."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from tailback import kinds
from tailback.errors import CallError, TailbackError, nearest, one_of

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type[Any])

_PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_FURTHER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def checked_call(function: Callable[P, R]) -> Callable[P, R]:
    """Makes a function tell everything that is wrong with a call of it. Calls that are right cost what they did: only when one
    fails are its arguments looked at."""

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TailbackError:
            raise
        except Exception as error:
            named = _slips(function, args, kwargs) if isinstance(error, TypeError) else []
            slips = named or kinds.slips(function, args, kwargs)
            if not slips:  # Some other mistake, within the function.
                raise
            raise CallError("\n".join(slips)) from None

    return checked


def checked_methods(cls: C) -> C:
    """A class whose public methods are checked by :func:`checked_call`, those that it inherits from its own package too."""
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] != __name__.partition(".")[0]:
            continue
        for name, thing in list(vars(base).items()):
            if isinstance(thing, FunctionType) and not name.startswith("_"):
                setattr(cls, name, checked_call(thing))
            elif isinstance(thing, classmethod) and not name.startswith("_"):
                setattr(cls, name, classmethod(checked_call(thing.__func__)))
    return cls


def _slips(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """What is wrong with the names and the number of arguments, a line for each."""
    parameters = list(inspect.signature(function).parameters.values())
    if parameters and parameters[0].name in {"self", "cls"}:
        parameters, args = parameters[1:], args[1:]
    sorts = {each.kind for each in parameters}
    known = [each.name for each in parameters if each.kind not in _FURTHER]
    placed = [each.name for each in parameters if each.kind in _PLACED]
    needed = [each.name for each in parameters if each.name in known and each.default is each.empty]
    taken, beyond = placed[: len(args)], args[len(placed) :]
    strange = [name for name in kwargs if name not in known]
    slips = [f"{name}: given twice, by its place and by its name; expected once" for name in taken if name in kwargs]
    if inspect.Parameter.VAR_POSITIONAL not in sorts:
        slips += [f"{value!r}: expected with its name, as in {_as_named(value, parameters)}" for value in beyond]
    if inspect.Parameter.VAR_KEYWORD not in sorts:
        slips += [f"{name}: no such argument; expected {_in_place_of(name, parameters)}" for name in strange]
    listed = ", ".join(known)
    slips += [f"{name} is missing; the arguments are {listed}" for name in needed if name not in {*taken, *kwargs}]
    return [f"{function.__name__}(): {slip}" for slip in slips]


def _as_named(value: Any, parameters: Sequence[inspect.Parameter]) -> str:
    """How an argument that was given by its place would be given by its name."""
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters):  # Of fields, which it may name or hold.
        if isinstance(value, Mapping) and value:
            return f"**{{{next(iter(value))!r}: …}}"
        if isinstance(value, str) and value.isidentifier():
            return f"{value}=…"
    known = [each.name for each in parameters if each.kind not in _FURTHER]
    named = [each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]
    return f"{[*named[:1], *known[-1:], 'name'][0]}=…"


def _in_place_of(name: str, parameters: Sequence[inspect.Parameter]) -> str:
    """What is allowed in place of a name that there is none of. Those of which there may be many have no name in a call."""
    known = [each.name for each in parameters if each.kind not in _FURTHER]
    many = [each.name for each in parameters if each.kind is inspect.Parameter.VAR_POSITIONAL]
    if many and (not known or nearest(name, [*known, *many]) in many):
        return f"{many[0]} one after the other, without a name"
    return one_of(name, known) if known else "none, for there are none"
