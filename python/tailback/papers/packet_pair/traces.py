"""Traces of the base scenario: a conversation's own queue at the bottleneck, and what its controller published. Judging
them is the items' business."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tailback.papers.packet_pair.scenes import ACCESS, BOTTLENECK, ONE_WAY, PACKET, RATE, TU

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailback.results import Result


class Steps(NamedTuple):
    """A step function of time: ``values[i]`` holds from ``times[i]`` on."""

    times: NDArray[np.float64]
    """In TU."""
    values: NDArray[np.float64]

    def at(self, times: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """The values at these times; not a number before the first step."""
        index = np.searchsorted(self.times, np.atleast_1d(times), side="right") - 1
        return np.where(index >= 0, self.values[np.maximum(index, 0)], np.nan)

    def between(self, begin: float, end: float) -> Steps:
        """The part of it from ``begin`` to before ``end``, with the value that holds at its beginning."""
        inside = (self.times > begin) & (self.times < end)
        first = self.at(begin)
        return Steps(np.concatenate([[begin], self.times[inside]]), np.concatenate([first, self.values[inside]]))

    def mean(self, begin: float, end: float) -> float:
        """The time average."""
        part = self.between(begin, end)
        lengths = np.diff(np.concatenate([part.times, [end]]))
        return float(np.sum(lengths * part.values) / (end - begin))


def numbers(result: Result, source: int = 1) -> tuple[Steps, Steps]:
    """The numbers of the packets that a source sent, retransmissions included, and of the acknowledgements that it got.

    Needs the packet log of any link.
    """
    own = result.packets.filter(pl.col("flow") == f"{source}")
    sent = own.filter((pl.col("event") == "sent") & (pl.col("kind") == "data"))
    acked = own.filter((pl.col("event") == "delivered") & (pl.col("kind") == "ack"))
    data, acks = (Steps(rows["time"].to_numpy() / TU, rows["number"].to_numpy() * 1.0) for rows in (sent, acked))
    return data, acks


def own_queue(result: Result, source: int = 1) -> Steps:
    """Packets of one source at the bottleneck, the one in service included.

    Needs the packet log of the bottleneck and of the link behind it, see :func:`logged`, and ends a propagation delay
    before the run does.
    """
    packets = result.packets.filter(pl.col("flow") == f"{source}")
    bottleneck = packets.filter(pl.col("link") == BOTTLENECK)
    offered = bottleneck.filter(pl.col("event") == "offered")["time"].to_numpy()
    dropped = bottleneck.filter(pl.col("event") == "dropped")["time"].to_numpy()
    behind = (pl.col("link") == f"r1->d{source - 1}") & (pl.col("event") == "offered")
    # A packet reaches the next link when the bottleneck's propagation is over.
    served = packets.filter(behind)["time"].to_numpy() - (ONE_WAY - 2 * ACCESS) * TU
    times = np.concatenate([offered, dropped, served])
    changes = np.concatenate([np.ones(len(offered)), -np.ones(len(dropped) + len(served))])
    # A packet that is dropped on arrival was never in the queue: departures first.
    order = np.lexsort((changes, np.round(times, 12)))
    # Who is served in the last moments has not reached the next link when the run ends.
    known = times[order] <= result.duration - ONE_WAY * TU
    return Steps(times[order][known] / TU, np.cumsum(changes[order])[known])


def logged(source: int = 1) -> list[str]:
    """The links whose packets must be recorded for :func:`own_queue`."""
    return [BOTTLENECK, f"r1->d{source - 1}"]


def published(result: Result, name: str, source: int = 1) -> Steps:
    """What a controller published: ``spacing`` in TU, ``backlog`` and ``setpoint`` in packets, ``service_rate`` in packets
    per TU."""
    rows = result.state.filter((pl.col("flow") == f"{source}") & (pl.col("name") == name))
    scale = {"spacing": 1.0 / TU, "service_rate": 1.0 / RATE}.get(name, 1.0 / PACKET)
    return Steps(rows["time"].to_numpy() / TU, rows["value"].to_numpy() * scale)


def sending_rate(result: Result, source: int = 1) -> Steps:
    """The directed rate in packets per TU, bin by bin; 0 before there is one."""
    series = result.series(flow=f"{source}")
    rates = series["directed_rate"].fill_null(0.0).fill_nan(0.0).to_numpy()
    return Steps(series["time"].to_numpy() / TU, rates / RATE)
