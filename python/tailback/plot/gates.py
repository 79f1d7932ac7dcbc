"""Panels of flows that are switched on and off: who is on when, how long they are off, and what each flow got. What is
drawn is found in ``tailback.results.gates``; panels that every result has are in ``overtime``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tailback.plot import names as called
from tailback.plot.distribution import steps
from tailback.plot.style import COLOURS, INK, letters, line
from tailback.results.gates import gated_groups, off_times
from tailback.units import scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tailback.results import Result

ROWS = 200
"""Flows that can be told apart, one below the other."""
BARS = 40
"""Classes of a histogram that can be told apart."""


def has(result: Result) -> bool:
    """Whether any flow is switched on and off, and it was recorded when."""
    return bool(gated_groups(result)) and result.flow_series.height > 0 and "closed" in result.flow_series.columns


def raster(axis: Axes, result: Result, _: str | None) -> None:
    """A line for each flow, coloured while it is on."""
    from matplotlib.collections import PolyCollection
    from matplotlib.ticker import MaxNLocator

    watched = result.flow_series["flow"].unique(maintain_order=True).to_list()
    groups = gated_groups(result)
    flows = result.flows.filter(pl.col("group").is_in(groups) & pl.col("flow").is_in(watched)).head(ROWS)
    spells = off_times(result, after_warm_up=False)
    order = result.flows["group"].unique(maintain_order=True).to_list()
    bars: dict[str, list[list[tuple[float, float]]]] = {group: [] for group in groups}
    for row, (flow, group, start, finished) in enumerate(
        flows.select("flow", "group", "start", "finished").iter_rows()
    ):
        end = result.duration if finished is None else finished
        of = spells.filter(pl.col("flow") == flow).sort("began")
        edges = [start, *(x for pair in of.select("began", "ended").iter_rows() for x in pair), end]
        for left, right in zip(edges[::2], edges[1::2], strict=True):
            if right > left:
                low, high = row + 0.5 + 0.08, row + 1.5 - 0.08
                bars[group].append([(left, low), (left, high), (right, high), (right, low)])
    for group, polygons in bars.items():
        colour = COLOURS[order.index(group) % len(COLOURS)]
        axis.add_collection(PolyCollection(polygons, facecolors=colour, linewidths=0))
    axis.set_ylim(flows.height + 0.5, 0.5)
    axis.set_ylabel("flow")
    axis.grid(visible=False, axis="y")
    axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    more = f", the first {ROWS}" if flows.height == ROWS else ""
    names = called.of_groups(result)
    axis.set_title(
        f"{' and '.join(names[group] for group in groups)}: on where coloured{more}", fontsize=letters(8.5), color=INK
    )


def durations(axis: Axes, result: Result, _: str | None = None) -> None:
    """How long flows were off: a histogram of the off-times that ended."""
    from matplotlib.ticker import MaxNLocator

    spells = off_times(result).filter(~pl.col("is_cut"))
    order = result.flows["group"].unique(maintain_order=True).to_list()
    longest = float(spells["off"].max() or 0.0) if spells.height else 0.0  # type: ignore[arg-type]
    if longest > 0.0:
        edges = np.linspace(0.0, 1.02 * longest, BARS + 1)
        for group in gated_groups(result):
            values = spells.filter(pl.col("group") == group)["off"].to_numpy()
            if values.size:
                colour = line(order.index(group))["color"]
                axis.hist(values, bins=list(edges), color=colour, alpha=0.85, linewidth=0)
                axis.axvline(float(np.median(values)), color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
        axis.set_xlim(0.0, 1.02 * longest)
        axis.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axis.set_title("dashed: the median", fontsize=letters(8.5), color=INK)
    else:
        axis.text(0.5, 0.5, "nobody was switched off and on again", transform=axis.transAxes, ha="center", va="center")
        axis.set_yticks([])
    axis.set_xlabel("time off (s)")
    axis.set_ylabel("times")


def shares(axis: Axes, result: Result, _: str | None = None) -> None:
    """What each flow got from ``warm_up`` to the end: the distribution over the flows of each group, in its colour."""
    flows = result.flows.filter(pl.col("start") < result.duration)
    factor, unit = scale_of(flows["throughput"], "bit/s")
    for index, group in enumerate(result.flows["group"].unique(maintain_order=True)):
        steps(axis, flows.filter(pl.col("group") == group)["throughput"].to_numpy() * factor, "", index)
    axis.set_xlim(left=0.0)
    axis.set_ylim(0.0, 1.0)
    axis.set_xlabel(f"mean throughput of a flow ({unit})")
    axis.set_ylabel("part of flows")


def height(result: Result) -> float:
    """What a raster of these flows needs, in inches."""
    flows = result.flows.filter(pl.col("group").is_in(gated_groups(result))).height
    return float(np.clip(0.5 + 0.055 * min(flows, ROWS), 0.9, 4.0))
