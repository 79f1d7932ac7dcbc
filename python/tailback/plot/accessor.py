"""Figures of one result, each one call: ``result.plot.overview()``. How they are drawn lives in the files named
after them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from tailback.calls import checked_methods
from tailback.errors import NotFoundError
from tailback.plot import distribution, fairness, gates, overtime, phase, series, tokens, transfers
from tailback.plot.figures import Figures
from tailback.plot.short import with_time_unit
from tailback.plot.style import canvas, style
from tailback.results.warnings import expect_bins, without_series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.results import Result


@checked_methods
class Plots(Figures):
    """What can be drawn of one result; each method gives a matplotlib figure. ``ax`` draws on axes of your own, one per
    panel, in place of a new figure's."""

    _of: ClassVar = "a result"

    def __init__(self, result: Result) -> None:
        self._result = result

    def overview(self, link: str | None = None, *, ax: Sequence[Axes] | None = None) -> Figure:
        """Throughput of the flows (what arrived, headers included), queue of a link (the bottleneck where none is named),
        windows and round trip times against time, one above the other. Where a discipline told of the delays of queues of
        its own (``record.queue_state``), each queue's delay in place of the queue. Where they were recorded, TDQM's averages
        and TCP Newark's virtual window, limit and stored tokens too; these stand in place of the window, which is not what limits
        its senders. Where flows are switched on and off: who is on when, throughput, queue, how long flows were off, and
        what each flow got."""
        result = self._result
        if gates.has(result):
            return self._gated(link, ax)
        notes = tokens.noted(result)
        drawn: list[overtime.Panel] = [overtime.throughput, overtime.queue, overtime.window, overtime.rtt]
        panels = [panel for panel in drawn if overtime.has(result, panel) and not (notes and panel is overtime.window)]
        if overtime.has(result, overtime.queue_delays) and link is None:
            panels[panels.index(overtime.queue)] = overtime.queue_delays
        if tokens.has_averages(result, link):
            panels.insert(panels.index(overtime.queue) + 1, tokens.averages)
        panels += [tokens.panel(name) for name in notes]
        if not panels:
            raise NotFoundError(without_series(result))
        result, unit = with_time_unit(result)
        with style(heed=True):
            made, axes = canvas(ax, len(panels), height=0.7 + 1.55 * len(panels), sharex=True)
            for axis, panel in zip(axes, panels, strict=True):
                panel(axis, result, link)
                overtime.mark_warm_up(axis, result)
                overtime.fit(axis, result)
                axis.set_xlim(0.0, result.duration)
            axes[-1].set_xlabel(f"time ({unit})")
            series.legend(made, axes, most=series.MOST)
            axes[0].set_title(f"{result.title}, seed {result.seed}", pad=8)
        return made

    def _gated(self, link: str | None, ax: Sequence[Axes] | None) -> Figure:
        """The overview of flows that are switched on and off."""
        result = self._result
        drawn: list[overtime.Panel] = [overtime.throughput, overtime.queue]
        timed = [gates.raster, *(panel for panel in drawn if overtime.has(result, panel))]
        others = [gates.durations, gates.shares]
        heights = [gates.height(result), *(1.5 for _ in timed[1:]), *(1.35 for _ in others)]
        with style(heed=True):
            made, axes = canvas(ax, len(heights), height=1.0 + 1.12 * sum(heights), height_ratios=heights)
            for axis, panel in zip(axes, timed, strict=False):
                panel(axis, result, link)
                overtime.mark_warm_up(axis, result)
                axis.set_xlim(0.0, result.duration)
            axes[len(timed) - 1].set_xlabel("time (s)")
            for axis, panel in zip(axes[len(timed) :], others, strict=True):
                panel(axis, result, link)
            series.legend(made, axes, most=series.MOST)
            # The first panel has a title of its own.
            axes[0].set_title(f"{result.title}, seed {result.seed}\n{axes[0].get_title(loc='left')}", pad=6)
        return made

    def gates(self, *, ax: Axes | None = None) -> Figure:
        """Which flows are switched on when: a line for each, coloured while it is on."""
        if not gates.has(self._result):
            raise NotFoundError("no flow was switched off, or record.flows does not include those that were")
        with style(heed=True):
            made, axes = canvas(ax, height=0.9 + gates.height(self._result))
            gates.raster(axes[0], self._result, None)
            overtime.mark_warm_up(axes[0], self._result)
            axes[0].set_xlabel("time (s)")
            axes[0].set_xlim(0.0, self._result.duration)
        return made

    def off_times(self, *, ax: Axes | None = None) -> Figure:
        """How long flows were switched off: a histogram of the times that ended, and their median."""
        if not gates.has(self._result):
            raise NotFoundError("no flow was switched off, or record.flows does not include those that were")
        with style(heed=True):
            made, axes = canvas(ax, height=2.8)
            gates.durations(axes[0], self._result)
        return made

    def throughput(self, *, ax: Axes | None = None) -> Figure:
        """What arrived of the flows against time, headers and duplicates included."""
        return self._one(overtime.throughput, None, ax)

    def goodput(self, *, ax: Axes | None = None) -> Figure:
        """Goodput of the flows against time: data delivered in order, header bytes included. A filled hole releases what
        waited behind it at once, so that single bins may be above the link's rate."""
        return self._one(overtime.goodput, None, ax)

    def queue(self, link: str | None = None, *, ax: Axes | None = None) -> Figure:
        """Queue of a link, the bottleneck where none is named, against time."""
        return self._one(overtime.queue, link, ax)

    def window(self, *, ax: Axes | None = None) -> Figure:
        """Congestion windows against time."""
        return self._one(overtime.window, None, ax)

    def rtt(self, *, ax: Axes | None = None) -> Figure:
        """Round trip times against time."""
        return self._one(overtime.rtt, None, ax)

    def cdf(self, column: str = "queueing_delay", *, ax: Axes | None = None) -> Figure:
        """The distribution over time of the bottleneck's ``queueing_delay`` or ``queue_packets``, or of a column of the
        flows' time series, ``goodput`` or ``rtt`` for example."""
        with style(heed=True):
            made, axes = canvas(ax, height=3.2)
            distribution.of_result(made, axes[0], self._result, column)
        return made

    def fairness(self, windows: Sequence[float] | float | None = None, *, ax: Axes | None = None) -> Figure:
        """Jain's index of the flows' goodputs against time, in windows of these lengths in seconds: by default those of 1, 5
        and 20 s (RFC 8868) that are whole bins and fit into the run, and where none does, 1, 5 and 20 bins."""
        with style(heed=True):
            made, axes = canvas(ax, height=2.8)
            fairness.over_time(made, axes[0], self._result, windows)
        return made

    def phase(self, flow: str | None = None, link: str | None = None, *, ax: Axes | None = None) -> Figure:
        """The window of a flow (the sum of all where none is named) against the queue of a link (the bottleneck's)."""
        with style(heed=True):
            made, axes = canvas(ax, height=3.6)
            phase.window_queue(made, axes[0], self._result, flow, link)
        return made

    def completion(self, *, ax: Axes | None = None) -> Figure:
        """Completion times of files and bursts that began from ``warm_up`` on against their sizes: each, median, 95th
        and 99th percentile."""
        with style(heed=True):
            made, axes = canvas(ax, height=3.0)
            transfers.by_size(made, axes[0], self._result)
        return made

    def _one(self, panel: overtime.Panel, link: str | None, ax: Axes | None) -> Figure:
        if not overtime.has(self._result, panel):
            expect_bins(self._result)
            raise NotFoundError("this was not recorded; expected record.flows and record.links to include it")
        result, unit = with_time_unit(self._result)
        with style(heed=True):
            made, axes = canvas(ax, height=2.8)
            panel(axes[0], result, link)
            overtime.mark_warm_up(axes[0], result)
            axes[0].set_xlabel(f"time ({unit})")
            axes[0].set_xlim(0.0, result.duration)
            series.legend(made, axes, most=series.MOST)
        return made
