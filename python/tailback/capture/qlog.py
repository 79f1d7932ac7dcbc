"""A flow's congestion state as qlog, for qvis: metrics per bin, and packets where they were recorded.

The format is qlog 0.3 (draft-ietf-quic-qlog-main-schema-02 with -quic-events-02), the one that qvis reads; the drafts
have since moved on. Our packets are no QUIC: their numbers are segment numbers, all in one number space.
"""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from tailback.calls import checked_call
from tailback.capture.pcapng import seen_at
from tailback.results.columns import RECORDED
from tailback.results.files import path_of, write_file

if TYPE_CHECKING:
    from tailback.results import Result

VERSION = "0.3"


@checked_call
def write_qlog(result: Result, path: str | Path, flow: str) -> Path:
    """Writes a flow's state: congestion window, bytes in flight, round trip times and pacing rate, one event per bin in
    which one changed; also packets sent, acknowledged and lost where ``record.packets`` was on.

    Raises:
        KeyError: for a flow without a time series.
        StorageError: where writing fails.
    """
    parts = _metrics(result.series(flow=flow)), _exchanged(result, flow), _lost(result, flow)
    events = heapq.merge(*parts, key=lambda event: event["time"])  # One by one: of millions, all take gigabytes.
    trace = {
        "title": f"{result.title}: {flow}",
        "vantage_point": {"name": flow, "type": "client"},
        "common_fields": {"time_format": "relative", "reference_time": 0, "group_id": flow, "ODCID": flow},
        "events": [],
    }
    document = {
        "qlog_version": VERSION,
        "qlog_format": "JSON",
        "title": result.title,
        "description": f"seed {result.seed}, output {result.hash}, tailback {result.versions.get('tailback', '')}",
        "traces": [trace],
    }
    target = path_of("path", path)
    write_file(target, lambda beside: _write(beside, document, events))
    return target


def _write(path: Path, document: Mapping[str, Any], events: Iterable[Mapping[str, Any]]) -> None:
    """Writes the document with these events in its trace."""
    head, opening, tail = json.dumps(document, allow_nan=False).rpartition('"events": [')
    with path.open("w", encoding="utf-8") as file:
        file.write(head + opening)
        for number, event in enumerate(events):
            file.write((", " if number else "") + json.dumps(event, allow_nan=False))
        file.write(tail)


def _metrics(series: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """``recovery:metrics_updated``, with what has changed only. Times are milliseconds."""
    told = [column for column in RECORDED["flow_series"] if column.qlog]
    known: dict[str, float] = {}
    for row in series.iter_rows(named=True):
        data: dict[str, float] = {}
        for column in told:
            value, name = row.get(column.name), column.qlog
            if value is None or math.isnan(value):
                continue
            said = value * 1e3 if column.unit == "s" else int(value)
            if known.get(name) != said:
                known[name] = data[name] = said
        if data:
            yield {"time": row["time"] * 1e3, "name": "recovery:metrics_updated", "data": data}


def _exchanged(result: Result, flow: str) -> Iterator[dict[str, Any]]:
    """What left the sender, and what reached it."""
    if result.packets.is_empty():
        return
    mine = seen_at(result, "senders").filter(pl.col("flow") == flow).select("time", "kind", "number", "size")
    highest = 0
    for row in mine.sort("time", maintain_order=True).iter_rows(named=True):
        time, header = row["time"] * 1e3, {"packet_type": "1RTT", "packet_number": row["number"]}
        if row["kind"] == "data":
            data: dict[str, Any] = {"header": header, "raw": {"length": row["size"]}, "frames": []}
            yield {"time": time, "name": "transport:packet_sent", "data": data}
        elif row["kind"] == "ack":
            # The cumulative number is the next one expected.
            frames = []
            if row["number"] > highest:
                ranges = [[highest, row["number"] - 1]]
                frames.append({"frame_type": "ack", "ack_delay": 0, "acked_ranges": ranges})
                highest = row["number"]
            data = {"header": header, "raw": {"length": row["size"]}, "frames": frames}
            yield {"time": time, "name": "transport:packet_received", "data": data}


def _lost(result: Result, flow: str) -> Iterator[dict[str, Any]]:
    if result.packets.is_empty():
        return
    dropped = result.packets.filter(
        (pl.col("event").cast(pl.String) == "dropped") & (pl.col("flow") == flow) & (pl.col("kind") == "data")
    )
    for time, number in dropped.select("time", "number").sort("time", maintain_order=True).iter_rows():
        # Why: a drop on the way, of which the schema's triggers, all of them the sender's, know nothing.
        data = {"header": {"packet_type": "1RTT", "packet_number": number}}
        yield {"time": time * 1e3, "name": "recovery:packet_lost", "data": data}
