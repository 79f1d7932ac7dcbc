"""All runs of a sweep as tidy tables, from the records of its runs: the axes beside metrics, flows and links."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from tailback import _core
from tailback.results.formulas import OF_THE_GROUP
from tailback.results.from_core import flow_rates, link_rates, table_of
from tailback.sweeps.design import Variant
from tailback.sweeps.measure import METRICS
from tailback.sweeps.work import Row

_HEAD: Final = {"variant": pl.Int64, "seed": pl.Int64, "window": pl.Float64, "name": pl.String}
_NONE: Final[dict[str, dict[str, Any]]] = {
    "flows": _HEAD
    | {"group": pl.String, "scheme": pl.String}
    | dict.fromkeys(
        ("received_bytes", "goodput_bytes", "app_bytes", "retransmitted_packets", "sent_packets"), pl.UInt64
    )
    | {"mean_rtt": pl.Float64},
    "links": _HEAD
    | dict.fromkeys(("transmitted_packets", "transmitted_bytes", "dropped_packets", "arrived_packets"), pl.UInt64)
    | dict.fromkeys(("busy", "mean_queue"), pl.Float64),
}
"""The columns to rely on where not one run came through."""

OWN: Final = {"table": "run", "flows": "flow", "links": "link"}
"""What stands before the name of a table's column where a swept field has the same."""

_SCHEME: Final = re.compile(r"(^|\.)scheme$")
"""The fields that replace schemes: of all flows, or of some groups, as ``flows[0].scheme``."""
_NUMBERED: Final = re.compile(r" [0-9]+$")


def run_table(variants: Sequence[Variant], rows: Sequence[Row]) -> pl.DataFrame:
    """One line per run: the axes, the seed, the metrics, the hash of the output, and the error where it failed."""
    lines = []
    for row in rows:
        record = row.record or {}
        about = {"variant": row.variant, "seed": row.seed, "error": row.error or None}
        found = {**record.get("run", {}), **{name: record.get(name) for name in ("events", "wall", "hash")}}
        lines.append({**about, **found})
    columns = dict.fromkeys(name for line in lines for name in line)
    if not any(row.record for row in rows):  # All failed: the metrics that people ask for are there, and missing.
        columns |= dict.fromkeys(METRICS)
    kinds: dict[str, Any] = dict.fromkeys(("error", "hash", "bottleneck"), pl.String)
    kinds |= {"wall": pl.Float64, "events": pl.Int64} | dict.fromkeys(METRICS, pl.Float64)
    data = {name: [line.get(name) for line in lines] for name in columns}
    table = pl.DataFrame(
        [pl.Series(name, values, dtype=kinds.get(name), strict=False) for name, values in data.items()]
    )
    return _with_axes(table, variants, OWN["table"])


def flow_table(variants: Sequence[Variant], rows: Sequence[Row], windows: Sequence[float]) -> pl.DataFrame:
    """One line per flow and run; ``windows`` are the seconds over which each run counted."""
    table = with_neutral_groups(_with_groups(_joined(rows, windows, "flows"), rows), axes_of(variants))
    if "messages" in table.columns and not table["messages"].sum():
        table = table.drop("messages", "completion_time")  # Nobody sent any.
    return _with_axes(flow_rates(table, table["window"]).drop("window"), variants, OWN["flows"])


def _with_groups(flows: pl.DataFrame, rows: Sequence[Row]) -> pl.DataFrame:
    """Flows with what was measured of their groups as wholes, such as percentiles over all messages."""
    told = [
        {"variant": row.variant, "seed": row.seed, "group": group}
        | {f"{OF_THE_GROUP}{name}": value for name, value in values.items()}
        for row in rows
        if row.record is not None
        for group, values in row.record["groups"].items()
    ]
    if not told:
        return flows
    keys = ["variant", "seed", "group"]
    table = pl.DataFrame(told, schema_overrides={name: flows.schema[name] for name in keys})
    return flows.join(table, on=keys, how="left", maintain_order="left")


def with_neutral_groups(flows: pl.DataFrame, axes: Sequence[str]) -> pl.DataFrame:
    """Flows under the schemes of a sweep or a comparison. A group that is called like its scheme, as groups without a name
    are, would be called like a scheme that it does not run: it is "flows 1" and so on, in the order of groups, and its flows
    are "flows 1-0" and so on."""
    if not any(_SCHEME.search(name) for name in axes) or flows.is_empty():
        return flows
    groups = flows["group"].unique(maintain_order=True).cast(pl.String).to_list()
    known = {entry["name"] for entry in json.loads(_core.registry())["schemes"]}
    neutral: dict[str, str] = {}
    for place, group in enumerate(groups):
        called = _NUMBERED.sub("", group)  # The second group of a scheme is "reno 2".
        runs_others = (flows.filter(pl.col("group") == group)["scheme"] != called).any()
        name = f"flows {place + 1}"
        if called in known and runs_others and name not in groups:
            neutral[group] = name
    if not neutral:
        return flows
    of, flow = pl.col("group").cast(pl.String), pl.col("name")
    number = flow.str.slice(of.str.len_chars())  # A flow is called like its group, with its number behind.
    is_of = flow.str.starts_with(of) & of.is_in(list(neutral))
    numbered = pl.when(is_of).then(of.replace(neutral) + number).otherwise(flow).alias("name")
    return flows.with_columns(numbered, of.replace(neutral).alias("group"))


def link_table(variants: Sequence[Variant], rows: Sequence[Row], windows: Sequence[float]) -> pl.DataFrame:
    """One line per main link (and access link that dropped packets) and run."""
    table = _joined(rows, windows, "links")
    return _with_axes(link_rates(table, table["window"]).drop("window"), variants, OWN["links"])


def _joined(rows: Sequence[Row], windows: Sequence[float], kind: str) -> pl.DataFrame:
    """The records' columns one below the other; all of them in one pass, as runs may be many."""
    columns: dict[str, list[Any]] = {}
    heads: dict[str, list[Any]] = {"variant": [], "seed": [], "window": []}
    for row in rows:
        if row.record is None:
            continue
        part = row.record[kind]
        height = len(next(iter(part.values())))
        heads["variant"] += [row.variant] * height
        heads["seed"] += [row.seed] * height
        heads["window"] += [windows[row.variant]] * height
        for name, values in part.items():
            columns.setdefault(name, []).extend(values)
    if not heads["variant"]:
        return pl.DataFrame(schema=_NONE[kind])
    table = table_of({**heads, **columns}, kind)
    # A column of which no run has a value, such as round trip times that nobody recorded, is one of numbers all the same.
    return table.with_columns(pl.col(pl.Null).cast(pl.Float64))


def _with_axes(table: pl.DataFrame, variants: Sequence[Variant], own: str) -> pl.DataFrame:
    """The axes' values before the table's columns; where names meet, the table's own column gives way."""
    axes = axes_of(variants)
    where = table["variant"]
    columns = [
        pl.Series(name, [variant.labels.get(name) for variant in variants], strict=False).gather(where) for name in axes
    ]
    return pl.DataFrame(columns + giving_way(table, axes, own).get_columns())


def giving_way(table: pl.DataFrame, axes: Sequence[str], own: str) -> pl.DataFrame:
    """The table with other names for its own columns that are called like an axis."""
    return table.rename({name: f"{own}_{name}" for name in axes if name in table.columns})


def axes_of(variants: Sequence[Variant]) -> list[str]:
    """The names of the axes of a sweep, in their order."""
    return list(dict.fromkeys(name for variant in variants for name in variant.labels))
