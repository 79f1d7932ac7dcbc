"""What a sweep keeps of a run: a row of metrics, and the counters of its flows and main links as plain columns. This
runs in the workers, once per run, so it touches arrays only; tables are made of all runs together, in ``tables.py``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailback.results import formulas
from tailback.results.columns import NAMES
from tailback.results.from_core import round_trips

if TYPE_CHECKING:
    from tailback import _core

OF_BOTTLENECK = ("utilization", "loss_rate", "mark_rate", "mean_queue", "queueing_delay")
METRICS = (
    "throughput",
    "goodput",
    "jain",
    "epsilon",
    "mean_rtt",
    "loss_event_rate",
    *OF_BOTTLENECK,
    "queueing_delay_p95",
)
"""Those that every run has, by name, where they make sense for it."""
OF_RUNS = tuple(
    dict.fromkeys(
        (
            *METRICS,
            *(f"queueing_delay_p{percent}" for percent in formulas.PERCENTILES),
            "completion_time",
            *formulas.COMPLETION_PERCENTILES,
        )
    )
)
"""Those that a run may have."""


_OF_QUEUES = {"queue_bytes": "queue_bytes", "drain_seconds": "drain"}


def measured(raw: _core.Result, window: float, after: float, warm_up: float) -> dict[str, Any]:
    """The record of a run.

    Args:
        raw: what the core measured.
        window: seconds from ``warm_up`` to the end, which the counters cover.
        after: bins of time series that end later belong to the window.
        warm_up: seconds; messages that begin from then on count.
    """
    late = np.asarray(raw.times) > after
    flows = {name: _list(column) for name, column in raw.flows_measured.items()}
    sampled = round_trips(raw, late)
    # One column, whatever was recorded: runs of one sweep may differ in it, and their columns are put below one another.
    by_bins = sampled.pop("rtt_p95")
    if not np.isfinite(np.asarray(raw.flows_measured["rtt_p95_seconds"], dtype=np.float64)).any():
        flows["rtt_p95_seconds"] = _told(
            by_bins
        )  # Where the run has recorded it, it is from all samples, not one per bin.
    flows |= {name: _told(of) for name, of in sampled.items()} | _messages_of_flows(
        raw, warm_up, sampled["mean_rtt"].size
    )
    links = raw.links_measured
    shown = ~np.asarray(links["is_access"]) | (np.asarray(links["dropped_packets"]) > 0)
    rows = np.flatnonzero(shown)
    kept = {name: _chosen(column, rows) for name, column in links.items()}
    run = _run(raw, window, late, sampled["mean_rtt"]) | _messages(raw, warm_up)
    return {"run": run, "flows": flows, "links": kept, "groups": _messages_of_groups(raw, warm_up)}


def _run(raw: _core.Result, window: float, late: NDArray[np.bool_], rtts: NDArray[np.float64]) -> dict[str, Any]:
    flows = _columns(raw.flows_measured, "flows") | {"mean_rtt": rtts}
    return {
        "flow_count": rtts.size,
        **formulas.of_flows(flows, window),
        **_bottleneck(raw, window, late),
    }


def _bottleneck(raw: _core.Result, window: float, late: NDArray[np.bool_]) -> dict[str, Any]:
    """Metrics of the link that people mean when they name none."""
    links, names, watched = _columns(raw.links_measured, "links"), raw.links_measured["name"], raw.watched_links
    links |= formulas.computed((*formulas.LINKS, *formulas.MARKS), links, window)
    wanted = set(watched)
    row = formulas.bottleneck(links, np.array([name in wanted for name in names]))
    one = {name: column[row : row + 1] for name, column in links.items()}
    found: dict[str, Any] = {"bottleneck": names[row], **{name: float(one[name][0]) for name in OF_BOTTLENECK}}
    rate = float(one["rate"][0])
    if names[row] in wanted and late.any() and rate > 0:
        at = watched.index(names[row]) * late.size
        series = {name: raw.link_series[key][at : at + late.size][late] for key, name in _OF_QUEUES.items()}
        waits = formulas.queueing_delays(series, rate)
        delays = np.percentile(waits, formulas.PERCENTILES)
        for percent, delay in zip(formulas.PERCENTILES, delays, strict=True):
            found[f"queueing_delay_p{percent}"] = float(delay)
    return found


def _messages(raw: _core.Result, warm_up: float) -> dict[str, Any]:
    began, ended = (np.asarray(raw.messages.get(f"{which}_seconds", ())) for which in ("began", "ended"))
    counted = began >= warm_up
    return formulas.of_messages(began[counted], ended[counted])


def _messages_of_flows(raw: _core.Result, warm_up: float, count: int) -> dict[str, list[Any]]:
    """Per flow, how many messages count and their mean completion time, from which groups have theirs."""
    flow, began, ended = (np.asarray(raw.messages.get(name, ())) for name in ("flow", "began_seconds", "ended_seconds"))
    counted = began >= warm_up
    of = flow[counted].astype(np.intp)
    number = np.bincount(of, minlength=count)
    taken = np.bincount(of, weights=(ended - began)[counted], minlength=count)
    return {
        "messages": number.tolist(),
        "completion_time": [time / many if many else None for time, many in zip(taken, number.tolist(), strict=True)],
    }


def _messages_of_groups(raw: _core.Result, warm_up: float) -> dict[str, dict[str, Any]]:
    """Per group that has messages which count, percentiles of their completion times: means of flows would not do."""
    flow, began, ended = (np.asarray(raw.messages.get(name, ())) for name in ("flow", "began_seconds", "ended_seconds"))
    counted = began >= warm_up
    names = np.asarray(_list(raw.flows_measured["group"]))[flow[counted].astype(np.intp)]
    times = (ended - began)[counted]
    return {str(name): formulas.completion_percentiles(times[names == name]) for name in np.unique(names)}


def _columns(raw: Mapping[str, Any], kind: str) -> dict[str, NDArray[Any]]:
    """The numbers of one of the core's tables under people's names."""
    return {NAMES[kind][key]: column for key, column in raw.items() if isinstance(column, np.ndarray)}


def _list(column: Any) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _told(numbers: NDArray[np.float64]) -> list[float | None]:
    """Numbers as a record has them: nothing where there is none."""
    return [None if math.isnan(number) else number for number in numbers.tolist()]


def _chosen(column: Any, rows: NDArray[np.intp]) -> list[Any]:
    if isinstance(column, np.ndarray):
        listed: list[Any] = column[rows].tolist()
        return listed
    return [column[row] for row in rows]
