"""From the core's columns to a result's tables: names without units, rates beside counters. Nothing is simulated or
judged here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tailback.results import formulas
from tailback.results.columns import NAMES, RECORDED
from tailback.results.result import Result
from tailback.results.units import UNITS
from tailback.results.unrecorded import no_packets
from tailback.results.versions import versions
from tailback.units import number

if TYPE_CHECKING:
    from tailback import _core


def result_of(raw: _core.Result, wall: float, real: Mapping[str, Any] | None = None) -> Result:
    """The result of a run that took ``wall`` seconds; ``real`` tells what is particular to real packets."""
    scenario: dict[str, Any] = json.loads(raw.scenario)
    duration, warm_up = number(scenario["duration"]), number(scenario.get("warm_up", "0 s"))
    bin_width = number(scenario["record"]["bin"])
    window = duration - warm_up
    flows = _flows(raw, window, np.asarray(raw.times) > warm_up + 0.5 * bin_width)
    aggregates = _aggregates(raw.aggregates_measured, window)
    # The core numbers aggregates behind all flows.
    everybody = pl.concat([flows["flow"], aggregates["aggregate"]]) if aggregates.columns else flows["flow"]
    links = link_rates(table_of(raw.links_measured, "links"), window)
    return Result(
        scenario_data=scenario,
        seed=raw.seed,
        versions=versions(),
        hash=raw.hash,
        duration=duration,
        warm_up=warm_up,
        bin=bin_width,
        events=raw.events,
        wall=wall,
        flows=flows,
        links=links,
        flow_series=_series(raw.flow_series, raw.watched_flows, raw.times, "flow", bin_width),
        link_series=_series(raw.link_series, raw.watched_links, raw.times, "link", bin_width),
        messages=_messages(raw.messages, flows["flow"]),
        state=_state(raw.state, everybody),
        aggregates=aggregates,
        aggregate_series=_series(raw.aggregate_series, raw.watched_aggregates, raw.times, "aggregate", bin_width),
        packets=_packets(raw.packets, everybody, links["link"]),
        units=UNITS,
        real=real or {},
    )


def table_of(columns: Mapping[str, Any], kind: str) -> pl.DataFrame:
    """The core's columns of a table of this kind under people's names; what is not a number is missing."""
    names = NAMES[kind]
    table = pl.DataFrame({names.get(key, key): column for key, column in columns.items()})
    floats = [name for name, kind in table.schema.items() if kind == pl.Float64]
    return table.with_columns(pl.col(floats).fill_nan(None)) if floats else table


def _flows(raw: _core.Result, window: float, late: NDArray[np.bool_]) -> pl.DataFrame:
    rates = flow_rates(table_of(raw.flows_measured, "flows"), window)
    return rates.with_columns(pl.Series("mean_rtt", round_trips(raw, late)["mean_rtt"]).fill_nan(None))


def round_trips(raw: _core.Result, late: NDArray[np.bool_]) -> dict[str, NDArray[np.float64]]:
    """Per flow, what its samples of the round trip time in the ``late`` bins, which are the last, come to; not a number where
    there are none."""
    names, watched = raw.flows_measured["name"], raw.watched_flows
    if not watched:
        return formulas.round_trips(np.empty((len(names), 0)))
    bins = raw.flow_series["rtt_seconds"].reshape(len(watched), late.size)
    found = formulas.round_trips(bins[:, late.size - np.count_nonzero(late) :])
    if watched == names:
        return found
    rows = {name: row for row, name in enumerate(watched)}
    at = np.array([rows.get(name, -1) for name in names], dtype=np.intp)
    return {metric: np.append(of, np.nan)[at] for metric, of in found.items()}


def flow_rates(table: pl.DataFrame, window: float | pl.Series) -> pl.DataFrame:
    """A table of flows' counters with rates beside them; ``window`` is what they cover, in seconds."""
    return _with(formulas.FLOWS, table.rename({"name": "flow"}), window)


def link_rates(table: pl.DataFrame, window: float | pl.Series) -> pl.DataFrame:
    """A table of links' counters with rates beside them; ``window`` is what they cover, in seconds."""
    return _with(formulas.LINKS, table.rename({"name": "link"}), window)


def _aggregates(columns: Mapping[str, Any], window: float) -> pl.DataFrame:
    """Aggregates' counters with rates beside them."""
    if not columns:
        return pl.DataFrame()
    return _with(formulas.AGGREGATES, table_of(columns, "aggregates").rename({"name": "aggregate"}), window)


