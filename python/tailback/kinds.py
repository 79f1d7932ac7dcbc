"""What kind of thing a public function's arguments should be, by their annotations: numbers, texts, results. Looked at only when a
call has failed, so that a function's own errors stay as they are where nothing here is wrong."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, Final


def slips(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[str]:
    """The arguments of a wrong kind, a line for each. Kinds that are not known here pass."""
    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return []
    found = []
    for name, value in given.items():
        parameter = signature.parameters[name]
        wanted = [_KINDS.get(word.strip()) for word in str(parameter.annotation).split("|")]
        if parameter.kind in _ONE and all(wanted) and not any(kind and kind[0](value) for kind in wanted):
            allowed = ", or ".join(kind[1] for kind in wanted if kind)
            found.append(f"{name}: {_shown(value)} is not allowed; expected {allowed}{_meant(value, parameter)}")
    return found


def _is_a(name: str) -> Callable[[Any], bool]:
    """By the name of the class, so that nothing is imported for it."""
    return lambda value: any(kind.__name__ == name for kind in type(value).__mro__)


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _are_numbers(value: Any) -> bool:
    import numpy as np

    try:
        return value is not None and np.asarray(value, dtype=np.float64) is not None
    except (TypeError, ValueError):
        return False


_ONE: Final = {
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
}
_KINDS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "Result": (_is_a("Result"), "a Result, as run() and tb.load() give"),
    "float": (_is_number, "a number"),
    "int": (_is_whole, "a whole number"),
    "str": (lambda value: isinstance(value, str), "a text"),
    "Path": (lambda value: isinstance(value, PathLike), "a path"),
    "bool": (lambda value: isinstance(value, bool), "True or False"),
    "None": (lambda value: value is None, "None"),
    "np.random.Generator": (_is_a("Generator"), "a generator of random numbers, such as numpy.random.default_rng(1)"),
    "Trace": (_is_a("Trace"), "a Trace, as lrd.read_trace() gives"),
    "Marking": (_is_a("Marking"), "a Marking"),
    "Network": (_is_a("Network"), "a Network"),
    "Rest": (_is_a("Rest"), "a Rest, as rest() gives"),
    "ArrayLike": (_are_numbers, "a number, or a list of numbers"),
}
"""By the word of the annotation: whether a value is of the kind, and what to call it."""


def _meant(value: Any, parameter: inspect.Parameter) -> str:
    """The number of a quantity that was written with its unit, as scenarios want it and tables do not have it."""
    from tailback.errors import ArgumentError
    from tailback.units import number

    if "float" not in str(parameter.annotation) or not isinstance(value, str):
        return ""
    try:
        return f" (did you mean {number(value):g}? Numbers are in base units here: seconds, bit/s, bytes)"
    except ArgumentError:
        return ""


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
