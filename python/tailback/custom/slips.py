"""Slips of the pen in a custom part: a method that nobody calls, or an attribute that nobody reads, with almost the name of
one that would be. What parts must have is checked in ``registry.py``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

_LONG = 10
"""Letters of a name from which on two of them may be wrong; otherwise one."""


def misspelt(part: type[Any], base: type[Any], known: Sequence[str]) -> tuple[FunctionType, str] | None:
    """The first method, of the class or of one between it and ``base``, whose name is almost a known one's, and that one."""
    methods = [thing for _, thing in _things(part, base) if isinstance(thing, FunctionType)]
    called = {name for method in methods for name in _names(method.__code__)}
    for method in methods:
        meant = _meant(method.__name__, base, called, known)
        if meant:
            return method, meant
    return None


def misspelt_attribute(part: type[Any], base: type[Any]) -> tuple[str, str] | None:
    """The same of attributes that say what a part wants: the first whose name is almost that of one of ``base``, and that one."""
    things = _things(part, base)
    used = {name for _, thing in things if isinstance(thing, FunctionType) for name in _names(thing.__code__)}
    known = [name for name in getattr(base, "__annotations__", ()) if not name.startswith("_")]
    for name, thing in things:
        plain = isinstance(thing, bool | int | float | str | type) or thing is None
        meant = _meant(name, base, used, known) if plain else None
        if meant:
            return name, meant
    return None


def _things(part: type[Any], base: type[Any]) -> list[tuple[str, Any]]:
    own = [cls for cls in part.__mro__ if issubclass(cls, base) and cls is not base]
    return [pair for cls in own for pair in vars(cls).items()]


def _meant(name: str, base: type[Any], used: set[str], known: Sequence[str]) -> str | None:
    """The known name that a name is almost, where it is not known itself, and not used by the class."""
    if hasattr(base, name) or name in used or name.startswith("__"):
        return None
    for meant in known:
        if _distance(_bare(name), _bare(meant)) <= (2 if len(meant) >= _LONG else 1):
            return meant
    return None


def _bare(name: str) -> str:
    return name.replace("_", "").lower()


def _names(code: CodeType) -> Iterator[str]:
    """The names of attributes that a function uses, and those within it."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _distance(one: str, other: str) -> int:
    """How many letters must be put in, left out, changed or swapped with their neighbours (optimal string alignment)."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            least = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                least = min(least, rows[-2][j - 2] + 1)
            row.append(least)
        rows.append(row)
    return rows[-1][-1]
