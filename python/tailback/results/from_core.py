"""From the core's columns to a result's tables: names without units, rates beside counters. Nothing is simulated or
judged here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from tailback.results.result import Result
from tailback.results.units import UNITS
from tailback.results.versions import versions
from tailback.units import number

if TYPE_CHECKING:
    from tailback import _core

# Quantities in one unit only, whose columns need not repeat it; where a thing is counted in packets and in bytes, the
# columns' names keep the difference.
_SHORT: Final = {
    "rate_bits": "rate",
    "delay_seconds": "delay",
    "round_trip_seconds": "round_trip",
    "start_seconds": "start",
    "finished_seconds": "finished",
    "smoothed_rtt_seconds": "smoothed_rtt",
    "rtt_seconds": "rtt",
    "busy_seconds": "busy",
    "mean_queue_packets": "mean_queue",
    "window_bytes": "window",
    "in_flight_bytes": "in_flight",
    "accumulation_bytes": "accumulation",
    "mean_accumulation_bytes": "mean_accumulation",
    "transmitting_bytes": "transmitting",
    "mean_transmitting_bytes": "mean_transmitting",
    "estimated_accumulation_bytes": "estimated_accumulation",
    "size_bytes": "size",
    "began_seconds": "began",
    "ended_seconds": "ended",
    "time_seconds": "time",
}


def result_of(raw: _core.Result, wall: float) -> Result:
    """The result of a run that took ``wall`` seconds."""
    scenario: dict[str, Any] = json.loads(raw.scenario)
    duration, warm_up = number(scenario["duration"]), number(scenario.get("warm_up", "0 s"))
    bin_width = number(scenario["record"]["bin"])
    window = duration - warm_up
    flow_series = _series(raw.flow_series, raw.times, "flow", bin_width)
    flows = _flows(raw.flows_measured, window, flow_series, warm_up + 0.5 * bin_width)
    aggregates = _aggregates(raw.aggregates_measured, window)
    # The core numbers aggregates behind all flows.
    everybody = pl.concat([flows["flow"], aggregates["aggregate"]]) if aggregates.columns else flows["flow"]
    links = link_rates(table_of(raw.links_measured), window)
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
        flow_series=flow_series,
        link_series=_series(raw.link_series, raw.times, "link", bin_width),
        messages=_messages(raw.messages, flows["flow"]),
        state=_state(raw.state, everybody),
        aggregates=aggregates,
        aggregate_series=_series(raw.aggregate_series, raw.times, "aggregate", bin_width),
        packets=_packets(raw.packets, everybody, links["link"]),
        units=UNITS,
    )


def table_of(columns: Mapping[str, Any]) -> pl.DataFrame:
    """The core's columns under their short names; what is not a number is missing."""
    table = pl.DataFrame({_SHORT.get(name, name): column for name, column in columns.items()})
    floats = [name for name, kind in table.schema.items() if kind == pl.Float64]
    return table.with_columns(pl.col(floats).fill_nan(None)) if floats else table


def _flows(columns: Mapping[str, Any], window: float, series: pl.DataFrame, begin: float) -> pl.DataFrame:
    rates = flow_rates(table_of(columns), window)
    if series.height == 0:
        return rates.with_columns(pl.lit(None, dtype=pl.Float64).alias("mean_rtt"))
    seen = series.filter(pl.col("time") > begin).group_by("flow").agg(pl.col("rtt").mean().alias("mean_rtt"))
    return rates.join(seen, on="flow", how="left", maintain_order="left")


def flow_rates(table: pl.DataFrame, window: float | pl.Expr) -> pl.DataFrame:
    """A table of flows' counters with rates beside them; ``window`` is what they cover, in seconds."""
    return table.rename({"name": "flow"}).with_columns(
        (pl.col("received_bytes") * 8.0 / window).alias("throughput"),
        (pl.col("goodput_bytes") * 8.0 / window).alias("goodput"),
        _part("retransmitted_packets", "sent_packets").alias("retransmission_rate"),
    )


def _aggregates(columns: Mapping[str, Any], window: float) -> pl.DataFrame:
    """Aggregates' counters with rates beside them."""
    if not columns:
        return pl.DataFrame()
    return (
        table_of(columns)
        .rename({"name": "aggregate"})
        .with_columns((pl.col("left_bytes") * 8.0 / window).alias("throughput"))
    )


