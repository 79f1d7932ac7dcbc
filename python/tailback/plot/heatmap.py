"""A metric over two swept fields, as coloured cells with their numbers; a panel per value of a third."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.axis import XAxis
from matplotlib.colors import Normalize
from numpy.typing import NDArray

from tailback.errors import refused, unknown
from tailback.plot import series
from tailback.plot.along import LINE, TURNED, every, height_of, in_order, in_short, is_quantity, span, wide, width_of
from tailback.plot.style import Drawing, colour_bar, letters
from tailback.sweeps import statistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure

    from tailback.sweeps import Runs

# Not white and our ink: pages put their own colours in place of those, but cells stay as they are.
ON_DARK, ON_LIGHT = "#fdfdfd", "#101014"
WRITTEN = 120
"""Up to so many cells carry their number, where it fits."""
DIGIT = 0.06
"""Inches that a digit of it is wide."""
ROOM = 22
"""Characters that stand below a panel that is one of several."""
PANELS = 6
"""An axis of up to so many values has a panel for each of them where it stands at no side."""


@dataclass(frozen=True)
class Shown:
    """Which axes of a sweep stand where in the figure."""

    x: str
    y: str
    by: str | None
    """The axis of which each value has a panel."""
    rest: Sequence[str]
    """The axes over which cells are means."""


def layout(runs: Runs, *, x: str | None, y: str | None, by: str | None, panels: bool) -> Shown:
    """Which axes are drawn along the sides, one panel per value, or not at all.

    Args:
        runs: the sweep.
        x: the axis along the bottom; of those that are left, quantities come first, and those with more values.
        y: the axis upwards, likewise.
        by: the axis of the panels; of those that are left, one whose values are names, with few values.
        panels: whether there may be several where ``by`` names no axis.

    Raises:
        KeyError: for a name that is no axis.
        ArgumentError: where two axes cannot be had, or one stands twice.
    """
    names = runs.axes
    for name in (x, y, by):
        if name is not None and name not in names:
            raise unknown("axis", name, names)
    several = [name for name in names if runs.table[name].n_unique() > 1]
    free = [name for name in (several if len(several) > 1 else names) if name not in (x, y, by)]
    sides = sum(side is None for side in (x, y))
    if len(free) > sides:
        free = most_varied(runs, free, sides)
    along = x or next(iter(free), None)
    up = y or next((name for name in free if name != along), None)
    if along is None or up is None or len({along, up, by} - {None}) < 2 + (by is not None):
        given = ", ".join(str(name) for name in (along, up, by) if name is not None)
        which, many = ("x and y", "two") if by is None else ("x, y and by", "three different")
        raise refused(which, given or "none", f"{many} axes of the sweep; it has {', '.join(names) or 'none'}")
    left = [name for name in several if name not in (along, up, by)]
    if by is None and panels:
        fitting = [name for name in left if runs.table[name].n_unique() <= PANELS]
        by = min(fitting, key=lambda name: is_quantity(runs.table[name]), default=None)
    return Shown(along, up, by, [name for name in left if name != by])


def most_varied(runs: Runs, names: Sequence[str], count: int) -> list[str]:
    """So many axes for the sides, in the sweep's order: quantities before names, and those with more values first. What has
    few values is left for panels."""
    ranked = sorted(names, key=lambda name: (not is_quantity(runs.table[name]), -runs.table[name].n_unique()))
    return [name for name in names if name in ranked[:count]]


def panels(runs: Runs, shown: Shown) -> list[object]:
    """The value of each panel; one of none where there is one panel."""
    return [None] if shown.by is None else in_order(runs.table[shown.by])


def heatmap(made: Figure, axes: Sequence[Axes], runs: Runs, *, metric: str, shown: Shown) -> None:
    """Draws it; see ``RunPlots.heatmap``."""
    known = statistics.metrics_of(runs.table, runs.axes)
    if metric not in known:
        raise unknown("metric", metric, known)
    keys = [name for name in (shown.by, shown.x, shown.y) if name is not None]
    means = runs.table.group_by(keys, maintain_order=True).agg(pl.col(metric).mean())
    columns, rows = in_order(runs.table[shown.x]), in_order(runs.table[shown.y])
    across, up = ({value: place for place, value in enumerate(listed)} for listed in (columns, rows))
    text, factor = series.label_of(metric, runs.units, means[metric])
    # viridis keeps its order in grey; all panels have one scale.
    found = (means[metric].drop_nulls().drop_nans() * factor).to_list() or [0.0]
    scale = Normalize(min(found), max(found))
    edges = [np.arange(len(listed) + 1) - 0.5 for listed in (columns, rows)]
    for axis, value in zip(axes, panels(runs, shown), strict=True):
        part = means if shown.by is None else means.filter(pl.col(shown.by) == value)
        cells = np.full((len(rows), len(columns)), np.nan)
        for here, there, mean in part.select(shown.x, shown.y, metric).iter_rows():
            cells[up[there], across[here]] = np.nan if mean is None else mean * factor
        # Cells as vectors, where imshow would put a bitmap.
        image = axis.pcolormesh(*edges, cells, cmap="viridis", norm=scale)
        axis.grid(visible=False)
        _label(axis, axis.xaxis, shown.x, columns, narrow=shown.by is not None)
        _label(axis, axis.yaxis, shown.y, rows, narrow=shown.by is not None)
        if value is not None:
            axis.set_title(str(value))
        if cells.size <= WRITTEN:
            _write(axis, image, cells)
    if shown.rest:
        said = ", ".join(f"{name} ({span(runs.table[name])})" for name in shown.rest)
        _tell(made, axes, f"means over {said}")
    colour_bar(made, image, axes if len(axes) > 1 else axes[0], text)


def _label(axis: Axes, side: Axis, name: str, values: Sequence[object], *, narrow: bool) -> None:
    """Names a side and its cells; where there is little room, units go to the side's own name, and where there is none for the
    names of all cells, some have none."""
    texts, label = in_short(name, values) if narrow else ([str(value) for value in values], name)
    side.set_label_text(label)
    room, each = height_of(axis), letters(LINE)
    if isinstance(side, XAxis):
        room, each = width_of(axis), wide(texts)
        crowded = sum(len(text) + 2 for text in texts) > ROOM if narrow else len(texts) * each > room
        if crowded:
            each = letters(TURNED)
            side.set_tick_params(labelrotation=40.0)
    step = every(texts, room, each)
    side.set_ticks(range(0, len(values), step), texts[::step])
    if isinstance(side, XAxis) and crowded and not narrow:
        for tick in side.get_ticklabels():  # The end of a name stands below its place.
            tick.set(horizontalalignment="right", rotation_mode="anchor")


def _tell(made: Figure, axes: Sequence[Axes], text: str) -> None:
    """Says over what cells are means: above all panels, or above the first where the figure is the caller's."""
    if len(axes) > 1 and isinstance(made, Drawing):
        made.suptitle(text, x=0.01, ha="left", fontsize=letters(8.5))
    else:
        axes[0].set_title("\n".join(part for part in (text, axes[0].get_title(loc="left")) if part))


def _write(axis: Axes, image: QuadMesh, cells: NDArray[np.float64]) -> None:
    places = np.argwhere(np.isfinite(cells))
    texts = [f"{cells[row, column]:.3g}" for row, column in places]
    if (1 + max(map(len, texts), default=0)) * letters(DIGIT) * cells.shape[1] > width_of(axis):
        return
    for (row, column), text in zip(places, texts, strict=True):
        colour = _on(np.ravel(image.to_rgba(np.array([cells[row, column]]))))
        axis.text(column, row, text, ha="center", va="center", fontsize=letters(7.5), color=colour)


def _on(cell: Sequence[float] | NDArray[np.float64]) -> str:
    """What is read best on a cell of this colour: contrast with white and black is equal at a luminance of 0.18 (WCAG)."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in cell[:3]]
    return ON_DARK if np.dot(linear, (0.2126, 0.7152, 0.0722)) < 0.18 else ON_LIGHT
