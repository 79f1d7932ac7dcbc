"""What a sweep keeps of a run: a row of metrics, and the counters of its flows and main links as plain columns. This
runs in the workers, once per run, so it touches arrays only; tables are made of all runs together, in ``tables.py``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailback.analysis.fairness import epsilon_fairness, jain

if TYPE_CHECKING:
    from tailback import _core

Columns = dict[str, list[Any]]
PERCENTILES = (50, 95, 99)
METRICS = (
    "throughput",
    "goodput",
    "jain",
    "epsilon",
    "mean_rtt",
    "loss_event_rate",
    "utilization",
    "loss_rate",
    "mark_rate",
    "mean_queue",
    "queueing_delay",
    "queueing_delay_p95",
)
"""Those that every run has, by name, where they make sense for it."""


def measured(raw: _core.Result, window: float, after: float) -> dict[str, Any]:
    """The record of a run.

    Args:
        raw: what the core measured.
        window: seconds from ``warm_up`` to the end, which the counters cover.
        after: bins of time series that end later belong to the window.
    """
    late = np.asarray(raw.times) > after
    flows = {name: _list(column) for name, column in raw.flows_measured.items()}
    flows |= _round_trips(raw, late)
    links = raw.links_measured
    shown = ~np.asarray(links["is_access"]) | (np.asarray(links["dropped_packets"]) > 0)
    rows = np.flatnonzero(shown)
    kept = {name: _chosen(column, rows) for name, column in links.items()}
    return {"run": _run(raw, window, late, flows), "flows": flows, "links": kept}


def _run(raw: _core.Result, window: float, late: NDArray[np.bool_], flows: Columns) -> dict[str, Any]:
    counters = raw.flows_measured
    received, good = np.asarray(counters["received_bytes"]), np.asarray(counters["goodput_bytes"])
    sent = float(np.sum(np.asarray(counters["sent_packets"])))
    events = float(np.sum(np.asarray(counters["recoveries"])) + np.sum(np.asarray(counters["timeouts"])))
    rtts = np.array([value for value in flows["mean_rtt"] if value is not None])
    return {
        "flow_count": int(good.size),
        "throughput": float(received.sum()) * 8.0 / window,
        "goodput": float(good.sum()) * 8.0 / window,
        "jain": jain(good) if good.size else None,
        "epsilon": epsilon_fairness(good) if good.size else None,
        "mean_rtt": float(rtts.mean()) if rtts.size else None,
        "loss_event_rate": events / sent if sent else 0.0,
        **_bottleneck(raw, window, late),
        **_messages(raw),
    }


def _bottleneck(raw: _core.Result, window: float, late: NDArray[np.bool_]) -> dict[str, Any]:
    """Metrics of the link that people mean when they name none, chosen as ``Result.bottleneck`` does."""
    links = raw.links_measured
    names = list(links["name"])
    watched = [names.index(name) for name in raw.link_series] or list(range(len(names)))
    columns = {name: np.asarray(links[name]) for name in links if name not in {"name", "from", "to"}}
    ranks = ("dropped_overflow_packets", "dropped_early_packets", "busy_seconds")
    chosen = max(watched, key=lambda row: (*(columns[name][row] for name in ranks), -row))
    value = {name: float(column[chosen]) for name, column in columns.items()}
    departures = value["transmitted_packets"] / window
    found: dict[str, Any] = {
        "bottleneck": names[chosen],
        "utilization": value["busy_seconds"] / window,
        "loss_rate": value["dropped_packets"] / value["arrived_packets"] if value["arrived_packets"] else 0.0,
        "mark_rate": value["marks"] / value["arrived_packets"] if value["arrived_packets"] else 0.0,
        "mean_queue": value["mean_queue_packets"],
        "queueing_delay": value["mean_queue_packets"] / departures if departures > 0 else 0.0,
    }
    series = raw.link_series.get(names[chosen])
    if series is not None and late.any() and value["rate_bits"] > 0:
        waits = np.asarray(series["queue_bytes"])[late] * (8.0 / value["rate_bits"])
        for percent, delay in zip(PERCENTILES, np.percentile(waits, PERCENTILES), strict=True):
            found[f"queueing_delay_p{percent}"] = float(delay)
    return found


def _round_trips(raw: _core.Result, late: NDArray[np.bool_]) -> Columns:
    """Mean, least and 95th percentile of the flows' round trip time samples, one per bin."""
    names = list(raw.flows_measured["name"])
    none: list[Any] = [None] * len(names)
    found: Columns = {"mean_rtt": none, "min_rtt": list(none), "rtt_p95": list(none)}
    found["mean_rtt"] = list(none)
    if not raw.flow_series or not late.any():
        return found
    samples = np.array([np.asarray(series["rtt_seconds"])[late] for series in raw.flow_series.values()])
    samples.sort(axis=1)  # What is not a number goes to the end.
    counts = np.isfinite(samples).sum(axis=1)
    where = {name: row for row, name in enumerate(names)}
    for row, name in enumerate(raw.flow_series):
        count = int(counts[row])
        if count:
            one = samples[row, :count]
            at = where[name]
            found["mean_rtt"][at] = float(one.mean())
            found["min_rtt"][at] = float(one[0])
            found["rtt_p95"][at] = float(one[min(int(0.95 * count), count - 1)])
    return found


def _messages(raw: _core.Result) -> dict[str, Any]:
    """Completion times of files and bursts that ended, in seconds."""
    ended = np.asarray(raw.messages.get("ended_seconds", ()))
    if ended.size == 0:
        return {}
    times = ended - np.asarray(raw.messages["began_seconds"])
    named = zip(PERCENTILES, np.percentile(times, PERCENTILES), strict=True)
    return {
        "messages": int(ended.size),
        "completion_time": float(times.mean()),
        **{f"completion_time_p{percent}": float(time) for percent, time in named},
    }


def _list(column: Any) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _chosen(column: Any, rows: NDArray[np.intp]) -> list[Any]:
    if isinstance(column, np.ndarray):
        listed: list[Any] = column[rows].tolist()
        return listed
    return [column[row] for row in rows]


def units() -> Mapping[str, str]:
    """The units of the metrics of a run and of the columns added to flows."""
    seconds = {f"queueing_delay_p{percent}": "s" for percent in PERCENTILES}
    seconds |= {f"completion_time_p{percent}": "s" for percent in PERCENTILES}
    return {**seconds, "min_rtt": "s", "rtt_p95": "s", "loss_event_rate": "fraction", "mark_rate": "fraction"}
