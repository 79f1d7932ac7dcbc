"""A metric over two swept fields, as coloured cells with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tailback.errors import refused, unknown
from tailback.plot import series
from tailback.plot.along import in_order
from tailback.plot.style import colour_bar
from tailback.sweeps import statistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.sweeps import Runs

# Not white and our ink: pages put their own colours in place of those, but cells stay as they are.
ON_DARK, ON_LIGHT = "#fdfdfd", "#101014"
WRITTEN = 120
"""Up to so many cells carry their number."""


def heatmap(made: Figure, axis: Axes, runs: Runs, *, metric: str, x: str | None, y: str | None) -> None:
    """Draws it; see ``RunPlots.heatmap``."""
    names = runs.axes
    along = x or next((name for name in names if name != y), None)
    up = y or next((name for name in names if name != along), None)
    for name in (along, up):
        if name is not None and name not in names:
            raise unknown("axis", name, names)
    if along is None or up is None or along == up:
        raise refused("x and y", f"{along}, {up}", f"two axes of the sweep; it has {', '.join(names) or 'none'}")
    if metric not in statistics.metrics_of(runs.table):
        raise unknown("metric", metric, statistics.metrics_of(runs.table))
    means = runs.table.group_by(along, up).agg(pl.col(metric).mean())
    columns, rows = in_order(runs.table[along]), in_order(runs.table[up])
    text, factor = series.label_of(metric, runs.units, means[metric])
    cells = np.full((len(rows), len(columns)), np.nan)
    for here, there, value in means.select(along, up, metric).iter_rows():
        cells[rows.index(there), columns.index(here)] = np.nan if value is None else value * factor
    # viridis keeps its order in grey.
    edges = [np.arange(len(listed) + 1) - 0.5 for listed in (columns, rows)]
    image = axis.pcolormesh(*edges, cells, cmap="viridis")  # Cells as vectors, where imshow would put a bitmap.
    axis.grid(visible=False)
    axis.set_xticks(range(len(columns)), [str(value) for value in columns])
    axis.set_yticks(range(len(rows)), [str(value) for value in rows])
    axis.set_xlabel(along)
    axis.set_ylabel(up)
    colour_bar(made, image, axis, text)
    if cells.size <= WRITTEN:
        for row, column in np.argwhere(np.isfinite(cells)):
            value = cells[row, column]
            colour = _on(np.ravel(image.to_rgba(np.array([value]))))
            axis.text(column, row, f"{value:.3g}", ha="center", va="center", fontsize=7.5, color=colour)


def _on(cell: Sequence[float] | NDArray[np.float64]) -> str:
    """What is read best on a cell of this colour: contrast with white and black is equal at a luminance of 0.18 (WCAG)."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in cell[:3]]
    return ON_DARK if np.dot(linear, (0.2126, 0.7152, 0.0722)) < 0.18 else ON_LIGHT
