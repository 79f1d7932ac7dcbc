"""Bins of time series: how many make a time, and which lie in a window of time. Bins are labelled by their ends. What is
computed of the values in them lives elsewhere."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tailback.errors import refused

if TYPE_CHECKING:
    from tailback.results.result import Result


@overload
def after_warm_up(result: Result, times: NDArray[np.float64]) -> NDArray[np.bool_]: ...
@overload
def after_warm_up(result: Result, times: pl.Expr) -> pl.Expr: ...
def after_warm_up(result: Result, times: Any) -> Any:
    """Whether bins with these ends count, where metrics leave out what was before ``warm_up``: a bin belongs to the window when
    more than half of it does."""
    return times > result.warm_up + 0.5 * result.bin


def bins_in(result: Result, seconds: object) -> int | None:
    """A time as a number of a result's bins, one or more; ``None`` where it is none. Rounded, it would be another time than was
    asked for."""
    if isinstance(seconds, bool) or not isinstance(seconds, Real):
        return None
    time = float(seconds)
    if not 0.0 < time < math.inf:
        return None
    count = round(time / result.bin)
    return count if count >= 1 and abs(count * result.bin - time) <= 1e-6 * time else None


def expect_part(argument: str, value: float) -> None:
    """Refuses a tolerance that is no part of something: with one that is not a number, nothing is near enough; with one of 1 and
    more, nothing at all is.

    Raises:
        ValueError: for what is not a number of at least 0 and below 1.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) < 1.0:
        meant = f" (did you mean {float(value) / 100:g}?)" if isinstance(value, Real) and 1.0 < value <= 100.0 else ""
        raise refused(argument, value, f"a number of at least 0 and below 1, such as 0.2 for 20 %{meant}")


def bins_of_window(result: Result, window: float) -> int:
    """The bins of the time that an argument ``window`` says.

    Raises:
        ValueError: where it is no whole number of them.
    """
    count = bins_in(result, window)
    if count is None:
        raise refused("window", window, f"seconds, at least the bin, {result.bin:g}, and a multiple of it")
    return count
