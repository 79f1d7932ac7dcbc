"""What can go wrong in a way that is the user's to mend; each message says what was found and what is allowed. And what Python's
warnings of ours are called: how one is given stands in ``callers.py``."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


class TailbackError(Exception):
    """Something that the user can mend. The command line prints the message alone, without a traceback."""


class TailbackWarning(UserWarning):
    """A run's figures may not say what they seem to say."""


class StorageError(TailbackError):
    """A result could not be written or read. Nothing half-written is left behind."""


class PredictionError(TailbackError):
    """Theory has nothing to say about a scenario, or was asked for what it does not know."""


class PartError(TailbackError):
    """A custom part makes no sense; the message names the class, and the line where there is one."""


class NotFoundError(TailbackError, KeyError):
    """A metric, axis, flow, link, table or figure that there is none of, or that was not recorded; the message tells what
    there is, the nearest name first of all."""

    __str__ = Exception.__str__  # A KeyError would show its message in quotes.


class NoFigureError(NotFoundError, AttributeError):
    """A figure that there is none of: what Python asks for as an attribute is told as one, to ``hasattr`` for example."""


class ArgumentError(TailbackError, ValueError):
    """An argument of a function that has a value which is not allowed there."""


class CallError(ArgumentError, TypeError):
    """A call with an argument of a name that there is none of or of a wrong kind, or without one that is needed."""


@dataclass(frozen=True)
class Problem:
    """One wrong value in a scenario."""

    field: str
    """Where it stands, for example ``flows[2].scheme.beta``."""
    value: str
    """The value found; empty where it is missing."""
    allowed: str
    """What is allowed there."""

    def __str__(self) -> str:
        if not self.value:
            return f"{self.field} is missing; expected {self.allowed}"
        return f"{self.field}: {self.value} is not allowed; expected {self.allowed}"


MOST_TOLD = 20
"""A message names so many problems, or fewer and how many there are more; ``problems`` of the error holds all."""
MOST_LISTED = 100
"""A message lists so many names of what there is."""


class ScenarioError(TailbackError):
    """Everything that is wrong with a scenario, at once."""

    def __init__(self, problems: Sequence[Problem], source: str = "scenario") -> None:
        self.problems = tuple(problems)
        self.source = source
        super().__init__(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return (ScenarioError, (self.problems, self.source))

    def __str__(self) -> str:
        count = len(self.problems)
        head = f"{self.source}: {count} problem{'s' if count != 1 else ''}"
        # Thousands of flows in which the same is wrong would fill a terminal with it.
        told = self.problems if count <= MOST_TOLD else self.problems[: MOST_TOLD - 1]
        more = [f"  and {count - len(told)} more"] if len(told) < count else []
        return "\n".join([head, *(f"  {problem}" for problem in told), *more])


def unknown(what: str, name: object, known: Iterable[str], hint: str = "") -> NotFoundError:
    """The error to raise for a name that there is none of: what it should name, the name, and those that there are."""
    names = list(known)
    allowed = one_of(str(name), names) if names else "none, for there are none"
    return NotFoundError(f"{name}: no such {what}; expected {allowed}{hint}")


def refused(argument: str, value: object, allowed: str) -> ArgumentError:
    """The error to raise for an argument's value."""
    return ArgumentError(f"{argument}: {value!r} is not allowed; expected {allowed}")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like a misspelt one, if any is alike, or else the shortest of which it is a word: ``delay`` of
    ``queueing_delay``."""
    names = list(known)
    found = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return found[0] if found else min((each for each in names if name in each.split("_")), key=len, default=None)


def one_of(name: str, known: Iterable[str]) -> str:
    """What is allowed instead of an unknown name: the nearest first, then all."""
    names = sorted(known)
    hint = nearest(name, names)
    said = f"one of {listed(names)}"
    return f"{said} (did you mean {hint}?)" if hint else said


def listed(names: Sequence[str]) -> str:
    """Names for a message: all, or, of hundreds, the first, and how many there are."""
    shown = ", ".join(names[:MOST_LISTED])
    return shown if len(names) <= MOST_LISTED else f"{shown}, … ({len(names)} in all)"
