"""Runs of the library's packet-pair in the network of Figure 10, and their logs played again to the source and to the fair queue
that were written down from the memorandum. No test lives here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import polars as pl

import tailback as tb
from tailback.papers.packet_pair import scenes
from tailback.papers.packet_pair.traces import published
from tests.packet_pair_network_by_paper import FairQueue, Network, Plan
from tests.packet_pair_source_by_paper import FIRST, SECOND, SINGLE, Ack, Packet, Source

NEAR = 4.7137
"""TU from a source to the bottleneck: a number that makes acknowledgements and ticks not fall on the same moment."""
CORE = scenes.ONE_WAY - 2.0 * scenes.ACCESS
"""TU behind the bottleneck."""
RTT = 4.0 * NEAR + 2.0 * CORE + 1.2 + 0.024
"""TU: propagation, a packet over three lines, its acknowledgement over three."""
PLACES = {"first": FIRST, "second": SECOND, "single": SINGLE}


@dataclass(frozen=True)
class Case:
    """What one run has in it: who sends how much from when (TU), for how long, and the scheme's options."""

    sources: tuple[tuple[int | None, float], ...]
    end: float
    options: tuple[tuple[str, Any], ...] = ()
    buffer: int = 100
    window: int = 1000
    schedule: tuple[tuple[float, float], ...] = ()
    """From when (TU) a packet takes how long (TU)."""

    def given(self) -> dict[str, Any]:
        """The options, by name."""
        return {name: thawed(value) for name, value in self.options}


def frozen(**options: Any) -> tuple[tuple[str, Any], ...]:
    """Options that can be looked up."""
    return tuple((k, frozen(**v) if isinstance(v, Mapping) else v) for k, v in options.items())


def thawed(value: Any) -> Any:
    """The other way."""
    return {k: thawed(v) for k, v in value} if isinstance(value, tuple) else value


@cache
def run(case: Case) -> tb.Result:
    """The library's run."""
    scheme = scenes.packet_pair(**{"idle_restart": False, **case.given()})
    flows = [
        tb.flows(
            1,
            scheme,
            scenes.bulk(packets),
            name=f"{index}",
            start=f"{start:g} ms",
            transport=scenes.transport(case.window),
        )
        for index, (packets, start) in enumerate(case.sources, start=1)
    ]
    links = [scenes.BOTTLENECK, *(f"r1->d{index}" for index in range(len(flows)))]
    network = scenes.base(
        [scenes.Source(packets, start) for packets, start in case.sources],
        case.end,
        buffer=case.buffer,
        record={"links": links, "flows": "all", "bin": "100 ms", "state": True, "packets": True},
        access={"rate": f"{scenes.UPSTREAM} bit/s", "delay": f"{NEAR} ms"},
        schedule=[{"at": f"{at} ms", "rate": f"{round(scenes.RATE / service)} bit/s"} for at, service in case.schedule],
    )
    return network.with_flows(flows).run()


def by_paper(case: Case, estimator: Callable[[], Callable[[float, float], float]], **fields: Any) -> Network:
    """The same run in the memorandum's network, with the library's choices where there is one unless ``fields`` say otherwise."""
    setpoint = case.given().get("setpoint", {}).get("packets")
    own = {"at_once": True, "per_round": True, "window": case.window, "rtt": RTT, "near": NEAR, **fields}
    plans = [
        Plan(
            start=start,
            packets=math.inf if packets is None else packets,
            setpoint=5.0 if setpoint is None else setpoint,
            probing=setpoint is None,
            **own,
        )
        for packets, start in case.sources
    ]
    return Network(plans, case.end, buffers=case.buffer, changes=case.schedule, estimator=estimator).run()


def told(result: tb.Result, source: int) -> list[tuple[float, float, float, float, float]]:
    """What the controller published with each pair: time, spacing and service time in TU, queue and setpoint in packets."""
    columns = [published(result, name, source) for name in ("spacing", "service_rate", "backlog", "setpoint")]
    rows = zip(columns[0].times, *(column.values for column in columns), strict=True)
    return [(time, spacing, 1.0 / rate, queue, setpoint) for time, spacing, rate, queue, setpoint in rows]


def sent_by(result: tb.Result, source: int) -> list[tuple[float, int, bool]]:
    """When (TU) a source sent which packet, and whether again."""
    own = result.packets.filter(
        (pl.col("flow") == f"{source}") & (pl.col("event") == "sent") & (pl.col("kind") == "data")
    )
    rows = own.select("time", "number", "retransmitted").iter_rows()
    return [(time / scenes.TU, number, again) for time, number, again in rows]


