"""The figure of ``home.py``: a row per discipline, a panel per measure, a mark per access line with its interval. It draws a
table and runs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tools.home import LINES, QUEUES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = {
    "call_p99": "call: 99 % within, ms",
    "game_p99": "game: 99 % within, ms",
    "web_p95": "web: 95 % of files within, s",
    "film": "film, Mbit/s",
}


def draw(table: pl.DataFrame) -> Figure:
    """All disciplines on all lines: two panels beside two, so that a phone shows them too."""
    from tailback.plot.style import figure, ratios, style

    places = {queue: -index for index, queue in enumerate(QUEUES)}
    with style():
        made, axes = figure(2, 2, width=5.6, height=6.0, sharey=True)
        for axis, (measure, label) in zip(axes, PANELS.items(), strict=True):
            _panel(axis, table.filter(pl.col("measure") == measure), places)
            axis.set_title(label, fontsize=9)
            axis.set_xscale("log")
            ratios(axis.xaxis)
        first = axes[0]
        first.set_yticks(list(places.values()), list(places))
        first.set_ylim(-len(places) + 0.5, 0.5)
        made.legend(*first.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return made


def _panel(axis: Axes, part: pl.DataFrame, places: dict[str, int]) -> None:
    from tailback.plot.style import COLOURS, FAINT, MARKERS

    for place in list(places.values())[1::2]:
        axis.axhspan(place - 0.5, place + 0.5, color=FAINT, alpha=0.10, linewidth=0)
    for number, line in enumerate(LINES):
        rows = part.filter(pl.col("line") == line)
        shift = 0.18 * ((len(LINES) - 1) / 2 - number)
        means, widths = rows["mean"].to_numpy(), rows["half_width"].to_numpy()
        # On a scale of ratios, an interval that reaches zero has no lower end.
        lower = np.minimum(widths, 0.9 * means)
        axis.errorbar(
            means,
            [places[queue] + shift for queue in rows["queue"]],
            xerr=[np.where(np.isfinite(widths), some, 0.0) for some in (lower, widths)],
            linestyle="none",
            marker=MARKERS[number],
            color=COLOURS[number],
            markersize=4.5,
            elinewidth=0.9,
            label=line,
        )
    axis.grid(visible=False, axis="y")
