"""The runs of a sweep: tables of all of them, what they say together, and the way back to any one. How they were made
is the business of ``make.py``; intervals are made in ``statistics.py``, files in ``store.py``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from tailback.calls import checked_methods
from tailback.errors import ArgumentError, NotFoundError, Problem, ScenarioError, listed, refused, unknown
from tailback.results.files import path_of
from tailback.results.tabular import Tabular
from tailback.results.units import UNITS
from tailback.sweeps import statistics
from tailback.sweeps.design import Variant, label, many, plain_number
from tailback.sweeps.measured import tell_of_others, with_metrics
from tailback.sweeps.spread import still, tell
from tailback.sweeps.tables import OWN, axes_of
from tailback.units import counted, in_base_units

if TYPE_CHECKING:
    from tailback.plot.runs import RunPlots
    from tailback.results import Result


@checked_methods
@dataclass(frozen=True, eq=False)
class Runs(Tabular):
    """What came out of a sweep.

    The tables are tidy and begin with the swept fields: ``table`` has one row per run, ``flows`` one per flow and run,
    ``links`` one per main link and run. Time series are not kept: :meth:`result` gives a run with all of them.
    """

    STORE: ClassVar = "tailback.sweeps.store"
    TABLES: ClassVar = ("table", "flows", "links")
    DERIVED: ClassVar = ("groups",)

    variants: Sequence[Variant] = field(repr=False)
    """The scenarios, in the order of the sweep."""
    table: pl.DataFrame = field(repr=False)
    """One row per run: the axes, the seed, the metrics of the run, the hash of its output, and the error where it
    failed."""
    flows: pl.DataFrame = field(repr=False)
    """One row per flow and run: exact counters over the window, and rates from them."""
    links: pl.DataFrame = field(repr=False)
    """One row per main link and run, likewise; access links only where they dropped packets."""
    versions: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What it was made with."""
    command: str = ""
    """The command line that makes it again, where it came from one."""
    own_units: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The units of metrics of one's own (:meth:`measured`)."""

    def __len__(self) -> int:
        return self.table.height

    def __repr__(self) -> str:
        axes = ", ".join(f"{name} ({self.table[name].n_unique()})" for name in self.axes)
        failed = f", {self.failed.height} failed" if self.failed.height else ""
        alike = "; all seeds gave the same runs: nothing in them is drawn" if self.alike else ""
        return f"<Runs: {len(self)} of {counted(len(self.present), 'variant')} over {axes or 'seeds'}{failed}{alike}>"

    @cached_property
    def alike(self) -> bool:
        """Whether seeds made no difference: nothing in the scenarios is drawn, and intervals say nothing. Flows that
        start at times of their own, ``start={"from": "0 s", "to": "2 s"}``, make one."""
        found = still(self)
        return found.len() > 0 and bool(found.all())

    @cached_property
    def present(self) -> list[Variant]:
        """The variants of which there are runs: after :meth:`select`, not all of those that were made."""
        return [self.variants[place] for place in self.table["variant"].unique().sort()]

    @cached_property
    def axes(self) -> list[str]:
        """The swept fields, in their order."""
        return axes_of(self.variants)

    @cached_property
    def units(self) -> Mapping[str, str]:
        """The unit of each column that has one. A swept field is what its values were called, as text, and has none; its
        numbers, ``…_value`` in what :meth:`to_pandas` and the like give, have."""
        units = {name: unit for name, unit in UNITS.items() if name not in self.axes}
        # Where the name of a field is that of a column too, the column gave way to it.
        units |= {f"{own}_{name}": UNITS[name] for own in OWN.values() for name in self.axes if name in UNITS}
        units |= self.own_units
        return units | {f"{name}_value": unit for name, (_, unit) in self._quantities.items()}

    @cached_property
    def _quantities(self) -> Mapping[str, tuple[pl.DataFrame, str]]:
        """By swept field that is a quantity: its values, as text and as numbers, and their base unit."""
        found = {}
        for name in self.axes:
            written = self.table[name].unique(maintain_order=True)
            if (read := in_base_units(written.to_list())) is not None:
                numbers = pl.Series(f"{name}_value", read[0], dtype=pl.Float64)
                found[name] = pl.DataFrame([written, numbers]), read[1]
        return found

    def _given(self, name: str) -> pl.DataFrame:
        table = super()._given(name)
        for field_, (values, _) in self._quantities.items():
            table = table.join(values, on=field_, how="left", maintain_order="left", nulls_equal=True)
        numbers = [f"{field_}_value" for field_ in self._quantities]
        others = [column for column in table.columns if column not in {*self.axes, *numbers}]
        return table.select(*self.axes, *numbers, *others)

    @property
    def failed(self) -> pl.DataFrame:
        """The runs that failed, with their errors."""
        return self.table.filter(pl.col("error").is_not_null())

    @property
    def plot(self) -> RunPlots:
        """Figures of all runs: ``runs.plot.throughput_delay()``."""
        from tailback.plot.runs import RunPlots

        return RunPlots(self)

    def summary(self, *metrics: str, by: str = "variant", level: float = 0.95) -> pl.DataFrame:
        """One row per variant: the mean of each metric over the seeds, and beside it, named ``…_half_width``, the half-width of
        its confidence interval by Student's t.

        Args:
            metrics: columns of ``table`` (of ``flows`` when by group); those that people ask for first where none is
                named.
            by: ``"variant"`` for all flows together, ``"group"`` for each group of flows on its own (means per flow).
            level: the probability with which the intervals cover the true mean.

        Raises:
            KeyError: for a metric that is not there, with those that are.
        """
        tell(self)
        return statistics.wide(self.means(*metrics, by=by, level=level), self.keys(by))

    def intervals(self, *metrics: str, by: str = "variant", level: float = 0.95) -> pl.DataFrame:
        """The same in long form, one row per variant and metric: ``mean``, ``low``, ``high``, ``half_width``, ``std``,
        ``runs`` (the samples), ``failed`` and ``unit``. With one seed there are no intervals, and a warning says so."""
        tell(self)
        return self.means(*metrics, by=by, level=level)

    def measured(
        self, *, progress: bool = True, **metrics: Callable[[Result], float] | tuple[Callable[[Result], float], str]
    ) -> Runs:
        """The same runs with metrics of your own, which have intervals, comparisons and figures as all others::

            runs = runs.measured(smooth=lambda result: dynamics.smoothness(result, "late"))
            runs.intervals("goodput", "smooth")

        Each run is made again in this process, one after the other, since a sweep keeps no time series.

        Args:
            progress: whether a bar is shown when it takes longer than two seconds.
            metrics: by name, a function of a result that gives a number, or such a function and the number's unit. What is
                not a number is missing in the means; ``runs`` of :meth:`intervals` says how many there were, and a warning
                in how many runs it is missing, with the first reason.

        Raises:
            ArgumentError: for a name that a column has, and for what is no function, or gives no number.
        """
        return with_metrics(self, metrics, progress=progress)

    def means(self, *metrics: str, by: str = "variant", level: float = 0.95) -> pl.DataFrame:
        """As :meth:`intervals`, without a word where one seed gives none: for who says so elsewhere."""
        samples = self._samples(by)
        chosen = self._chosen(metrics, by)
        return statistics.intervals(samples, self.keys(by), chosen, level=level, units=self.units)

    def compare(
        self, axis: str, baseline: Any = None, *metrics: str, by: str = "variant", level: float = 0.95
    ) -> pl.DataFrame:
        """Paired differences from a baseline along one axis, seed by seed: common random numbers cancel in them.

        Args:
            axis: the axis whose values are compared; ``"group"`` compares groups of flows within the same runs.
            baseline: the value to compare with; the first where ``None``.
            metrics: as in :meth:`summary`.
            by: as in :meth:`summary`.
            level: the intervals' level.

        Returns:
            One row per other value and metric: ``difference`` with its interval (``low``, ``high``), its ``relative``
            size, the number of pairs, and whether zero lies outside the interval.

        Raises:
            KeyError: for an axis, value or metric that is not there.
            ArgumentError: where no two runs of a seed differ in this axis alone, as with ``points``, whose fields change
                together.
        """
        tell(self)
        return self.differences(axis, baseline, *metrics, by=by, level=level)

    def differences(
        self, axis: str, baseline: Any = None, *metrics: str, by: str = "variant", level: float = 0.95
    ) -> pl.DataFrame:
        """As :meth:`compare`, without a word where one seed gives no intervals: for who says so elsewhere."""
        by = "group" if axis == "group" else by
        samples, keys = self._samples(by), self.keys(by)
        if axis not in keys:
            raise unknown("axis", axis, [*keys, "group"])
        chosen = self._chosen(metrics, by)
        base = samples[axis][0] if baseline is None else _value_of(samples[axis], baseline)
        found = statistics.differences(samples, keys, axis, base, chosen, level=level, units=self.units)
        if found.is_empty() and samples[axis].n_unique() > 1:
            others = ", ".join(name for name in keys if name != axis and samples[name].n_unique() > 1) or "the seed"
            allowed = (
                f"an axis of which two values have runs that differ in nothing else; here {others} changes with it"
            )
            raise refused("axis", axis, allowed)
        return found

    def keys(self, by: str = "variant") -> list[str]:
        """The columns that tell the rows of a summary apart."""
        if by not in statistics.DEFAULT:
            raise unknown("way to group", by, statistics.DEFAULT)
        return [*self.axes, "group"] if by == "group" else self.axes

    def _chosen(self, metrics: Collection[str], by: str) -> list[str]:
        """The metrics that are meant.

        Raises:
            NotFoundError: for one that all flows together have and groups have not, or the other way round.
        """
        other = "variant" if by == "group" else "group"
        here, there = (statistics.metrics_of(self._samples(kind), self.axes) for kind in (by, other))
        for name in metrics:
            if isinstance(name, str) and name not in here and name in there:
                raise unknown("metric", name, here, f'; by="{other}" has it')
        if all(isinstance(name, str) for name in metrics):  # Others are refused where intervals are made.
            metrics = dict.fromkeys(metrics)  # What is named twice is there once.
        return list(metrics) or statistics.usual(self._samples(by), by)

    def _samples(self, by: str) -> pl.DataFrame:
        """One row per run, or per run and group."""
        self.keys(by)
        return self.groups if by == "group" else self.table

    @cached_property
    def groups(self) -> pl.DataFrame:
        """One row per run and group of flows: means per flow, Jain's index within the group, and mean and percentiles of the
        completion times of its messages."""
        return statistics.groups(self.flows, [*self.axes, "variant", "seed"])

    def select(self, **chosen: Any) -> Runs:
        """Only the runs with these values of axes; ``seed`` may be named too.

        Raises:
            KeyError: for an axis, or a value on it, that is not there, and for values that no run has together.
        """
        keep = pl.lit(value=True)
        for name, value in chosen.items():
            if name not in (*self.axes, "seed"):
                raise unknown("axis", name, [*self.axes, "seed"])
            values = [_value_of(self.table[name], entry) for entry in (value if many(value) else [value])]
            keep &= pl.col(name).is_in(values)
        found = {name: getattr(self, name).filter(keep) for name in self.TABLES}
        if found["table"].is_empty() and len(self):
            raise NotFoundError(f"no run has {chosen}; see the columns {', '.join([*self.axes, 'seed'])} of .table")
        return dataclasses.replace(self, **found)

    def result(self, **chosen: Any) -> Result:
        """One run with its time series: made again, which gives the same bits. Where a class of one's own, or the version of
        Tailback, has changed since, a warning says that it came out otherwise.

        Args:
            chosen: values of axes, which name one scenario of the sweep, and ``seed``; the first seed where it is not said.

        Raises:
            KeyError: where none fits, with the axis or the value that there is none of.
            ArgumentError: where several scenarios fit, with the axes that are left to choose and their values.
            ScenarioError: where that run's scenario makes no sense.
        """
        fitting = self.select(**chosen).table
        if fitting.is_empty():
            raise NotFoundError("there are no runs")
        if left := [name for name in self.axes if fitting[name].n_unique() > 1]:
            raise ArgumentError(_left_open(fitting, left, chosen))
        variant, seed = self.variants[int(fitting["variant"][0])], int(fitting["seed"][0])
        if variant.scenario is None:
            raise ScenarioError([Problem("scenario", "what came out", variant.error)], "this variant")
        result = variant.scenario.run(seed=seed)
        tell_of_others(int(fitting["hash"][0] is not None and result.hash != fitting["hash"][0]), 1)
        return result

    def _shown(self) -> pl.DataFrame:
        return statistics.wide(self.means(), self.keys())

    def report(
        self,
        folder: str | Path,
        *,
        metric: str | None = None,
        x: str | None = None,
        y: str | None = None,
        by: str | None = None,
    ) -> Path:
        """Writes a page about these runs, with figures, tables and how to make them again, which works offline.

        Args:
            folder: where to.
            metric: what its heat map shows; goodput where ``None``.
            x: the swept field along the bottom of the heat map, chosen as by ``runs.plot.heatmap`` where ``None``.
            y: the field upwards, likewise.
            by: the field of its panels, likewise.

        Returns:
            The page's path.

        Raises:
            NotFoundError: for a field that is not swept, or a metric that there is none of.
            ArgumentError: where a heat map is asked for and there are no two swept fields.
            StorageError: where the folder holds something else than such a page, or writing fails.
        """
        from tailback.report.drawn import Cells
        from tailback.report.page import expect_room, room
        from tailback.report.sweep import write_sweep_report

        target = path_of("folder", folder)
        expect_room(target)
        with room(target) as where:
            write_sweep_report(self, where, cells=Cells(metric, x, y, by), called=target)
        return target / "index.html"


def _value_of(column: pl.Series, given: Any) -> Any:
    """The value of an axis that is meant, as the table has it: the seed 1.0 is its 1.

    Raises:
        NotFoundError: with the values that there are.
    """
    entry, known = label(plain_number(given)), column.unique(maintain_order=True).to_list()
    if entry not in known:  # A text beside numbers in its quotes: the seed '1' is none, and 1 may be one.
        numbers = not any(isinstance(value, str) for value in known)
        said = repr(entry) if numbers and isinstance(entry, str) else entry
        raise unknown(f"value of {column.name}", said, map(str, known))
    return known[known.index(entry)]


def _left_open(fitting: pl.DataFrame, left: Sequence[str], chosen: Mapping[str, Any]) -> str:
    """What to say where runs of several scenarios fit, which differ in the axes that are left."""
    values = {name: fitting[name].unique(maintain_order=True).to_list() for name in left}
    named = [f"{name}, one of {listed([repr(value) for value in found])}" for name, found in values.items()]
    said = ", ".join(f"{name}={value!r}" for name, value in chosen.items())
    count = fitting["variant"].n_unique()
    return f"result({said}): {count} scenarios fit; expected one: choose {'; and '.join(named)}"
