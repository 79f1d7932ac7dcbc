"""The network of Figure 10 of the packet-pair memorandum, packet by packet and with nothing of the library: lines, one fair queue
with few buffers, sinks, and the sources of ``packet_pair_source_by_paper.py`` on it. No test lives here.

What the memorandum leaves open and this chose:

* **Fair queueing** is that of Demers, Keshav and Shenker: the packet with the lowest finishing number of the emulated round-robin
  by bits goes first. Equal numbers go in the order of arrival.
* **A full buffer** (§9.1) loses from the longest queue: its last packet, after the arriving one was let in. Of equally long
  queues it is the arriving packet's, if that is one of them. The packet on the line fills no buffer.
* **The finishing number** of a queue that lost its last packet goes back to that of the packet before.
* **The delay** of 100 units is from the start of a lone packet's transmission to its acknowledgement. Acknowledgements meet no
  queue and take no time to be written.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from tests.packet_pair_by_paper import Fuzzy
from tests.packet_pair_source_by_paper import Ack, Packet, Source

SERVICE, LINE = 1.0, 0.1
"""Time units for a packet at the bottleneck and on a source's own line."""
RTT, BUFFERS = 100.0, 100


class FairQueue:
    """A work-conserving server with a finishing number for each packet."""

    def __init__(self, service: float, buffers: float) -> None:
        self.service, self.buffers = service, buffers
        self.queues: dict[int, list[tuple[float, int, Packet]]] = {}
        self.last: dict[int, float] = {}
        self.round, self.at = 0.0, 0.0
        self.order = count()

    def advance(self, now: float) -> None:
        """The round number grows by one packet's service over the number of sources that the emulated server still serves."""
        while self.at < now:
            ahead = [finish for finish in self.last.values() if finish > self.round]
            if not ahead:
                self.at = now
                return
            span = (min(ahead) - self.round) * len(ahead) * self.service
            if self.at + span > now:
                self.round += (now - self.at) / (len(ahead) * self.service)
                self.at = now
            else:
                self.round, self.at = min(ahead), self.at + span

    def change(self, now: float, service: float) -> None:
        """The line is another from now on."""
        self.advance(now)
        self.service = service

    def put(self, now: float, packet: Packet) -> Packet | None:
        """What this costs, if anything."""
        self.join(now, packet)
        longest = self.longest()
        return self.lose(packet.source if packet.source in longest else min(longest)) if longest else None

    def join(self, now: float, packet: Packet) -> None:
        """One more."""
        self.advance(now)
        finish = max(self.last.get(packet.source, 0.0), self.round) + 1.0
        self.queues.setdefault(packet.source, []).append((finish, next(self.order), packet))
        self.last[packet.source] = finish

    def longest(self) -> set[int]:
        """The longest queues, where there is too much in all."""
        lengths = {source: len(queue) for source, queue in self.queues.items()}
        if sum(lengths.values()) <= self.buffers:
            return set()
        return {source for source, length in lengths.items() if length == max(lengths.values())}

    def lose(self, source: int) -> Packet:
        """The last of a queue."""
        finish, _, lost = self.queues[source].pop()
        self.last[source] = finish - 1.0
        return lost

    def take(self, now: float) -> Packet | None:
        """The next to be served."""
        self.advance(now)
        heads = [(queue[0], source) for source, queue in self.queues.items() if queue]
        if not heads:
            return None
        source = min(heads, key=lambda head: head[0][:2])[1]
        return self.queues[source].pop(0)[2]


@dataclass
class Plan:
    """What one source has to do, and how."""

    start: float = 0.0
    packets: float = math.inf
    setpoint: float = 5.0
    probing: bool = True
    window: float = math.inf
    rtt: float = RTT
    near: float = 0.0
    """The part of the delay between the source's line and the bottleneck."""
    per_round: bool = False
    pole: float | None = None
    at_once: bool = False
    """Whether the second of a pair is handed to the line with the first, and waits there for it; if not, it leaves at INT."""


