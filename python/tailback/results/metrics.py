"""What is computed from a result, by the field's definitions. Each says its definition, its window and its source; none
reads anything but the result's tables.

The window of counters is from ``warm_up`` to the end of the run, that of time series what the caller asks for. Bins of
a series are labelled by their ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from tailback.analysis.fairness import jain
from tailback.calls import checked_call
from tailback.errors import refused, unknown
from tailback.results import formulas
from tailback.results.bins import after_warm_up, bins_in

if TYPE_CHECKING:
    from tailback.results.result import Result

Floats = NDArray[np.float64]
QUEUES_WITHIN = {"classic_seconds": "classic", "l4s_seconds": "l4s"}
"""Columns of state that are a queue's delay, by the queue."""


@checked_call
def throughput(result: Result) -> Floats:
    """Bit/s per flow: bytes on the wire that reached the receiver, headers and duplicates included, over the window
    (RFC 5166 §2.1.1)."""
    return result.flows["throughput"].to_numpy()


@checked_call
def goodput(result: Result) -> Floats:
    """Bit/s per flow: bytes of data delivered to the application's side in order, each once, over the window
    (RFC 5166 §2.1.1). Bytes are counted on the wire, headers included, so that goodput never exceeds throughput for
    reasons of bookkeeping."""
    return result.flows["goodput"].to_numpy()


@checked_call
def utilization(result: Result, link: str | None = None) -> float:
    """The part of the window that a link was transmitting, 0 to 1; of the bottleneck where none is named. Under a delivery trace
    it is the part of the opportunities that was used. Where a schedule changes the rate, this is a part of the time; of what
    the link could have carried, the part is ``transmitted_bytes`` over ``capacity_bytes``, two columns of ``result.links``."""
    return float(_link(result, link)["utilization"])


@checked_call
def loss_rate(result: Result, link: str | None = None) -> float:
    """Packets dropped at a link for any reason over packets offered to it, over the window."""
    return float(_link(result, link)["loss_rate"])


@checked_call
def mean_queue(result: Result, link: str | None = None) -> float:
    """Packets waiting at a link, not counting the one in transmission: the exact average over the window's time."""
    return float(_link(result, link)["mean_queue"])


@checked_call
def queueing_delay(result: Result, link: str | None = None) -> float:
    """Seconds that a packet waited at a link on average, before its transmission: the mean queue over the rate of
    departures (Little's law), over the window."""
    return float(_link(result, link)["queueing_delay"])


@checked_call
def jain_index(result: Result | ArrayLike) -> float:
    """Jain's index of the flows' goodputs over the window (RFC 5166 §2.3), or of a list of rates: 1 when all are equal; not a
    number where nobody received anything, as of nothing there are no shares."""
    # Not asked by its class, whose file imports this one.
    is_result = isinstance(getattr(result, "flows", None), pl.DataFrame)
    shares = goodput(cast("Result", result)) if is_result else np.asarray(result, dtype=np.float64).ravel()
    return jain(shares) if shares.any() else float("nan")


def _percentage(argument: str, percent: float) -> None:
    """Refuses what is no percentage. Between 0 and 1 a part of one is meant nearly always, and the answer, nearly the least
    delay, would look like a good one."""
    if 0.0 < percent < 1.0:
        raise refused(argument, percent, f"0, or a number from 1 to 100 (did you mean {100.0 * percent:g}?)")
    if not 0.0 <= percent <= 100.0:
        raise refused(argument, percent, "a number from 0 to 100")


@checked_call
def queueing_delay_percentile(result: Result, percent: float, link: str | None = None) -> float:
    """Seconds: a percentile over time of the delay that a link's queue would impose, how long what waits at the end of each
    bin takes to leave by the rates and opportunities to come. The window is from ``warm_up`` on; the resolution is the bin's.
    ``percent`` is 95 for the 95th percentile; 0.95 is refused.

    Raises:
        KeyError: for a link without a time series.
        ArgumentError: for a ``percent`` that is none, or looks like a part of one.
    """
    _percentage("percent", percent)
    row = _link(result, result.shown_link if link is None else link)
    series = result.series(link=str(row["link"]), after_warm_up=True)
    return float(np.percentile(delays_of_series(series, float(row["rate"])), percent))


@checked_call
def delays_of_series(series: pl.DataFrame, rate: float) -> Floats:
    """The delay that a link's queue would impose at the end of each bin of its series, in seconds; ``rate`` in bit/s."""
    columns: dict[str, NDArray[Any]] = {
        name: series[name].to_numpy() for name in ("queue_bytes", "drain") if name in series.columns
    }
    return formulas.queueing_delays(columns, rate)


