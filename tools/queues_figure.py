"""The figure of ``queues.py``: goodput against queueing delay (RFC 7928 §2.7), a panel per load, a mark with an ellipse per
discipline. It draws a table and runs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tools.queues import QUEUES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = {
    "newreno": "one NewReno (§5.1.1)",
    "cubic": "one CUBIC (§5.2)",
    "mild": "mild congestion (§8.2.2)",
    "heavy": "heavy congestion (§8.2.4)",
}


def draw(table: pl.DataFrame) -> Figure:
    """All disciplines under four loads, from ``measure``'s table: two panels beside two, so that a phone shows them too."""
    from tailback.plot.style import figure, ratios, style

    with style():
        made, axes = figure(2, 2, width=5.6, height=6.4, sharex=True, sharey="row")
        for axis, (case, title) in zip(axes, PANELS.items(), strict=True):
            _panel(axis, table.filter(pl.col("case") == case))
            axis.set_title(title, fontsize=9)
        first = axes[0]
        delays = table.filter(pl.col("case").is_in(PANELS) & (pl.col("measure") == "delay"))["value"].to_numpy()
        first.set_xlim(1.15 * delays.max(), delays.min() / 1.15)  # Backwards, so that the best is at the top right.
        for axis in axes[2:]:
            ratios(axis.xaxis)
            axis.set_xlabel("mean queueing delay (ms)")
        for axis in axes[::2]:
            axis.set_ylabel("goodput (Mbit/s)")
        made.legend(*first.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return made


def _panel(axis: Axes, part: pl.DataFrame) -> None:
    from tailback.plot.style import mark

    runs = part.pivot(on="measure", index=["queue", "seed"], values="value")
    axis.set_xscale("log")
    for number, queue in enumerate(QUEUES):
        rows = runs.filter(pl.col("queue") == queue)
        x, y, look = rows["delay"].to_numpy(), rows["rate"].to_numpy(), mark(number, size=4.5)
        axis.plot(x, y, linestyle="none", marker=look["marker"], color=look["color"], alpha=0.3, markersize=2.5)
        axis.plot([np.median(x)], [np.median(y)], linestyle="none", label=queue, markeredgewidth=1.4, **look)
        if x.size > 2:
            along, up = outline(x, y)
            inside = along > 0  # What an ellipse has below zero has no place on a scale of ratios.
            axis.fill(along[inside], up[inside], color=look["color"], alpha=0.15, linewidth=0)
            axis.plot(along[inside], up[inside], color=look["color"], linewidth=0.7)


def outline(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ellipse of one standard deviation of the points' covariance around their mean, as points of its outline."""
    values, vectors = np.linalg.eigh(np.cov(x, y, bias=True))
    turn = np.linspace(0.0, 2.0 * np.pi, 121)
    circle = np.sqrt(np.maximum(values, 0.0))[:, None] * np.stack([np.cos(turn), np.sin(turn)])
    along, up = vectors @ circle
    return x.mean() + along, y.mean() + up