def link_rates(table: pl.DataFrame, window: float | pl.Expr) -> pl.DataFrame:
    """A table of links' counters with rates beside them; ``window`` is what they cover, in seconds."""
    departures = pl.col("transmitted_packets") / window
    return table.rename({"name": "link"}).with_columns(
        (pl.col("transmitted_bytes") * 8.0 / window).alias("throughput"),
        (pl.col("busy") / window).alias("utilization"),
        _part("dropped_packets", "arrived_packets").alias("loss_rate"),
        # Little's law; nobody waited where nobody came.
        pl.when(departures > 0).then(pl.col("mean_queue") / departures).otherwise(0.0).alias("queueing_delay"),
    )


def _part(some: str, of: str) -> pl.Expr:
    return pl.when(pl.col(of) > 0).then(pl.col(some) / pl.col(of)).otherwise(0.0)


def _series(recorded: Mapping[str, Mapping[str, Any]], times: Any, kind: str, width: float) -> pl.DataFrame:
    """All watched flows or links, one below the other."""
    if not recorded:
        return pl.DataFrame(schema=_EMPTY.get(kind))
    # Column by column: a table for each of thousands would cost far more than what is in them.
    missing = np.full(len(times), np.nan)
    names = dict.fromkeys(name for columns in recorded.values() for name in columns)
    whole: dict[str, Any] = {
        # Links may have columns of their own: the state of their disciplines.
        name: np.concatenate([columns.get(name, missing) for columns in recorded.values()])
        for name in names
    }
    members = pl.Series(kind, list(recorded), dtype=pl.String)
    rows = np.repeat(np.arange(len(recorded), dtype=np.uint32), len(times))
    heads = pl.DataFrame({"time": np.tile(times, len(recorded)), kind: members.gather(rows)})
    table = heads.hstack(table_of(whole))
    per_second = 8.0 / width
    if kind == "link":
        return table.with_columns((pl.col("transmitted_bytes") * per_second).alias("throughput"))
    return table.with_columns(
        (pl.col("sent_bytes") * per_second).alias("sending_rate"),
        (pl.col("received_bytes") * per_second).alias("throughput"),
        (pl.col("goodput_bytes") * per_second).alias("goodput"),
        pl.col("rate").alias("directed_rate"),
    ).drop("rate")


_EMPTY: Final[dict[str, dict[str, Any]]] = {
    "link": {"time": pl.Float64, "link": pl.String, "mean_queue": pl.Float64, "throughput": pl.Float64},
    "flow": {
        "time": pl.Float64,
        "flow": pl.String,
        "window": pl.Float64,
        "rtt": pl.Float64,
        "throughput": pl.Float64,
        "goodput": pl.Float64,
    },
}


def _messages(columns: Mapping[str, Any], flows: pl.Series) -> pl.DataFrame:
    table = table_of(columns)
    return _named(table, flows).with_columns((pl.col("ended") - pl.col("began")).alias("completion_time"))


def _state(columns: Mapping[str, Any], flows: pl.Series) -> pl.DataFrame:
    if not columns:
        return pl.DataFrame(schema={"time": pl.Float64, "flow": pl.String, "name": pl.String, "value": pl.Float64})
    return _named(table_of(columns), flows)


EVENTS: Final = ("sent", "offered", "dropped", "delivered")
REASONS: Final = ("overflow", "early", "loss", "corruption", "unreachable")


def _packets(columns: Mapping[str, Any], flows: pl.Series, links: pl.Series) -> pl.DataFrame:
    """The packet log with names in place of numbers, as categories: logs are long."""
    if not columns:
        return pl.DataFrame()

    def named(rows: Any, names: pl.Series) -> pl.Series:
        at = np.asarray(rows).astype(np.int64)
        # Whatever has no name, an endpoint's link for example, becomes the null after the last.
        return (
            pl.concat([names, pl.Series([None], dtype=pl.String)])
            .cast(pl.Categorical)
            .gather(np.minimum(at, names.len()))
        )

    return pl.DataFrame(
        {
            "time": np.asarray(columns["time_nanoseconds"]) * 1e-9,
            "event": named(columns["kind"], pl.Series(EVENTS)),
            "flow": named(columns["flow"], flows),
            "link": named(columns["link"], links),
            "number": columns["number"],
            "size": columns["size_bytes"],
            "bits": columns["bits"],
            "reason": named(columns["reason"], pl.Series(REASONS)),
        }
    )


def _named(table: pl.DataFrame, flows: pl.Series) -> pl.DataFrame:
    """Rows of the table of flows replaced by the flows' names."""
    names = flows.to_numpy()
    rows = table["flow"].to_numpy().astype(np.int64)
    return table.with_columns(pl.Series("flow", names[rows], dtype=pl.String))
