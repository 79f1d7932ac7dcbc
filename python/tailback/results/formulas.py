"""What is computed from recorded columns: each formula once, with its unit and label, for results and sweeps alike.
Formulas take NumPy columns by their names and the window that counters cover, in seconds; tables are made elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailback.analysis.fairness import epsilon_fairness, jain

Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]


class Formula(NamedTuple):
    """A column that is computed from others of its table."""

    name: str
    unit: str
    label: str
    of: Callable[[Columns, float | Floats], Floats]


class Metric(NamedTuple):
    """A figure of a run or flow that is not a column's alone."""

    name: str
    unit: str
    label: str


def _rate(counter: str) -> Callable[[Columns, float | Floats], Floats]:
    def of(columns: Columns, window: float | Floats) -> Floats:
        rate: Floats = columns[counter] * 8.0 / window
        return rate

    return of


def _share(some: str, whole: str) -> Callable[[Columns, float | Floats], Floats]:
    """0 where there is nothing to share."""

    def of(columns: Columns, _window: float | Floats) -> Floats:
        return _ratio(columns[some], columns[whole])

    return of


def _queueing_delay(links: Columns, window: float | Floats) -> Floats:
    # Little's law; nobody waited where nobody came.
    return _ratio(links["mean_queue"], links["transmitted_packets"] / window)


def _utilization(links: Columns, window: float | Floats) -> Floats:
    used: Floats = links["busy"] / window
    traced = links.get("is_traced")
    if traced is not None and np.any(traced):  # Opportunities take no time: what was used of them counts.
        used = np.where(traced, _ratio(links["transmitted_bytes"], links["capacity_bytes"]), used)
    # A whole number of nanoseconds of transmission may begin before a window: a part of a part in 10^15 too much.
    return np.minimum(used, 1.0)


def _ratio(some: NDArray[Any], whole: NDArray[Any]) -> Floats:
    ratio: Floats = np.divide(some, whole, out=np.zeros(len(some)), where=np.asarray(whole) > 0)
    return ratio


FLOWS: Final = (
    Formula("throughput", "bit/s", "throughput", _rate("received_bytes")),
    Formula("goodput", "bit/s", "goodput", _rate("goodput_bytes")),
    Formula("app_goodput", "bit/s", "goodput without headers", _rate("app_bytes")),
    Formula("retransmission_rate", "fraction", "retransmission rate", _share("retransmitted_packets", "sent_packets")),
)
LINKS: Final = (
    Formula("throughput", "bit/s", "throughput", _rate("transmitted_bytes")),
    Formula("utilization", "fraction", "utilization", _utilization),
    Formula("loss_rate", "fraction", "loss", _share("dropped_packets", "arrived_packets")),
    Formula("queueing_delay", "s", "mean queueing delay", _queueing_delay),
)
MARKS: Final = (Formula("mark_rate", "fraction", "marks", _share("marks", "arrived_packets")),)
"""What sweeps say of a run's bottleneck beside columns of links."""
AGGREGATES: Final = (Formula("throughput", "bit/s", "throughput", _rate("left_bytes")),)

_FLOWS_RATES: Final = {
    "sending_rate": "sent_bytes",
    "throughput": "received_bytes",
    "goodput": "goodput_bytes",
    "app_goodput": "app_bytes",
}
RATES: Final[Mapping[str, Mapping[str, str]]] = {
    "flow": _FLOWS_RATES,
    "aggregate": _FLOWS_RATES,
    "link": {"throughput": "transmitted_bytes"},
}
"""By kind of series, the rates that are made of what was counted in each bin."""

PERCENTILES: Final = (50, 95, 99)
COMPLETION_PERCENTILES: Final = tuple(f"completion_time_p{percent}" for percent in PERCENTILES)
OF_THE_GROUP: Final = "group_"
"""What stands before the name of a metric that a flow has of its whole group."""


def _percentiles(name: str, label: str) -> Iterable[Metric]:
    words = {50: f"median {label}"}
    return (Metric(f"{name}_p{p}", "s", words.get(p, f"{p}th percentile of {label}")) for p in PERCENTILES)


METRICS: Final[tuple[Formula | Metric, ...]] = (
    *FLOWS,
    *LINKS,
    *MARKS,
    Metric("sending_rate", "bit/s", "sending rate"),
    Metric("jain", "", "Jain's index"),
    Metric("epsilon", "", "epsilon of fairness"),
    Metric("loss_event_rate", "fraction", "loss events per packet"),
    Metric("mean_rtt", "s", "mean round trip time"),
    Metric("min_rtt", "s", "min rtt"),
    Metric("completion_time", "s", "mean completion time"),
    Metric("wall", "s", "real time that the run took"),
    *_percentiles("queueing_delay", "queueing delay"),
    *_percentiles("completion_time", "completion time"),
    *_percentiles(f"{OF_THE_GROUP}completion_time", "the group's completion time"),
)
"""All that is computed, with units and labels."""


