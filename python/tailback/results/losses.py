"""Losses of one run as events rather than packets: how often congestion struck, and whom it struck together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tailback.calls import checked_call
from tailback.errors import refused, unknown
from tailback.results.unrecorded import expect_packets_recorded

if TYPE_CHECKING:
    from tailback.results.result import Result

_ANSWERS = ("ack", "report")
"""Kinds of packets that receivers send."""


@checked_call
def loss_event_rate(result: Result) -> NDArray[np.float64]:
    """Per flow, loss events over packets sent, from ``warm_up`` to the end (RFC 5166 §2.1.3: losses within a round trip
    time are one event). An event is a recovery episode or an expiry of the retransmission timer, as the sender saw it;
    0 for flows that sent nothing."""
    flows = result.flows
    events = (flows["recoveries"] + flows["timeouts"]).to_numpy().astype(np.float64)
    sent = flows["sent_packets"].to_numpy().astype(np.float64)
    rates: NDArray[np.float64] = np.divide(events, sent, out=np.zeros_like(events), where=sent > 0)
    return rates


@checked_call
def loss_events(result: Result, link: str | None = None, span: float | None = None) -> pl.DataFrame:
    """The loss events at a link (the bottleneck where none is named), from ``warm_up`` on: a drop of any flow's packet, and
    those that follow within ``span`` seconds of it, the mean round trip time by default (as RFC 5348 §5.2 joins one
    flow's losses). One row per event: ``began``, ``ended`` in seconds, ``packets`` lost, ``flows`` that lost any
    (RFC 7928 §2.4).

    Raises:
        NotFoundError: where packets were not recorded, or there is no such link.
        ArgumentError: for a span that is none.
    """
    if span is not None and not span >= 0.0:
        raise refused("span", span, "seconds, at least 0")
    if link is not None and link not in (known := result.links["link"]):
        raise unknown("link", link, known)
    expect_packets_recorded(result)
    packets = result.packets
    name = result.shown_link if link is None else link
    return _events(result, packets.filter(pl.col("link") == name), span)


def _events(result: Result, packets: pl.DataFrame, span: float | None) -> pl.DataFrame:
    """The events among these packets of a link."""
    drops = packets.filter((pl.col("event") == "dropped") & (pl.col("time") > result.warm_up))
    apart = span if span is not None else _mean_round_trip(result)
    return (
        drops.with_columns(pl.Series("number", _numbered(drops["time"].to_numpy(), apart), dtype=pl.Int64))
        .group_by("number", maintain_order=True)
        .agg(
            pl.col("time").min().alias("began"),
            pl.col("time").max().alias("ended"),
            pl.len().alias("packets"),
            pl.col("flow").n_unique().alias("flows"),
        )
        .drop("number")
    )


@checked_call
def loss_synchronisation(result: Result, link: str | None = None, span: float | None = None) -> float:
    """The share of a link's flows, those with packets there, that lose one in a loss event, averaged over events
    (RFC 7928 §2.4): 1 where all of them lose together. Acknowledgements and reports that come back through the link are none
    of its flows' packets. Events as in :func:`loss_events`, of the others alone; not a number without events.

    Raises:
        KeyError: where packets were not recorded.
    """
    loss_events(result, link, span)  # Which says what is wrong with its arguments.
    name = result.shown_link if link is None else link
    there = result.packets.filter(pl.col("link") == name)
    if "kind" in there.columns:  # Results of the first format do not say.
        there = there.filter(~pl.col("kind").cast(pl.String).is_in(_ANSWERS))
    mean = _events(result, there, span)["flows"].mean()
    # Flows of other paths cannot lose here.
    return mean / there["flow"].n_unique() if isinstance(mean, float) else float("nan")


def _numbered(times: NDArray[np.float64], span: float) -> NDArray[np.int64]:
    """The number of each drop's event: an event takes in what lies within ``span`` seconds of its first drop."""
    numbers = np.zeros(times.size, dtype=np.int64)
    first = 0
    while first < times.size:
        after = int(np.searchsorted(times, times[first] + span, side="right"))
        numbers[after:] += 1
        first = after
    return numbers


def _mean_round_trip(result: Result) -> float:
    mean = result.flows["mean_rtt"].drop_nulls().mean()
    spare = result.flows["round_trip"].drop_nulls().mean()
    return float(mean) if isinstance(mean, float) else float(spare) if isinstance(spare, float) else 0.1
