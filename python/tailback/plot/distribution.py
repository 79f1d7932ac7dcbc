"""Distributions: how large a part lies below each value, over flows, runs or samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tailback.errors import NotFoundError, unknown
from tailback.plot import names as called
from tailback.plot import series
from tailback.plot.overtime import FEW, POINTS
from tailback.plot.style import line
from tailback.results.bins import after_warm_up
from tailback.results.metrics import delays_of_series
from tailback.results.warnings import expect_bins
from tailback.sweeps import statistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.results import Result
    from tailback.sweeps import Runs


_OF_LINKS = ("queueing_delay", "queue_packets", "mean_queue")


def of_runs(made: Figure, axis: Axes, runs: Runs, *, metric: str, by: str | None) -> None:
    """The distribution of a metric over flows (or runs), a line per series."""
    table = runs.flows if metric in runs.flows.columns else runs.table
    if metric not in statistics.metrics_of(table, runs.axes):
        known = {name for each in (runs.flows, runs.table) for name in statistics.metrics_of(each, runs.axes)}
        raise unknown("metric of flows or runs", metric, known)
    default = runs.axes[:1] or (["group"] if series.has_groups(runs) else [])
    columns = [name for name in series.chosen(runs, by, default=default) if name in table.columns]
    found = table.drop_nulls([metric])
    text, factor = series.label_of(metric, runs.units, found[metric])
    for index, (name, part) in enumerate(series.split(found, columns)):
        steps(axis, part[metric].to_numpy() * factor, name, index)
    axis.set_xlabel(text)
    axis.set_ylabel("part of the flows" if table is runs.flows else "part of the runs")
    series.head(axis, series.pooled(runs, columns, "line"))
    axis.set_ylim(0.0, 1.0)
    series.legend(made, [axis])


def of_result(made: Figure, axis: Axes, result: Result, column: str) -> None:
    """The distribution over time of a column of a result's time series: of the bottleneck's queue, or per flow."""
    if column in _OF_LINKS:
        link = result.series(after_warm_up=True)
        if column == "queueing_delay":
            rate = float(result.links.filter(pl.col("link") == result.shown_link)["rate"][0])
            link = link.with_columns(pl.Series(column, delays_of_series(link, rate)))
        table, named = link.with_columns(pl.lit("").alias("flow")), {}
    else:
        schema = result.flow_series.schema
        measured = [name for name, kind in schema.items() if kind.is_numeric() and name != "time"]
        if column not in measured:
            raise unknown("column of time series", column, [*measured, *_OF_LINKS])
        table = result.flow_series.filter(after_warm_up(result, pl.col("time"))).drop_nulls([column])
        table = table.join(result.flows.select("flow", "group"), on="flow", how="left", maintain_order="left")
        if table.is_empty():
            expect_bins(result)
            raise NotFoundError(f"no {column} was recorded after warm_up; expected record.flows to include some flows")
        named = called.of_flows(result)
        if table["flow"].n_unique() > FEW:  # Too many to tell apart: groups are.
            drawn = called.drawn_groups(result, table["group"].unique(maintain_order=True).to_list())
            table = table.with_columns(pl.col("group").replace_strict(drawn, return_dtype=pl.String).alias("flow"))
            named = {}
    unit = {**result.units, "queueing_delay": "s"}
    text, factor = series.label_of(column, unit, table[column])
    for index, (name, part) in enumerate(series.split(table, ["flow"])):
        steps(axis, part[column].to_numpy() * factor, named.get(name, name), index)
    axis.set_xlabel(text.replace("mean queueing", "queueing"))
    axis.set_ylabel("part of the time")
    axis.set_ylim(0.0, 1.0)
    series.legend(made, [axis], most=series.MOST)


def steps(axis: Axes, values: NDArray[np.float64], name: str, index: int) -> None:
    """One empirical distribution; of many values, as many quantiles as can be seen."""
    ordered = np.sort(values[np.isfinite(values)])
    if ordered.size == 0:
        return
    parts = np.arange(1, ordered.size + 1) / ordered.size
    if ordered.size > POINTS:
        rows = np.linspace(0, ordered.size - 1, POINTS).astype(int)
        ordered, parts = ordered[rows], parts[rows]
    axis.plot(
        np.concatenate(([ordered[0]], ordered)),
        np.concatenate(([0.0], parts)),
        label=name,
        drawstyle="steps-post",
        **line(index),
    )
