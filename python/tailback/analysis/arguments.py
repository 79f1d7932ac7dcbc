"""Checks of arguments that several formulas have: numbers within limits, whole numbers, rows of numbers, and routes over links.
Series to estimate from are checked in ``lrd/estimate.py``."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailback.errors import ArgumentError, refused

Floats = NDArray[np.float64]


def expect_numbers(**values: object) -> None:
    """Refuses arguments that are no numbers: of a class, whose calls are not checked as those of functions.

    Raises:
        ArgumentError: for the first that is none.
    """
    for name, value in values.items():
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            raise refused(name, value, "a number")


def expect_positive(**values: float) -> None:
    """Refuses arguments that are not finite numbers above zero.

    Raises:
        ArgumentError: for the first that is none.
    """
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise refused(name, value, "a finite number above 0")


def expect_not_negative(**values: float) -> None:
    """Refuses arguments that are not finite numbers of at least zero.

    Raises:
        ArgumentError: for the first that is none.
    """
    for name, value in values.items():
        if not 0.0 <= value < math.inf:
            raise refused(name, value, "a finite number of at least 0")


def expect_whole(least: int = 1, **values: float) -> None:
    """Refuses arguments that are not whole numbers from ``least`` up.

    Raises:
        ArgumentError: for the first that is none.
    """
    for name, value in values.items():
        if not least <= value < math.inf or value != math.floor(value):
            raise refused(name, value, f"a whole number of at least {least}")


def row(name: str, given: ArrayLike, count: int | None = None) -> Floats:
    """One row of finite numbers, of which there are as many as ``count`` says, or which is one number for all of them.

    Raises:
        ArgumentError: where it is anything else.
    """
    allowed = "finite numbers in one row" if count is None else f"one finite number, or {count}"
    try:
        if np.iscomplexobj(given):
            raise TypeError
        values = np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        raise ArgumentError(f"{name}: others than numbers are not allowed; expected {allowed}") from None
    if values.ndim != 1:
        raise ArgumentError(f"{name}: {values.ndim} dimensions are not allowed; expected {allowed}")
    if not values.size or (count is not None and values.size not in {1, count}):
        raise ArgumentError(f"{name}: {values.size} numbers are not allowed; expected {allowed}")
    wrong = values[~np.isfinite(values)]
    if wrong.size:
        raise ArgumentError(f"{name}: {wrong[0]:g} is not allowed; expected {allowed}")
    return values if count is None else np.broadcast_to(values, (count,))


def positive_row(name: str, given: ArrayLike, count: int | None = None) -> Floats:
    """As :func:`row`, of numbers above zero."""
    values = row(name, given, count)
    if values.min() <= 0.0:
        raise ArgumentError(f"{name}: {values.min():g} is not allowed; expected finite numbers above 0")
    return values


def routes_over(links: int, routes: Iterable[Iterable[int]]) -> Sequence[Sequence[int]]:
    """The links of each flow's route, as lists.

    Raises:
        ArgumentError: where there is none, a route is empty, or one names what is no link.
    """
    try:
        found = [list(route) for route in routes]
    except TypeError:
        raise refused("routes", routes, "a list of links for each flow, such as [[0, 1], [0]]") from None
    if not found:
        raise ArgumentError("routes: none is given; expected at least one")
    named = np.asarray(list(chain.from_iterable(found)))
    if all(found) and named.dtype.kind in "iu" and named.min() >= 0 and named.max() < links:
        return found
    for flow, route in enumerate(found):
        if not route:
            raise ArgumentError(f"routes[{flow}]: no link bounds this flow's rate; expected at least one")
        if not all(isinstance(link, int | np.integer) and 0 <= link < links for link in route):
            raise ArgumentError(f"routes[{flow}]: {route} is not allowed; expected links 0 to {links - 1}")
    raise refused("routes", found, f"links 0 to {links - 1}")