def computed(formulas: Iterable[Formula], columns: Columns, window: float | Floats) -> dict[str, Floats]:
    """The columns that these formulas make of others, counted over a window in seconds."""
    return {formula.name: formula.of(columns, window) for formula in formulas}


def bottleneck(links: Columns, watched: NDArray[np.bool_]) -> int:
    """The row of the link that people mean when they name none: the one that dropped most packets; among equals the
    busiest, even if it is a host's own; of those the first that has a time series (``watched``)."""
    rows = np.arange(watched.size)
    for name in ("dropped_overflow_packets", "dropped_early_packets", "utilization"):
        # What is not a number, as of no time at all, is less than any.
        rank = np.nan_to_num(links[name][rows], nan=-np.inf)
        rows = rows[rank == rank.max()]
    seen = rows[watched[rows]]
    return int(seen[0] if seen.size else rows[0])


def round_trips(samples: Sequence[NDArray[Any]] | NDArray[Any]) -> dict[str, Floats]:
    """Per flow, mean, least and 95th percentile of its round trip time samples, one per bin, of those that are numbers;
    not a number where there are none."""
    ordered = np.array(samples, ndmin=2)
    ordered.sort(axis=1)  # What is not a number goes to the end.
    counts = np.isfinite(ordered).sum(axis=1)
    mean, least, high = (np.full(len(samples), np.nan) for _ in range(3))
    # Flows with as many samples together: each has its own sum, in the order of its samples, as if it were alone.
    for count in np.unique(counts[counts > 0]).tolist():
        rows = np.flatnonzero(counts == count)
        some = ordered[:, :count] if rows.size == counts.size else ordered[rows, :count]
        mean[rows] = some.mean(axis=1)
        least[rows] = some[:, 0]
        # Between neighbours in proportion, as `np.percentile` has it, which would sort again.
        place = 0.95 * (count - 1)
        below = int(place)
        above = some[:, min(below + 1, count - 1)]
        high[rows] = some[:, below] + (place - below) * (above - some[:, below])
    return {"mean_rtt": mean, "min_rtt": least, "rtt_p95": high}


def queueing_delays(series: Columns, rate: float) -> Floats:
    """Per bin of a link's series, the delay that its queue would impose on the next packet, in seconds: how long what waits
    at the bin's end takes to leave, by the rates and opportunities to come; at ``rate`` where the link's own does not say."""
    at_rate: Floats = series["queue_bytes"] * 8.0 / rate
    drain = series.get("drain")
    return at_rate if drain is None else np.where(np.isnan(drain), at_rate, drain)


SUMMED: Final = ("received_bytes", "goodput_bytes", "sent_packets", "recoveries", "timeouts", "mean_rtt")
"""What :func:`of_flows` reads."""


def of_flows(flows: Columns, window: float) -> dict[str, float | None]:
    """What all flows did together in a window in seconds."""
    good, sent = flows["goodput_bytes"], float(flows["sent_packets"].sum())
    events = float(flows["recoveries"].sum() + flows["timeouts"].sum())
    shares = good if good.size and good.any() else None  # Of nothing there are no shares.
    rtts = flows["mean_rtt"][np.isfinite(flows["mean_rtt"])]
    return {
        "throughput": float(flows["received_bytes"].sum()) * 8.0 / window,
        "goodput": float(good.sum()) * 8.0 / window,
        "jain": None if shares is None else jain(shares),
        "epsilon": None if shares is None else epsilon_fairness(shares),
        "mean_rtt": float(rtts.mean()) if rtts.size else None,
        "loss_event_rate": events / sent if sent else 0.0,
    }


def of_messages(began: NDArray[Any], ended: NDArray[Any]) -> dict[str, Any]:
    """Completion times of messages (files, bursts) with these beginnings and ends, in seconds; nothing where there are none."""
    if ended.size == 0:
        return {}
    times = ended - began
    return {
        "messages": int(ended.size),
        "completion_time": float(times.mean()),
        **completion_percentiles(times),
    }


def completion_percentiles(times: NDArray[Any]) -> dict[str, float]:
    """Percentiles of completion times, of which there are some, in seconds."""
    return dict(zip(COMPLETION_PERCENTILES, np.percentile(times, PERCENTILES).tolist(), strict=True))
