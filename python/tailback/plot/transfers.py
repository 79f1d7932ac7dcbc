"""Completion times of files and bursts against their sizes. They are computed in ``results/completion.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tailback.errors import NotFoundError
from tailback.plot import series
from tailback.plot.style import FAINT, line, ratios
from tailback.results.completion import by_size as sizes_of
from tailback.units import scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.results import Result

DOTS = 10_000
"""More dots than these lie on each other, and make pages of hundreds of megabytes."""
LINES = {"median": "median", "p95": "95th percentile", "p99": "99th percentile"}
"""What is drawn over the dots, by its column."""
ACROSS, UP = 200, 120
"""Dots that stand side by side, and one above the other."""


def by_size(made: Figure, axis: Axes, result: Result) -> None:
    """Draws each message that began from ``warm_up`` on, or of very many those whose dots do not lie on each other, and the
    median, 95th and 99th percentile in steps of size."""
    messages = result.counted_messages()
    if messages.is_empty():
        raise NotFoundError(
            "no message that began after warm_up ended; expected flows with a source of files or bursts"
        )
    steps = sizes_of(result)
    axis.set_xscale("log")
    axis.set_yscale("log")
    # The unit in which most can be read: the longest of all would say nothing of those of microseconds.
    factor, unit = scale_of(pl.Series([messages["completion_time"].median()]), "s")
    size, taken = messages["size"].to_numpy().astype(np.float64), messages["completion_time"].to_numpy() * factor
    seen = apart(size, taken)
    axis.plot(size[seen] * 1e-3, taken[seen], ".", color=FAINT, markersize=2, alpha=0.5)
    for index, (column, name) in enumerate(LINES.items()):
        axis.plot(steps["size"] * 1e-3, steps[column] * factor, label=name, marker="o", **line(index))
    least, most = size.min() * 1e-3, size.max() * 1e-3
    if most < least * 1.001:  # A mean of equal sizes differs in its last digit, and would be the whole width.
        axis.set_xlim(least / 2.0, most * 2.0)
    ratios(axis.xaxis)
    ratios(axis.yaxis)
    axis.set_xlabel("size (kB)")
    axis.set_ylabel(f"completion time ({unit})")
    series.legend(made, [axis])


def apart(size: NDArray[np.float64], taken: NDArray[np.float64]) -> NDArray[np.intp]:
    """Which messages' dots are drawn: all, or, of more than :data:`DOTS`, the first of each cell of a logarithmic grid. Those
    that lie alone, the slowest among them, are all there."""
    if size.size <= DOTS:
        return np.arange(size.size)
    cells = [_cells(values, count) for values, count in ((size, ACROSS), (taken, UP))]
    first: NDArray[np.intp] = np.unique(cells[0] * UP + cells[1], return_index=True)[1]
    return np.sort(first)


def _cells(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Which of so many cells of equal ratio holds each value."""
    place = np.log(np.maximum(values, np.finfo(np.float64).tiny))
    low, high = place.min(), place.max()
    cells: NDArray[np.int64] = np.minimum((place - low) / max(high - low, 1e-12) * count, count - 1).astype(np.int64)
    return cells
