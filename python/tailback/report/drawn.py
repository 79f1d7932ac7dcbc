"""Which figures a page about a sweep or a single result shows, with their titles and the words that draw them again. How
they are drawn lives in ``plot/``; the page is put together in ``sweep.py``."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from tailback.errors import unknown
from tailback.plot import fairness, heatmap
from tailback.plot.along import span
from tailback.sweeps import statistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.results import Result
    from tailback.sweeps import Runs


@dataclass(frozen=True)
class Drawn:
    """A figure of a page before it is drawn."""

    id: str
    title: str
    about: str
    words: str
    """What ``tailback plot FOLDER`` calls it, with its options."""
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class Cells:
    """What the heat map of a sweep's page shows; ``None`` leaves a choice to the figure."""

    metric: str | None = None
    x: str | None = None
    y: str | None = None
    by: str | None = None

    @property
    def asked(self) -> bool:
        """Whether the caller chose anything, so that there must be a heat map."""
        return any(choice is not None for choice in (self.metric, self.x, self.y, self.by))


def figures_of_result(result: Result) -> list[Drawn]:
    """The figures of one run, as far as it recorded what they show."""
    plots, drawn = result.plot, []
    series = result.flow_series
    if series.height or result.link_series.height:
        about = (
            "Throughput of the flows (what arrived, headers included), queue of the bottleneck, windows and round trip "
            "times, as far as recorded."
        )
        drawn.append(Drawn("overview", "Against time", about, "overview", plots.overview))
    if result.link_series.height:
        about = "The part of the time in which the bottleneck's queue delayed packets by no more than this."
        drawn.append(Drawn("delay", "Queueing delay", about, "cdf", plots.cdf))
    if series.height and series["window"].drop_nulls().len() and result.link_series.height:
        about = "The way that windows and queue go together; its colour is time."
        drawn.append(Drawn("phase", "Window against queue", about, "phase", plots.phase))
    if fairness.has(result):
        about = "Jain's index of the flows' goodputs in windows of several lengths."
        drawn.append(Drawn("fairness", "Fairness", about, "fairness", plots.fairness))
    if result.counted_messages().height:
        about = "Each dot is a file or burst that began after the warm-up."
        drawn.append(Drawn("completion", "Completion times", about, "completion", plots.completion))
    return drawn


def figures_of_sweep(runs: Runs, cells: Cells) -> list[Drawn]:
    """The figures of a sweep; none where no run came to its end.

    Raises:
        NotFoundError: where ``cells`` names no axis or metric of the sweep.
        ArgumentError: where ``cells`` asks for a heat map and the sweep has no two axes.
    """
    good = runs.table.filter(pl.col("error").is_null())
    if good.is_empty():
        return []
    plots, axes = runs.plot, [name for name in runs.axes if runs.table[name].n_unique() > 1]
    drawn = [
        Drawn(
            "throughput-delay",
            "Throughput against delay",
            "Markers are medians, ellipses one standard deviation of the runs' covariance.",
            "throughput_delay",
            plots.throughput_delay,
        )
    ]
    for name in axes:
        if len(axes) <= 2:
            call = "over --set " + shlex.quote(f"axis={name}")
            about = "Means over seeds with 95 % intervals by Student's t."
            drawn.append(Drawn(f"over-{_safe(name)}", f"Against {name}", about, call, partial(plots.over, name)))
    if len(axes) >= 2 or cells.asked:
        drawn.append(_heatmap(runs, cells))
    if len(axes) >= 1 and runs.flows["group"].n_unique() > 1:
        along = heatmap.most_varied(runs, axes, 1)[0]  # With an axis of few values below, lines would be many.
        words, draw = shlex.join(["share", along]), partial(plots.share, along)
        drawn.append(Drawn("share", "Shares of the groups", "1 is the fair share.", words, draw))
    drawn.append(Drawn("cdf", "Goodput of the flows", "All flows of all runs.", "cdf", plots.cdf))
    return drawn


def _heatmap(runs: Runs, cells: Cells) -> Drawn:
    """A metric over two axes. Its command names all choices, so that a reader sees what else could stand there.

    Raises:
        NotFoundError: for a metric or an axis that the sweep has not.
        ArgumentError: where there are no two axes.
    """
    metric = cells.metric or "goodput"
    known = statistics.metrics_of(runs.table, runs.axes)
    if metric not in known:
        raise unknown("metric", metric, known)
    shown = heatmap.layout(runs, x=cells.x, y=cells.y, by=cells.by, panels=True)
    words = ["heatmap", metric, shown.x, shown.y]
    about = "Means over seeds."
    if shown.by is not None:
        words += ["--set", f"by={shown.by}"]
        about += f" A panel for each value of {shown.by}, on one scale of colours."
    if shown.rest:
        others = " and ".join(f"{name} ({span(runs.table[name])})" for name in shown.rest)
        about += f" Cells are means over {others} too."
    title = f"{metric.replace('_', ' ').capitalize()} over {shown.x} and {shown.y}"
    draw = partial(runs.plot.heatmap, metric, shown.x, shown.y, by=shown.by)
    return Drawn("heatmap", title, about, shlex.join(words), draw)


def _safe(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)
