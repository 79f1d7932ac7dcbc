"""One run's result: its tables, and everything needed to make it again. Metrics live in ``metrics.py``, reading and
writing folders in ``store.py``, and the way from the core's arrays to tables in ``from_core.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from tailback.calls import checked_methods
from tailback.errors import NotFoundError, listed, nearest, refused
from tailback.results import bins
from tailback.results.files import path_of
from tailback.results.formulas import bottleneck
from tailback.results.tabular import Tabular
from tailback.results.units import UNITS
from tailback.results.unrecorded import has_recorded_packets, no_packets
from tailback.results.warnings import found, without_series
from tailback.units import counted

if TYPE_CHECKING:
    from tailback.plot import Plots
    from tailback.results.predicted import Fairness, Prediction
    from tailback.scenario import Scenario

_LONG = ("flow_series", "link_series", "messages", "state", "aggregates", "aggregate_series", "packets")


@checked_methods
@dataclass(frozen=True, eq=False, repr=False)
class Result(Tabular):
    """What came out of one run.

    The tables are tidy: one row per flow, link, sample or message; ``units`` names the unit of each column.

        >>> import tailback as tb
        >>> base = tb.dumbbell(rate="1 Mbit/s", delay="10 ms", duration="2 s")
        >>> result = base.with_flows(tb.flows(2, "reno")).run(seed=1)
        >>> result.flows.height, result.units["goodput"], result.bottleneck
        (2, 'bit/s', 'r0->r1')
        >>> result.to_pandas("flow_series").attrs["units"]["rtt"]
        's'
    """

    STORE: ClassVar = "tailback.results.store"
    TABLES: ClassVar = ("flows", "links", *_LONG)
    DERIVED: ClassVar = ("main_links",)
    LONG: ClassVar = _LONG

    scenario_data: Mapping[str, Any] = field(repr=False)
    """The scenario with all its defaults, as plain data."""
    seed: int
    """The seed of the run; the scenario's own is only the default."""
    versions: Mapping[str, str]
    """What it was made with."""
    hash: str
    """A digest of everything that was simulated: equal results have equal hashes, bit by bit."""
    duration: float
    """Simulated seconds."""
    warm_up: float
    """Counters of the tables ``flows`` and ``links`` cover the time from here to the end, in seconds."""
    bin: float
    """The width of the bins of the time series, in seconds."""
    events: int
    """How many events the simulation took."""
    wall: float
    """Real seconds that it took; no part of the hash."""
    flows: pl.DataFrame = field(repr=False)
    """One row per flow: exact counters over the window, and rates from them."""
    links: pl.DataFrame = field(repr=False)
    """One row per directed link, likewise."""
    flow_series: pl.DataFrame = field(repr=False)
    """One row per watched flow and bin; ``time`` is the bin's end."""
    link_series: pl.DataFrame = field(repr=False)
    """One row per watched link and bin, likewise."""
    messages: pl.DataFrame = field(repr=False)
    """One row per message (a file, say) completely transferred."""
    state: pl.DataFrame = field(repr=False)
    """What controllers published of their state, one row per piece, where ``record.state`` was on."""
    aggregates: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    """One row per aggregate, as of ``flows``; without columns where the scenario has none."""
    aggregate_series: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    """One row per watched aggregate and bin, likewise."""
    packets: pl.DataFrame = field(default_factory=no_packets, repr=False)
    """What happened to packets, one row per event, where ``record.packets`` was on; otherwise without rows."""
    units: Mapping[str, str] = field(default_factory=lambda: UNITS, repr=False)
    """The unit of each column of the tables that has one."""
    real: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Of real packets: whether the run counts (``valid``, ``reasons``), how late packets left (``lateness``), and the
    delays of both ``directions``, and by which command it was ``made``. Empty for simulated runs."""

    def __repr__(self) -> str:
        things = f"{counted(self.flows.height, 'flow')}, {counted(self.links.height, 'link')}"
        return f"<Result: {self.title}, {self.duration:g} s, seed {self.seed}; {things}; hash {self.hash[:16]}>"

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario that was run."""
        from tailback.scenario import Scenario

        return Scenario.of_complete(self.scenario_data)

    @property
    def title(self) -> str:
        """The scenario's name, or a word for it."""
        return str(self.scenario_data.get("name") or "scenario")

    @cached_property
    def bottleneck(self) -> str:
        """The link that people mean when they name none: the one that dropped most packets; among equals the
        busiest, even if it is a host's own; of those one that has a time series."""
        return self._bottleneck_of(self.links)

    @cached_property
    def shown_link(self) -> str:
        """The link that figures show where none is named: the bottleneck, or, where that has no time series, what would be
        it among those that have one."""
        watched = self.links.filter(pl.col("link").is_in(self._watched))
        return (
            self._bottleneck_of(watched) if self._watched and self.bottleneck not in self._watched else self.bottleneck
        )

    def _bottleneck_of(self, links: pl.DataFrame) -> str:
        ranks = ("dropped_overflow_packets", "dropped_early_packets", "utilization")
        watched = links["link"].is_in(self._watched).to_numpy()
        return str(links["link"][bottleneck({name: links[name].to_numpy() for name in ranks}, watched)])

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the figures should know first: a host's link that limits its flows, flows that got nothing."""
        return found(self)

    @cached_property
    def _watched(self) -> list[str]:
        """The links that have a time series."""
        return self.link_series["link"].unique(maintain_order=True).to_list() if self.link_series.height else []

    @cached_property
    def main_links(self) -> pl.DataFrame:
        """The rows of ``links`` that people look at first: those with a time series, the bottleneck, and any that dropped
        packets. Access links are mostly none of them."""
        return self.links.filter(
            pl.col("link").is_in([*self._watched, self.bottleneck]) | (pl.col("dropped_packets") > 0)
        )

    def _given(self, name: str) -> pl.DataFrame:
        table = super()._given(name)
        unrecorded = name == "packets" and not has_recorded_packets(self)
        if unrecorded or not table.columns:  # A file of nothing would look like a run in which nothing happened.
            packets = 'not recorded; expected a run with record={"packets": True}, in a file record.packets = true'
            raise NotFoundError(f"{name}: {packets if name == 'packets' else 'the scenario has no aggregates'}")
        return table

    def series(
        self,
        *,
        flow: str | None = None,
        link: str | None = None,
        aggregate: str | None = None,
        after_warm_up: bool = False,
    ) -> pl.DataFrame:
        """The time series of one flow, link or aggregate; of :attr:`shown_link` where none is named.

        Raises:
            KeyError: where it was not recorded, with what was.
            ArgumentError: where two are named.
        """
        kinds = {"flow": flow, "link": link, "aggregate": aggregate}
        given = [(kind, name) for kind, name in kinds.items() if name is not None]
        if len(given) > 1:
            raise refused("series", dict(given), "one of flow, link and aggregate")
        kind, name = given[0] if given else ("link", self.shown_link)
        table: pl.DataFrame = getattr(self, f"{kind}_series")
        found = table.filter(pl.col(kind) == name) if table.columns else table
        if found.is_empty():
            known = table[kind].unique(maintain_order=True).to_list() if table.columns else []
            close = nearest(str(name), known)
            hint = f" (did you mean {close}?)" if close else ""
            recorded = f"{listed(known)}{hint}" if known else f"none; {without_series(self)}"
            raise NotFoundError(f"{kind} {name!r} has no time series; recorded are: {recorded}")
        return found.filter(bins.after_warm_up(self, pl.col("time"))) if after_warm_up else found

    def counted_messages(self) -> pl.DataFrame:
        """The messages that began from ``warm_up`` on: those that completion times, by whichever function, are of."""
        return self.messages.filter(pl.col("began") >= self.warm_up)

    def summary(self) -> pl.DataFrame:
        """One line with the metrics that people ask for first."""
        from tailback.results.metrics import summary

        return summary(self)

    def off_times(self) -> pl.DataFrame:
        """Every time that a flow was switched off: ``flow``, ``group``, when it ``began`` and ``ended``, how long it was
        ``off``, in seconds, and whether the run's end cut it short (``is_cut``). Those that ended before ``warm_up`` are
        left out; nothing where time series of flows were not recorded."""
        from tailback.results.gates import off_times

        return off_times(self)

    def predicted(self, fairness: Fairness = "proportional", weights: Mapping[str, float] | None = None) -> Prediction:
        """What the greedy flows would have at rest by theory, beside what was measured: a table of flows with predicted
        rate, goodput and difference, and a table of links with predicted and measured queueing delay.

            result.predicted().flows

        Args:
            fairness: ``"proportional"``, ``"max-min"``, or the alpha of alpha-fairness.
            weights: by flow or group, relative to each other; by default what a flow holds in queues, or 1.

        Raises:
            PredictionError: where there is nothing to predict.
        """
        from tailback.results.predicted import predict

        return predict(self.scenario.to_json(), fairness, weights, self)

    @property
    def plot(self) -> Plots:
        """Figures of this result: ``result.plot.overview()``."""
        from tailback.plot import Plots

        return Plots(self)

    def report(self, folder: str | Path) -> Path:
        """Writes a page about this result, with figures, tables and how to make it again, which works offline.

        Returns:
            The page's path.

        Raises:
            StorageError: where the folder holds something else than such a page, or writing fails.
        """
        from tailback.report.page import expect_room, room
        from tailback.report.sweep import write_result_report

        target = path_of("folder", folder)
        expect_room(target)
        with room(target) as where:
            write_result_report(self, where, called=target)
        return target / "index.html"
