"""The figure of ``comparison.py``: a row per scheme, a panel per measure, a mark per network with its interval. It draws a
table and runs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tools.comparison import FAMILIES, LINKS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = {
    "utilization": "alone:\nlink used",
    "queueing": "alone:\nqueueing delay, ms",
    "jain": "two of it:\nJain's index",
    "share": "beside one CUBIC:\nits share",
}


BOUNDS = {"utilization": (0.0, 1.0), "jain": (0.5, 1.0), "share": (0.0, 1.0)}
"""What a measure can be; Jain's index of two is at least a half. Intervals are symmetric, and drawn as far as this."""


def draw(table: pl.DataFrame) -> Figure:
    """All schemes on all networks."""
    from tailback.plot.style import figure, style

    titles = [title for family in FAMILIES.values() for title in family]
    places = {title: -index for index, title in enumerate(titles)}
    with style():
        made, axes = figure(1, len(PANELS), width=8.4, height=1.4 + 0.34 * len(titles), sharey=True)
        for axis, (measure, label) in zip(axes, PANELS.items(), strict=True):
            part, factor = table.filter(pl.col("measure") == measure), 1e3 if measure == "queueing" else 1.0
            _panel(axis, part, places, factor, BOUNDS.get(measure))
            axis.set_title(label, fontsize=9)
        axes[0].set_yticks(list(places.values()), titles)
        axes[0].set_ylim(-len(titles) + 0.4, 0.6)
        axes[1].set_xscale("symlog", linthresh=1.0)
        axes[1].set_xlim(-0.1, 1000)
        axes[1].set_xticks([0, 1, 10, 100, 1000], ["0", "1", "10", "100", "1000"])
        for place in (0, 2):  # Nothing uses less than half of its link, so that the marks near 1 have room.
            axes[place].set_xlim(0.47, 1.03)
        axes[3].set_xlim(-0.03, 1.03)
        axes[3].axvline(0.5, color="#1d1d22", linewidth=0.8, zorder=1)
        made.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return made


def _panel(
    axis: Axes, part: pl.DataFrame, places: dict[str, int], factor: float, bounds: tuple[float, float] | None
) -> None:
    from tailback.plot.style import COLOURS, FAINT, MARKERS

    for place in list(places.values())[1::2]:
        axis.axhspan(place - 0.5, place + 0.5, color=FAINT, alpha=0.10, linewidth=0)
    for end in np.cumsum([len(family) for family in FAMILIES.values()])[:-1]:
        axis.axhline(0.5 - end, color=FAINT, linewidth=0.8)
    for number, network in enumerate(LINKS):
        rows = part.filter(pl.col("network") == network)
        shift = 0.14 * ((len(LINKS) - 1) / 2 - number)
        means, widths = (rows[name].to_numpy() * factor for name in ("mean", "half_width"))
        widths = np.where(np.isfinite(widths), widths, 0.0)
        low, high = bounds or (-np.inf, np.inf)
        reach = [np.clip(np.minimum(widths, room), 0.0, None) for room in (means - low, high - means)]
        axis.errorbar(
            means,
            [places[it] + shift for it in rows["it"]],
            xerr=reach,
            linestyle="none",
            marker=MARKERS[number],
            color=COLOURS[number],
            markersize=3.4,
            elinewidth=0.8,
            label=network,
        )
    axis.grid(visible=False, axis="y")