def served_by(result: tb.Result, source: int) -> list[float]:
    """When (TU) the bottleneck had written a source's packets."""
    own = result.packets.filter((pl.col("link") == f"r1->d{source - 1}") & (pl.col("event") == "offered"))
    return (own["time"] / scenes.TU - CORE).to_list()


@dataclass
class Replayed:
    """A source that was told all that one of the library's heard, and sent when that did."""

    source: Source
    gaps: list[tuple[float, float]] = field(default_factory=list)
    """Between pairs: as they left, and as the source's rate has it (TU)."""
    repeats: list[tuple[int, int | None]] = field(default_factory=list)
    """Packets that were sent again: which, and which the source had first in its queue."""


def replay(result: tb.Result, index: int, until: float = math.inf, **fields: Any) -> Replayed:
    """The log of one flow, event by event, to a time in TU."""
    now = 0.0
    source = Source(0, lambda: now, lambda _, __: None, lambda _: None, busy=True, **fields)
    found = Replayed(source)
    own = result.packets.filter((pl.col("flow") == f"{index}") & pl.col("event").is_in(["sent", "delivered"]))
    under_way: list[tuple[Packet, bool]] = []
    arrived: list[tuple[Packet, bool]] = []
    loaded: tuple[float, float] | None = None
    for time, event, number, kind, pair, again in own.select(
        "time", "event", "number", "kind", "pair", "retransmitted"
    ).iter_rows():
        now = time / scenes.TU
        if now > until:
            break
        if kind == "data" and event == "sent":
            if again:
                found.repeats.append((number, source.again[0] if source.waiting() and source.again else None))
                source.again.remove(number)
            if pair == "first" and loaded:
                found.gaps.append((now - loaded[0], loaded[1]))
            under_way.append((source.left(number, PLACES[pair]), again))
            loaded = (now, 2.0 / source.rate) if pair == "second" and source.rate else None
        elif kind == "data":
            # Nothing is overtaken: what was sent before and is not here was lost.
            while under_way[0][0].number != number:
                under_way.pop(0)
            arrived.append(under_way.pop(0))
        elif event == "delivered":
            packet, repeated = arrived.pop(0)
            last = number - 1
            source.ack(Ack(last, packet.number - last, packet.id, packet.place, packet.born, repeated))
    return found


@dataclass
class Served:
    """What the bottleneck did that the memorandum's would not have done."""

    packets: int = 0
    lost: int = 0
    out_of_turn: list[tuple[float, float]] = field(default_factory=list)
    """Finishing numbers: of the packet served, and the least there was."""
    not_longest: list[tuple[int, set[int]]] = field(default_factory=list)
    """Who lost, and who had the longest queues."""


def bottleneck(result: tb.Result, sources: int, buffers: int) -> Served:
    """Arrivals, departures and losses of the log, as the memorandum's fair queue would take them."""
    queue, found = FairQueue(1.0, buffers), Served()
    sent = result.packets.filter(pl.col("event").is_in(["offered", "dropped"]))
    behind = {f"r1->d{index}": index for index in range(sources)}
    events: list[tuple[float, int, str, int, int]] = []
    for time, event, flow, link, number in sent.select("time", "event", "flow", "link", "number").iter_rows():
        source, at = int(flow) - 1, time / scenes.TU
        if link == scenes.BOTTLENECK:
            events.append((at, 1 if event == "offered" else 2, event, source, number))
        elif link in behind and event == "offered":
            # It was chosen when its transmission began.
            events.append((at - CORE - 1.0, 3, "chosen", source, number))
    for at, _, event, source, number in sorted(events, key=lambda it: (round(it[0], 6), it[1])):
        if event == "offered":
            queue.join(at, Packet(source, number, 0, 0, at))
        elif event == "dropped":
            longest = queue.longest()
            found.lost += 1
            if source not in longest:
                found.not_longest.append((source, longest))
            queue.lose(source)
        else:
            queue.advance(at)
            finish = queue.queues[source].pop(0)[0]
            least = min([finish, *(waiting[0][0] for waiting in queue.queues.values() if waiting)])
            found.packets += 1
            if finish > least + 1e-6:
                found.out_of_turn.append((finish, least))
    return found
