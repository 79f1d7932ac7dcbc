"""What the items of this paper share: its packets, routers with two FIFO lanes, AVD routers, and averages over intervals
of a run. What an item sets up and judges is in its own file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from tailback import units
from tailback.papers.item import Parameter

if TYPE_CHECKING:
    from tailback.results import Result
    from tailback.scenario._models import Flow

PACKET = 1000
"""Bytes: Table I."""
TARGET = 3
"""Packets: Table I."""
LANES: Mapping[str, Any] = {"name": "priority"}
"""Two FIFO lanes, the out-of-band one first: §IV-B.1."""
TRANSPORT: Mapping[str, Any] = {"segment_size": units.size(PACKET), "initial_window": "2 packets"}

COMMON = (
    Parameter("packets", "1000 B on the wire, header included", "stated", "Table I"),
    Parameter("target accumulation a*", "3 packets", "stated", "Table I"),
    Parameter("κ", "0.5", "stated", "Table I"),
    Parameter("routers", "two FIFO lanes by strict priority", "stated", "§IV-B.1"),
    Parameter(
        "slow start",
        "2 packets, doubling every other round trip until 1 packet is queued",
        "inferred",
        "the paper is silent; TCP Vegas's, on which it builds",
    ),
    Parameter("average of the egress rate", "gain 1/2, once per round trip", "inferred", "“exponentially weighted”"),
)
"""Parameters of every item with Monaco."""


AVD = (
    Parameter("AVD's target utilization", "0.98", "stated", "§V-A"),
    Parameter("AVD's gain", "1", "inferred", "not given; Kunniyur and Srikant's 0.15 takes 7 s to find the capacity"),
    Parameter("AVD's lanes", "none: virtual delay in a plain FIFO", "inferred", "§VI: largely no need for two queues"),
)
"""Parameters of AVD routers."""


def avd(target: float = 0.98, gain: float = 1.0) -> dict[str, Any]:
    """An AVD router's queue."""
    return {"name": "avd", "target": target, "gain": gain}


def link(start: str, end: str, rate: float, delay: float, **fields: Any) -> dict[str, Any]:
    """A link with two lanes and, unless said otherwise, room for everything; bit/s and seconds."""
    common = {"from": start, "to": end, "rate": units.rate(rate), "delay": units.time(delay)}
    return {**common, "buffer": "unlimited", "queue": LANES, **fields}


def packets(count: float) -> str:
    """A written target accumulation."""
    return f"{count:g} packets"


def flow(name: str, scheme: str | Mapping[str, Any], sender: str, receiver: str, **fields: Any) -> Flow:
    """One endless flow."""
    import tailback as tb

    return tb.flows(1, scheme, name=name, from_=sender, to=receiver, **{"transport": TRANSPORT, **fields})


def between(table: pl.DataFrame, begin: float, end: float) -> pl.DataFrame:
    """The bins of a time series that begin at or after ``begin`` and end at or before ``end``, in seconds."""
    times = table["time"].unique().sort()
    width = float(times[0])
    return table.filter((pl.col("time") > begin + 0.5 * width) & (pl.col("time") < end + 0.5 * width))


def goodputs(result: Result, begin: float, end: float) -> dict[str, float]:
    """Mbit/s per flow over an interval."""
    table = between(result.flow_series, begin, end).group_by("flow", maintain_order=True).agg(pl.col("goodput").mean())
    return {name: rate / 1e6 for name, rate in table.iter_rows()}


def mean_of(values: Iterable[float]) -> float:
    """The mean."""
    listed = list(values)
    return sum(listed) / len(listed)


def utilization(result: Result, name: str, begin: float, end: float) -> float:
    """The part of an interval that a link transmitted."""
    series = between(result.series(link=name), begin, end)
    rate = float(result.links.filter(pl.col("link") == name)["rate"][0])
    return float(series["throughput"].mean()) / rate  # type: ignore[arg-type]


def queue(result: Result, name: str, begin: float, end: float) -> float:
    """Waiting packets of a link on average over an interval."""
    return float(between(result.series(link=name), begin, end)["mean_queue"].mean())  # type: ignore[arg-type]


def drops(result: Result, name: str, begin: float, end: float) -> int:
    """Packets that a link dropped in an interval."""
    return int(between(result.series(link=name), begin, end)["dropped_packets"].sum())
