"""Phase plots: one quantity against another, with time as the way along the curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tailback.errors import NotFoundError
from tailback.plot import series
from tailback.plot.overtime import thinned
from tailback.plot.style import FAINT, colour_bar
from tailback.results.bins import after_warm_up

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.results import Result


def window_queue(made: Figure, axis: Axes, result: Result, flow: str | None, link: str | None) -> None:
    """The window of a flow, or the sum of all, against the queue of a link; later is darker."""
    waiting = result.series(link=link)
    if flow is None:
        windows = result.flow_series.group_by("time", maintain_order=True).agg(pl.col("window").sum())
        whose = "sum of windows" if result.flow_series["flow"].n_unique() > 1 else "window"
    else:
        windows, whose = result.series(flow=flow), f"window of {flow}"
    both = waiting.select("time", "mean_queue").join(windows.select("time", "window"), on="time", maintain_order="left")
    both = both.filter(after_warm_up(result, pl.col("time"))).drop_nulls()
    if both.is_empty():
        raise NotFoundError("no flow's window was recorded; expected record.flows to include some")
    times = both["time"].to_numpy()
    queue, size = thinned(times, both["mean_queue"].to_numpy())[1], thinned(times, both["window"].to_numpy())[1]
    text, factor = series.label_of("window", result.units, pl.Series(size))
    axis.plot(queue, size * factor, color=FAINT, linewidth=0.5, alpha=0.4)
    span = np.linspace(times[0], times[-1], queue.size)
    points = axis.scatter(queue, size * factor, c=span, cmap="viridis_r", s=7, linewidths=0, zorder=3)
    axis.set_xlabel(f"queue at {link or result.shown_link} (packets)")
    axis.set_ylabel(text.replace("congestion window", whose))
    axis.set_xlim(left=0.0)
    colour_bar(made, points, axis, "time (s)")
