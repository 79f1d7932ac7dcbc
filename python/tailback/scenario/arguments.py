"""Arguments of the short ways to scenarios that are missing, or stand where only names are known: told as wrong values are. What
the values may be is not judged here."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tailback.errors import Problem, ScenarioError

P = ParamSpec("P")
R = TypeVar("R")


def by_name(example: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes a function tell with an example what is missing, or has no name.

    Args:
        example: a call that is whole.
    """

    def decorate(make: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(make).parameters.values()
        placed = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
        named = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
        needed = [each.name for each in parameters if each.name in {*placed, *named} and each.default is each.empty]

        @functools.wraps(make)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            given = {*placed[: len(args)], *kwargs}
            found = [Problem("arguments", repr(value), f"its name, as in {example}") for value in args[len(placed) :]]
            found += [Problem(name, "", f"it, as in {example}") for name in needed if name not in given]
            if found:
                raise ScenarioError(found, make.__name__)
            return make(*args, **kwargs)

        return checked

    return decorate