def _with(made: Iterable[formulas.Formula], table: pl.DataFrame, window: float | pl.Series) -> pl.DataFrame:
    """The table with the columns that these formulas make of its own."""
    covered = window.to_numpy() if isinstance(window, pl.Series) else window
    columns = {
        name: table[name].to_numpy() for name, kind in table.schema.items() if kind.is_numeric() or kind == pl.Boolean
    }
    return table.with_columns(pl.Series(name, of) for name, of in formulas.computed(made, columns, covered).items())


def _moved(recorded: _core.Series, kind: str) -> Iterator[pl.Series]:
    """The columns of series. Each leaves the core's memory as it is taken over, so that a long run never is in memory twice."""
    names = NAMES[kind]
    for key in list(recorded):
        column = pl.Series(names.get(key, key), recorded.pop(key))
        yield column.fill_nan(None) if column.dtype == pl.Float64 else column


def _series(
    recorded: _core.Series, watched: list[str], times: NDArray[np.float64], kind: str, width: float
) -> pl.DataFrame:
    """All watched flows or links, one below the other."""
    if not watched:
        return pl.DataFrame(schema=_empty(kind))
    members = pl.Series(kind, watched, dtype=pl.String)
    columns = list(_moved(recorded, _RECORDED[kind]))
    rows = np.repeat(np.arange(len(watched), dtype=np.uint32), len(times))
    table = pl.DataFrame({"time": np.tile(times, len(watched)), kind: members.gather(rows)}).hstack(columns)
    del rows
    per_second = 8.0 / width
    rates = [(pl.col(counter) * per_second).alias(name) for name, counter in formulas.RATES[kind].items()]
    table = table.with_columns(rates)
    return table if kind == "link" else table.select(pl.exclude("directed_rate"), "directed_rate")


_RECORDED: Final = {"link": "link_series", "flow": "flow_series", "aggregate": "flow_series"}
"""By kind of series, the table of its columns."""


def _empty(kind: str) -> dict[str, Any] | None:
    """The columns of a series that nobody recorded."""
    if kind == "aggregate":
        return None
    names = [*(column.name for column in RECORDED[_RECORDED[kind]]), *formulas.RATES[kind]]
    return {"time": pl.Float64, kind: pl.String} | dict.fromkeys(names, pl.Float64)


def _messages(columns: Mapping[str, Any], flows: pl.Series) -> pl.DataFrame:
    table = table_of(columns, "messages")
    return _named(table, flows).with_columns((pl.col("ended") - pl.col("began")).alias("completion_time"))


def _state(columns: Mapping[str, Any], flows: pl.Series) -> pl.DataFrame:
    if not columns:
        return pl.DataFrame(schema={"time": pl.Float64, "flow": pl.String, "name": pl.String, "value": pl.Float64})
    return _named(table_of(columns, "state"), flows)


def _packets(columns: Mapping[str, Any], flows: pl.Series, links: pl.Series) -> pl.DataFrame:
    """The packet log with names in place of numbers, as categories: logs are long."""
    if not columns:
        return no_packets()

    def named(rows: Any, names: pl.Series) -> pl.Series:
        at = np.asarray(rows).astype(np.int64)
        # Whatever has no name, an endpoint's link for example, becomes the null after the last.
        return (
            pl.concat([names, pl.Series([None], dtype=pl.String)])
            .cast(pl.Categorical)
            .gather(np.minimum(at, names.len()))
        )

    rows = {"flow": flows, "link": links}
    table: dict[str, Any] = {}
    for column in RECORDED["packets"]:
        values = columns[column.key]
        if column.key == "time_nanoseconds":
            values = np.asarray(values) / 1e9  # The nearest number, as the core's other times are.
        elif column.values:
            values = named(values, pl.Series(column.values))
        elif column.name in rows:
            values = named(values, rows[column.name])
        table[column.name] = values
    return pl.DataFrame(table)


def _named(table: pl.DataFrame, flows: pl.Series) -> pl.DataFrame:
    """Rows of the table of flows replaced by the flows' names."""
    names = flows.to_numpy()
    rows = table["flow"].to_numpy().astype(np.int64)
    return table.with_columns(pl.Series("flow", names[rows], dtype=pl.String))
