"""What the items of this paper share: its packets, routers with two FIFO lanes, AVD routers, and averages over intervals
of a run. What an item sets up and judges is in its own file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from tailback import units
from tailback.analysis import columns
from tailback.papers.item import Parameter

if TYPE_CHECKING:
    from tailback.results import Result
    from tailback.scenario import Scenario
    from tailback.scenario._models import Flow

PACKET = 1000
"""Bytes: Table I."""
TARGET = 3
"""Packets: Table I."""
LANES: Mapping[str, Any] = {"name": "priority"}
"""Two FIFO lanes, the out-of-band one first: §IV-B.1."""
SLOW_START: Mapping[str, Any] = {"segment_size": units.size(PACKET), "initial_window": "2 packets"}
"""A transport whose flows begin with their scheme's slow start."""
TRANSPORT: Mapping[str, Any] = {**SLOW_START, "initial_ssthresh": "2 packets"}
"""One whose flows follow their law from the first packet."""

COMMON = (
    Parameter("packets", "1000 B on the wire, header included", "stated", "Table I"),
    Parameter("target accumulation a*", "3 packets", "stated", "Table I"),
    Parameter("κ", "0.5", "stated", "Table I"),
    Parameter("routers", "two FIFO lanes by strict priority", "stated", "§IV-B.1"),
    Parameter(
        "start",
        "2 packets, and equation 10 from there, without slow start",
        "inferred",
        "§IV-B.2 has no other rule; in Fig. 9(f) a long flow takes about 10 s, as 1.5 packets per round trip would have it; "
        "of Fig. 7's losses none is where flows start",
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


def avd() -> dict[str, Any]:
    """An AVD router's queue."""
    return {"name": "avd", "target": 0.98, "gain": 1.0}


def link(start: str, end: str, rate: float, delay: float, **fields: Any) -> dict[str, Any]:
    """A link with two lanes and, unless said otherwise, room for everything; bit/s and seconds."""
    common = {"from": start, "to": end, "rate": units.rate(rate), "delay": units.time(delay)}
    return {**common, "buffer": "unlimited", "queue": LANES, **fields}


def chain(rate: float, delay: float, queues: Sequence[Mapping[str, Any]], **fields: Any) -> list[dict[str, Any]]:
    """Bottlenecks in line between routers ``r0``, ``r1``, …, one per queue; bit/s and seconds."""
    return [link(f"r{hop}", f"r{hop + 1}", rate, delay, queue=queue, **fields) for hop, queue in enumerate(queues)]


def hops(count: int) -> list[str]:
    """The names of a chain's links."""
    return [f"r{hop}->r{hop + 1}" for hop in range(count)]


def packets(count: float) -> str:
    """A written target accumulation."""
    return f"{count:g} packets"


class Ends(NamedTuple):
    """One endless flow between two routers, over access links of its own."""

    name: str
    first: str
    last: str
    scheme: str | Mapping[str, Any] = "monaco"
    near: float = 1e-3
    """Seconds: the propagation delay of the sender's access link."""
    far: float = 1e-3
    """And of the receiver's."""
    fields: Mapping[str, Any] = {}
    """Further fields of the flow."""


def scenario(
    name: str,
    routers: Sequence[Mapping[str, Any]],
    ends: Iterable[Ends],
    *,
    access: float,
    seconds: float,
    record: Mapping[str, Any],
    others: Sequence[Flow] = (),
) -> Scenario:
    """Links between routers, flows over them, their access links at a rate in bit/s; and ``others``, whose links are
    among ``routers``."""
    import tailback as tb

    links, flows = [*routers], []
    for end in ends:
        near, far = f"{end.name}-s", f"{end.name}-d"
        links += [link(near, end.first, access, end.near), link(end.last, far, access, end.far)]
        flows.append(flow(end.name, end.scheme, near, far, **end.fields))
    return tb.graph(*links, name=name, duration=units.time(seconds), flows=[*flows, *others], record=record)


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
    return columns.mean(series["throughput"]) / rate


def queue(result: Result, name: str, begin: float, end: float) -> float:
    """Waiting packets of a link on average over an interval."""
    return columns.mean(between(result.series(link=name), begin, end)["mean_queue"])


def drops(result: Result, name: str, begin: float, end: float) -> int:
    """Packets that a link dropped in an interval."""
    return int(between(result.series(link=name), begin, end)["dropped_packets"].sum())
