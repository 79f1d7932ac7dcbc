"""Figures of a whole sweep, each one call: ``runs.plot.throughput_delay()``. How they are drawn lives in the files
named after them; figures of one run are in ``accessor.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from matplotlib.axes import Axes

from tailback.calls import checked_methods
from tailback.errors import NotFoundError, unknown
from tailback.plot import distribution, fairness, heatmap, levels, scatter
from tailback.plot.figures import Figures
from tailback.plot.style import canvas, outer, style, tiles
from tailback.sweeps import statistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.sweeps import Runs

INDICES = ("jain", "epsilon")
"""How fair a run was, as one number."""


@checked_methods
class RunPlots(Figures):
    """What can be drawn of many runs; each method gives a matplotlib figure. ``ax`` draws on axes of your own, one per
    panel, in place of a new figure's."""

    _of: ClassVar = "a sweep"

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def throughput_delay(
        self,
        *,
        by: str | Sequence[str] | None = None,
        delay: str = "queueing_delay",
        rate: str = "throughput",
        ellipse: float = 1.0,
        ax: Axes | None = None,
    ) -> Figure:
        """Throughput against delay, the better the further up and to the right (the axis of delay runs backwards, as is
        the custom): a faint point per run, a marker at the median and an ellipse of the runs' covariance per series
        (RFC 7928 §2.7; Winstein and Balakrishnan 2013, Fig. 8).

        Args:
            by: the columns whose values make a series: axes, or ``"group"`` for the flows' groups. By default groups
                where there are several, and all axes.
            delay: ``"queueing_delay"``, ``"queueing_delay_p50"``, ``…_p95`` or ``…_p99`` of the bottleneck, or the
                flows' ``"mean_rtt"`` or ``"rtt_p95"``.
            rate: ``"throughput"``, or ``"goodput"``, as RFC 7928 has it.
            ellipse: its size in standard deviations.
        """
        return self._drawn(scatter.throughput_delay, 4.2, ax, by=by, delay=delay, rate=rate, ellipse=ellipse)

    def over(
        self,
        axis: str | None = None,
        *metrics: str,
        by: str | None = None,
        level: float = 0.95,
        log: bool = False,
        ax: Axes | Sequence[Axes] | None = None,
    ) -> Figure:
        """Means of metrics against a swept field with confidence intervals, one panel per metric. Panels of Jain's index and of
        the utilization end a little above 1; what an interval has beyond is cut.

        Args:
            axis: the swept field along the bottom; the first where ``None``, and where a metric stands in its place.
            metrics: columns of ``runs.table``; goodput, queueing delay and loss where none is named.
            by: what makes a line: another axis, or ``"group"``; further axes make further lines.
            level: of the intervals.
            log: metrics on logarithmic axes, for what differs by powers of ten. A mean of 0 has no place there; the panel
                says how many there are.

        Raises:
            NotFoundError: for a name that is neither an axis nor a metric.
        """
        if axis is not None and axis not in self._runs.axes:
            known = statistics.metrics_of(self._runs.table, self._runs.axes)
            if axis not in known or not self._runs.axes:
                raise unknown("axis or metric", axis, [*self._runs.axes, *known])
            later = next((name for name in metrics if name in self._runs.axes), None)
            if later is not None:
                raise NotFoundError(
                    f"{later}: no such metric, but an axis, which comes first: over({later!r}, {axis!r})"
                )
            metrics, axis = (axis, *metrics), None
        names = list(metrics) or levels.defaults(self._runs)
        self._expect_some()
        with style(heed=True):
            made, axes = canvas(ax, len(names), height=0.9 + 1.7 * len(names), sharex=True)
            levels.over(made, axes, self._runs, self._axis(axis), names, by=by, level=level, log=log)
        return made

    def cdf(self, metric: str = "goodput", *, by: str | None = None, ax: Axes | None = None) -> Figure:
        """The distribution of a metric over all flows of all runs, or over runs where flows have no such metric.

        Args:
            metric: a column of ``runs.flows`` or of ``runs.table``.
            by: what makes a line: an axis, or ``"group"``; by default the first axis, or the groups without axes. The
                figure says which other axes' values are in one line together.
        """
        return self._drawn(distribution.of_runs, 3.2, ax, metric=metric, by=by)

    def fairness(
        self, axis: str | None = None, *, index: str = "jain", by: str | None = None, ax: Axes | None = None
    ) -> Figure:
        """Jain's index (or ``index="epsilon"``) against a swept field, the number of flows for example.

        Raises:
            NotFoundError: for another index, or a field that is not swept.
        """
        if index not in INDICES:
            raise unknown("index of fairness", index, INDICES)
        return self.over(self._axis(axis), index, by=by, ax=ax)

    def heatmap(
        self,
        metric: str = "goodput",
        x: str | None = None,
        y: str | None = None,
        *,
        by: str | None = None,
        ax: Axes | Sequence[Axes] | None = None,
    ) -> Figure:
        """The mean of a metric over the seeds at two swept fields, a number in each cell where they fit. Of a sweep over
        three, each value of the third has a panel, on one scale of colours. Over what cells are means beside the seeds,
        their panels say.

        Args:
            metric: a column of ``runs.table``.
            x: the axis along the bottom; where ``None``, the first of the sweep. Where there are more than two, the sides are
                for two that are quantities, with the most values.
            y: the axis upwards; the next.
            by: the axis of the panels; where ``None``, one that is left and has few values, names before quantities. With
                one panel given as ``ax``, there is none.
        """
        shown = heatmap.layout(self._runs, x=x, y=y, by=by, panels=not isinstance(ax, Axes))
        count = len(heatmap.panels(self._runs, shown))
        self._expect_some()
        with style(heed=True):
            if ax is None and count > 1:
                made, axes = tiles(count)
            else:
                made, axes = canvas(ax, count, height=3.8)
            heatmap.heatmap(made, axes, self._runs, metric=metric, shown=shown)
            if ax is None:
                outer(axes)
        return made

    def share(self, axis: str | None = None, *, ax: Axes | None = None) -> Figure:
        """The groups' mean goodput per flow against a swept field, with the fair share; further axes make further lines."""
        self._expect_some()
        with style(heed=True):
            made, axes = canvas(ax, height=3.2)
            fairness.share(made, axes[0], self._runs, self._axis(axis))
        return made

    def _expect_some(self) -> None:
        """Complains where there is nothing to draw.

        Raises:
            NotFoundError: where all runs have failed.
        """
        if self._runs.failed.height == len(self._runs):
            raise NotFoundError("no run succeeded; see runs.failed")

    def _axis(self, name: str | None) -> str:
        known = self._runs.axes
        if name is None and known:
            return known[0]
        if name is None:
            raise NotFoundError("this sweep has no axis; expected one over a field, as in sweep(buffer=[…])")
        if name not in known:
            raise unknown("axis", name, known)
        return name

    def _drawn(self, draw: Callable[..., Any], height: float, ax: Axes | None, **options: Any) -> Figure:
        self._expect_some()
        with style(heed=True):
            made, axes = canvas(ax, height=height)
            draw(made, axes[0], self._runs, **options)
        return made
