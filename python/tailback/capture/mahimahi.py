"""Delivery traces as Mahimahi reads them: one line per opportunity to deliver a packet, in whole milliseconds since the
start, repeated from the beginning when the end is reached. Reading them is the core's business."""

from __future__ import annotations

from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailback.calls import checked_call
from tailback.errors import ArgumentError, StorageError, refused
from tailback.results.files import path_of, write_file

if TYPE_CHECKING:
    from tailback.results import Result

OPPORTUNITY = 1500
"""Bytes per opportunity, as Mahimahi's manual says (its code uses 1504)."""
_MOST = 10**8
"""So many opportunities at most: 12 Gbit/s for 100 s, in a file of half a gigabyte."""


@checked_call
def write_mahimahi(path: str | Path, milliseconds: ArrayLike) -> Path:
    """Writes a trace.

    Args:
        path: the file.
        milliseconds: one whole number per opportunity, never falling; the last is the trace's length.

    Raises:
        ArgumentError: where a time is no whole number.
        StorageError: for an empty trace, one that falls, one of length zero, or where writing fails.
    """
    times = np.asarray(milliseconds)
    partial = [time for time in times.ravel().tolist() if not isinstance(time, int) and not _is_whole(time)]
    if partial:
        raise refused("milliseconds", partial[0], "whole numbers of milliseconds")
    if times.size == 0 or times[-1] < 1 or times[0] < 0 or np.any(np.diff(times) < 0):
        raise StorageError(f"{path}: a trace needs times that never fall, from 0 to a last one of at least 1 ms")
    text = "\n".join(map(str, times.astype(np.int64).tolist())) + "\n"
    target = path_of("path", path)
    write_file(target, lambda beside: beside.write_text(text, encoding="ascii"))
    return target


def _is_whole(time: object) -> bool:
    return isinstance(time, float) and time.is_integer()


@checked_call
def constant_rate(rate: float, seconds: float = 1.0, opportunity: int = OPPORTUNITY) -> NDArray[np.int64]:
    """The opportunities of a constant rate in bit/s; exact over the whole trace, not over each millisecond.

    Raises:
        ArgumentError: where not one opportunity fits, or the rate is negative or no number.
    """
    for name, given in (("rate", rate), ("seconds", seconds)):
        if not isinstance(given, Real) or not 0.0 < given < np.inf:
            raise refused(name, given, "a number of bit/s, above zero" if name == "rate" else "a number above zero")
    return delivery_trace(np.full(max(round(seconds * 1000), 1), rate * 1e-3 / 8.0), 1e-3, opportunity)


@checked_call
def delivery_trace(volumes: ArrayLike, width: float, opportunity: int = OPPORTUNITY) -> NDArray[np.int64]:
    """The opportunities of a link that could deliver so many bytes in each bin of ``width`` seconds, evenly spread
    within the bin. What is left of an opportunity at a bin's end goes to the next.

    Raises:
        ArgumentError: where not one opportunity fits, a volume is negative or no number, or a width is none.
    """
    if not 0.0 < width < np.inf:
        raise refused("width", width, "seconds per bin, above zero")
    each = np.asarray(volumes, dtype=np.float64)
    wrong = each[~((each >= 0.0) & np.isfinite(each))]
    if wrong.size:
        raise ArgumentError(f"volumes: {wrong[0]:g} is not allowed; expected finite numbers of bytes of at least 0")
    total = np.concatenate(([0.0], np.cumsum(each)))
    count = int(total[-1] / opportunity + 1e-9)
    if count < 1:
        raise ArgumentError(f"volumes: {total[-1]:g} bytes make no opportunity of {opportunity} bytes")
    if count > _MOST:
        allowed = f"at most {_MOST:,} opportunities of {opportunity} bytes, a line of the trace each"
        raise ArgumentError(f"volumes: {total[-1]:g} bytes are not allowed; expected {allowed}")
    edges = np.arange(total.size) * width * 1e3
    wanted = np.minimum(opportunity * np.arange(1, count + 1), total[-1])
    times: NDArray[np.int64] = np.ceil(np.interp(wanted, total, edges) - 1e-9).astype(np.int64)
    return times


def of_link(result: Result, link: str | None = None, opportunity: int = OPPORTUNITY) -> NDArray[np.int64]:
    """The opportunities that a link used in a run, from what it transmitted per bin; the bottleneck's where none is
    named. An idle link made none: this is what got through, not what could have.

    Raises:
        KeyError: for a link without a time series.
    """
    return delivery_trace(result.series(link=link)["transmitted_bytes"].to_numpy(), result.bin, opportunity)