@dataclass
class Sink:
    """Acknowledges every packet."""

    upto: int = -1
    beyond: set[int] = field(default_factory=set)

    def take(self, packet: Packet) -> Ack:
        """The acknowledgement of ``packet``."""
        self.beyond.add(packet.number)
        while self.upto + 1 in self.beyond:
            self.upto += 1
            self.beyond.discard(self.upto)
        return Ack(self.upto, packet.number - self.upto, packet.id, packet.place, packet.born)


class Network:
    """All sources at one bottleneck, run until ``end`` or until every file is there."""

    def __init__(
        self,
        plans: list[Plan],
        end: float,
        *,
        buffers: float = BUFFERS,
        service: float = SERVICE,
        line: float = LINE,
        changes: Sequence[tuple[float, float]] = (),
        estimator: Callable[[], Callable[[float, float], float]] = lambda: Fuzzy().next,
    ) -> None:
        self.now, self.end, self.order = 0.0, end, count()
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.line, self.plans = line, plans
        self.queue = FairQueue(service, buffers)
        self.serving = False
        self.changes = changes
        self.sinks = [Sink() for _ in plans]
        self.lost: list[tuple[float, int, int]] = []
        """When, of whom, and which."""
        self.served: list[tuple[float, int]] = []
        self.lengths: list[tuple[float, int, int]] = []
        """When, whose, and how many of his wait or are on the line."""
        self.here = [0] * len(plans)
        self.idle_at = [0.0] * len(plans)
        """When a source's line has written all that it has."""
        self.sources = [
            Source(
                index,
                lambda: self.now,
                self.after,
                self.transmit,
                given=plan.packets,
                window=plan.window,
                setpoint=plan.setpoint,
                probing=plan.probing,
                timeout=20.0 * plan.rtt,
                estimate=estimator(),
                per_round=plan.per_round,
                pole=plan.pole,
            )
            for index, plan in enumerate(plans)
        ]

    def change(self, service: float) -> None:
        """The bottleneck serves at another rate from now on."""
        self.queue.change(self.now, service)

    def after(self, delay: float, what: Callable[[], None]) -> None:
        """``what`` happens later."""
        if delay < math.inf:
            heapq.heappush(self.events, (self.now + delay, next(self.order), what))

    def transmit(self, packet: Packet) -> None:
        """A packet enters its source's line."""
        plan = self.plans[packet.source]
        begins = max(self.now, self.idle_at[packet.source])
        self.idle_at[packet.source] = begins + self.line
        self.after(0.0 if plan.at_once else self.line, self.sources[packet.source].free)
        self.after(begins - self.now + self.line + plan.near, lambda: self.arrive(packet))

    def arrive(self, packet: Packet) -> None:
        """At the bottleneck."""
        lost = self.queue.put(self.now, packet) if self.serving else None
        if not self.serving:
            self.queue.put(self.now, packet)
            self.serve()
        if lost is not packet:
            self.count(packet.source, 1)
        if lost is not None:
            self.lost.append((self.now, lost.source, lost.number))
            if lost is not packet:
                self.count(lost.source, -1)

    def count(self, source: int, change: int) -> None:
        """One more or less is here."""
        self.here[source] += change
        self.lengths.append((self.now, source, self.here[source]))

    def serve(self) -> None:
        """The next packet, if there is one."""
        packet = self.queue.take(self.now)
        self.serving = packet is not None
        if packet is not None:
            self.after(self.queue.service, lambda: self.leave(packet))

    def leave(self, packet: Packet) -> None:
        """A packet is through; its acknowledgement will be at the source after the rest of the delay."""
        self.count(packet.source, -1)
        self.served.append((self.now, packet.source))
        ack = self.sinks[packet.source].take(packet)
        source = self.sources[packet.source]
        plan = self.plans[packet.source]
        self.after(plan.rtt - self.line - SERVICE - plan.near, lambda: source.ack(ack))
        self.serve()

    def run(self) -> Network:
        """Everything, in order."""
        for plan, source in zip(self.plans, self.sources, strict=True):
            self.after(plan.start, source.start)
        for time, service in self.changes:
            self.after(time, partial(self.change, service))
        while self.events and self.events[0][0] <= self.end:
            self.now, _, what = heapq.heappop(self.events)
            what()
            if all(source.finished is not None for source in self.sources):
                break
        return self