@checked_call
def has_queues_within(result: Result) -> bool:
    """Whether a link with a time series told of the delays of queues of its own."""
    series = result.link_series
    return any(name in series.columns and series[name].null_count() < series.height for name in QUEUES_WITHIN)


@checked_call
def delays_by_queue(result: Result) -> Iterator[tuple[str, str, Floats, Floats]]:
    """Of each queue of the links with a time series: link, queue, time and delay at the end of each bin, in seconds.
    What queues there are, :func:`queue_delays` says."""
    # In one pass: most links are hosts' own, which have none, and to look for each would take longer with their square.
    found = result.link_series.partition_by("link", as_dict=True) if result.link_series.height else {}
    for link, rate in result.links.select("link", "rate").rows():
        series = found.get((link,))
        if series is None:
            continue
        named = [name for name in QUEUES_WITHIN if name in series.columns and series[name].null_count() < series.height]
        for name in named:
            told = series.filter(pl.col(name).is_not_null())
            yield link, QUEUES_WITHIN[name], told["time"].to_numpy(), told[name].to_numpy()
        if not named:
            yield link, "all", series["time"].to_numpy(), delays_of_series(series, float(rate))


@checked_call
def queue_delays(result: Result, percents: tuple[float, ...] = (50.0, 99.0)) -> pl.DataFrame:
    """Seconds: percentiles over time of the delay of each queue of the links with a time series, from ``warm_up`` on: a row
    per ``link`` and ``queue``, a column ``p50``, ``p99`` … per percentile. A link whose discipline tells the delays of
    queues of its own (``record.queue_state``; DualPI2's ``classic`` and ``l4s``) has a row for each, any other link one row,
    ``all``, by :func:`queueing_delay_percentile`. The resolution is the bin's.

    Raises:
        ArgumentError: for one of ``percents`` that is none, or looks like a part of one.
    """
    for percent in percents:
        _percentage("percents", percent)
    rows: list[dict[str, Any]] = []
    for link, queue, time, delays in delays_by_queue(result):
        late = delays[after_warm_up(result, time)]
        if late.size:
            found = {f"p{percent:g}": float(np.percentile(late, percent)) for percent in percents}
            rows.append({"link": link, "queue": queue} | found)
    schema = {"link": pl.String, "queue": pl.String} | {f"p{percent:g}": pl.Float64 for percent in percents}
    return pl.DataFrame(rows, schema=schema)


@checked_call
def coefficient_of_variation(result: Result, flow: str, scale: float) -> float:
    """Standard deviation over mean of a flow's goodput in intervals of ``scale`` seconds, in whole bins, from ``warm_up`` on
    (RFC 5166 §2.2); 0 is perfectly smooth.

    Raises:
        KeyError: for a flow without a time series.
        ValueError: for a scale that is no multiple of a bin, or longer than half the window.
    """
    series = result.series(flow=flow, after_warm_up=True)["goodput"].to_numpy()
    per, half = bins_in(result, scale), longest_scale(result, series.size)
    if per is None or scale > half:
        raise refused(
            "scale",
            scale,
            f"seconds, from the bin, {result.bin:g}, to half the window, {half:g}, and a multiple of the bin",
        )
    means = series[: series.size // per * per].reshape(-1, per).mean(axis=1)
    return float(means.std(ddof=1) / means.mean()) if means.mean() > 0 else float("nan")


@checked_call
def longest_scale(result: Result, bins: int) -> float:
    """Seconds: the longest time in whole bins of which so many bins hold two, except for the rounding of sums."""
    return result.bin * (bins // 2) * (1.0 + 1e-12)


@checked_call
def summary(result: Result) -> pl.DataFrame:
    """One line: the metrics that people ask for first, of all flows together and of the bottleneck."""
    numeric = {name: result.flows[name].to_numpy() for name in formulas.SUMMED}
    whole = formulas.of_flows(numeric, result.duration - result.warm_up)
    link = _link(result, None)
    return pl.DataFrame(
        {
            "flows": [result.flows.height],
            **{name: [whole[name]] for name in ("throughput", "goodput", "jain", "mean_rtt")},
            "bottleneck": [link["link"]],
            **{name: [link[name]] for name in ("utilization", "loss_rate", "mean_queue", "queueing_delay")},
        },
        schema_overrides=dict.fromkeys(("jain", "mean_rtt"), pl.Float64),
    )


def _link(result: Result, name: str | None) -> dict[str, Any]:
    table = result.links
    row = table.filter(pl.col("link") == (result.bottleneck if name is None else name))
    if row.is_empty():
        raise unknown("link", name, table["link"])
    return row.row(0, named=True)
