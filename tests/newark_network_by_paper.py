"""The network of Figure 5 of Li and Mills a second time, with nothing of the library: router, senders and sources from §II
to §IV of the paper, packet by packet, as plainly as it can be said. What the library makes of the same is held against it
in ``test_newark.py``. No test lives here."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count

RATE, SIZE, HEADER = 45e6, 1000, 40
SERVICE = 8.0 * SIZE / RATE
BUFFER = 240
"""Packets; also the largest W_b, W_p and T_c (§IV-A)."""
THERE, BACK = 8e-6 + 1e-3, 2 * 40e-3 + 1e-3 + 8.0 * HEADER * (1 / RATE + 1e-9)
"""Seconds: from a sender to the router, and from there to node 0 and as an acknowledgement to the sender."""
WINDOW = 0.5 * BUFFER * SERVICE
SHORTEST = 0.025 * WINDOW


@dataclass
class Marker:
    """RED's marking of one metric (Fig. 2; Floyd and Jacobson 1993, §7): spaced evenly."""

    low: float
    high: float
    max_p: float
    weight: float
    average: float = 0.0
    since: int = 0

    def take(self, sample: float) -> None:
        """A sample of the metric."""
        self.average += self.weight * (sample - self.average)

    def marks(self, chance: random.Random) -> bool:
        """Whether the arriving packet bears a mark."""
        if self.average <= self.low:
            self.since = 0
            return False
        p = 1.0 if self.average > self.high else self.max_p * (self.average - self.low) / (self.high - self.low)
        p = p / (1.0 - self.since * p) if self.since * p < 1.0 else 1.0
        if chance.random() < p:
            self.since = 0
            return True
        self.since += 1
        return False


class Router:
    """Node 1 and its link A: first in, first out, with both meters (§II)."""

    def __init__(self, rho: Marker, eta: Marker, offered: bool, chance: random.Random) -> None:
        self.rho, self.eta, self.offered, self.chance = rho, eta, offered, chance
        self.free_at = 0.0
        """When all that is here has been transmitted."""
        self.began = self.area = self.merged = self.merged_area = 0.0
        self.edge, self.load = WINDOW, 0.0
        """When the window of ρ ends, and the seconds of service in it."""
        self.seen = 0.0
        self.busy = self.queued = 0.0
        """Over the measured time: seconds of transmission, and packet seconds of waiting."""
        self.arrived = self.dropped = 0
        self.overflows: list[float] = []

    def meter(self, now: float) -> None:
        """Equation 1 and its window, up to now."""
        at = self.seen
        while self.edge <= now:
            self.load += self._served(at, self.edge)
            self.rho.take(self.load / WINDOW)
            at, self.edge, self.load = self.edge, self.edge + WINDOW, 0.0
        self.load += self._served(at, now)
        self.seen = now

    def _served(self, begin: float, end: float) -> float:
        return 0.0 if self.offered else max(0.0, min(self.free_at, end) - begin)

    def finish_period(self) -> None:
        """Equation 2 at the end of a busy period; shorter ones are merged (§II-B)."""
        length, area = self.free_at - self.began, self.area
        if length <= SHORTEST:
            self.merged, self.merged_area = self.merged + length, self.merged_area + area
            if self.merged <= SHORTEST:
                return
            length, area = self.merged, self.merged_area
            self.merged = self.merged_area = 0.0
        self.eta.take(2.0 * area / length**2)

    def arrive(self, now: float, counts: bool) -> tuple[float, bool, bool] | None:
        """When the packet has been transmitted, and its two bits; ``None`` where the buffer is full."""
        self.meter(now)
        if now >= self.free_at:
            if self.free_at > self.began:
                self.finish_period()
            self.began = self.free_at = now
            self.area = 0.0
        if self.offered:
            self.load += SERVICE
        self.arrived += counts
        wait = self.free_at - now
        # What waits, the packet in transmission not counted.
        if wait > 0.0 and -(-(wait - 1e-12) // SERVICE) - 1 >= BUFFER:
            self.dropped += counts
            if counts:
                self.overflows.append(now)
            return None
        bits = self.rho.marks(self.chance), self.eta.marks(self.chance)
        self.area += SERVICE * wait
        self.free_at += SERVICE
        if counts:
            self.busy += SERVICE
            self.queued += wait
        return self.free_at, *bits


class Sender:
    """TCP Newark (§III): W_b, W_p, T_c and the token bucket of Fig. 4. An acknowledgement names the packet that caused it."""

    def __init__(self, world: World, g: float) -> None:
        self.world, self.g = world, g
        self.wp, self.threshold, self.tc = 10.0, float("inf"), float(BUFFER)
        self.tokens = 0.0
        self.waiting: float = 0
        """Packets that the application has offered and that have not left."""
        self.next = 0
        self.out: dict[int, tuple[float, int, bool]] = {}
        """Packets on their way: when they left, as which transmission, and whether again."""
        self.lost: list[int] = []
        self.sent = 0
        self.answered = 0
        """Transmissions up to here left before the last reduction of W_p: what befell them is answered."""
        self.rtt = self.deviation = 0.0
        self.rto, self.deadline, self.lowest = 1.0, float("inf"), 0
        self.timed_out: int | None = None
        """A time-out is not cleared until all below this is acknowledged."""
        self.recover = -1
        self.halved_at = -1.0
        self.stored = self.stored_at = 0.0

    def offer(self, packets: float) -> None:
        """The application has data."""
        if self.waiting == 0:
            self.waiting += packets
            self.send()
        else:
            self.waiting += packets

    def expire(self) -> None:
        """The token generation timer (Fig. 4), set again in any case."""
        if self.timed_out is not None:
            self.store(min(self.tokens, 1.0))
            if self.tokens < 1.0:
                self.store(1.0)
        elif self.tokens < self.tc:
            self.store(min(self.tokens + 1.0, max(self.tc, 1.0)))
        self.send()
        self.world.after(random_exponential(self.world.chance, self.g * self.rtt / self.wp), self.expire)

    def store(self, tokens: float) -> None:
        """Changes what is stored, and keeps its integral."""
        now = self.world.now
        self.stored += self.tokens * (now - self.stored_at) * self.world.counts
        self.stored_at, self.tokens = now, tokens

    def send(self) -> None:
        """A packet leaves inside W_b and with a token (§III-B); before the first round trip time inside W_p."""
        while self.lost or (self.waiting > 0 and self.next - self.lowest < BUFFER):
            if self.rtt == 0.0:
                if len(self.out) >= int(self.wp):
                    return
            elif self.tokens < 1.0:
                return
            else:
                self.store(self.tokens - 1.0)
            again = bool(self.lost)
            if again:
                number = self.lost.pop(0)
            else:
                number, self.next = self.next, self.next + 1
                self.waiting -= 1
            self.sent += 1
            self.out[number] = (self.world.now, self.sent, again)
            if self.deadline == float("inf"):
                self.deadline = self.world.now + self.rto
                self.world.after(self.rto, self.check_deadline)
            self.world.after(THERE, partial(self.world.at_router, self, number))

    def acknowledge(self, number: int, rho: bool, eta: bool) -> None:
        """A packet has arrived, and the receiver echoes its bits."""
        found = self.out.pop(number, None)
        if found is None:
            if number in self.lost:
                self.lost.remove(number)
            return
        left, place, again = found
        now = self.world.now
        if not again:
            self.sample(now - left)
        while self.lowest not in self.out and self.lowest not in self.lost and self.lowest < self.next:
            self.lowest += 1
        gone = self.repair(place)
        if self.timed_out is not None and self.lowest >= self.timed_out:
            self.timed_out = None
        marked = self.limit(eta) or rho
        if marked and place > self.answered:
            self.halve(1.0)
        repairing = self.lowest < self.recover
        if not marked and not gone and not repairing and (self.waiting > 0 or self.lost):
            self.wp = min(self.wp + (1.0 if self.wp < self.threshold else 1.0 / self.wp), float(BUFFER))
        idle = not self.out and not self.lost
        self.deadline = float("inf") if idle else now + self.rto
        if not idle:
            self.world.after(self.rto, self.check_deadline)
        self.send()

    def repair(self, place: int) -> bool:
        """Three packets sent later have arrived: what left before is lost."""
        gone = sorted(one for one, (_, earlier, _) in self.out.items() if earlier <= place - 3)
        if any(self.out[one][1] > self.answered for one in gone):
            self.halve(2.0)
            self.recover = self.next
        for one in gone:
            del self.out[one]
        self.lost = sorted([*self.lost, *gone])
        return bool(gone)

    def limit(self, eta: bool) -> bool:
        """T_c by an η echo or without one (§III-B); whether W_p has to give way instead."""
        if not eta:
            self.tc = min(self.tc + 1.0, float(BUFFER))
            return False
        if self.tc <= 1.0:
            return True
        if self.world.now >= self.halved_at + self.rtt:
            self.tc, self.halved_at = max(1.0, self.tc / 2), self.world.now
            self.store(min(self.tokens, self.tc))
        return False

    def sample(self, took: float) -> None:
        """RFC 6298."""
        if self.rtt == 0.0:
            self.rtt, self.deviation = took, took / 2
            self.tokens, self.stored_at = 1.0, self.world.now
            self.world.after(random_exponential(self.world.chance, self.g * self.rtt / self.wp), self.expire)
        else:
            self.deviation += (abs(self.rtt - took) - self.deviation) / 4
            self.rtt += (took - self.rtt) / 8
        self.rto = max(0.2, self.rtt + 4 * self.deviation)

    def check_deadline(self) -> None:
        """The retransmission timer."""
        if self.world.now < self.deadline - 1e-12 or not (self.out or self.lost):
            return
        if self.timed_out is None:
            self.halve(1.0)
        self.wp = 1.0
        self.timed_out, self.recover = self.next, -1
        self.lost = sorted([*self.lost, *self.out])
        self.out.clear()
        self.store(min(self.tokens, 1.0))
        self.rto = min(2 * self.rto, 60.0)
        self.deadline = self.world.now + self.rto
        self.world.after(self.rto, self.check_deadline)
        self.send()

    def halve(self, least: float) -> None:
        """As RED + ECN-TCP does, once per window of data."""
        self.threshold = max(2.0, self.wp / 2)
        self.wp = min(self.wp, max(least, self.wp / 2))
        self.answered = self.sent


def random_exponential(chance: random.Random, mean: float) -> float:
    """A number with this mean."""
    return chance.expovariate(1.0 / mean)


@dataclass(frozen=True)
class Seen:
    """Means over the measured time."""

    rho: float
    queue: float
    """Packets."""
    loss: float
    tokens: tuple[float, float]
    """Packets stored by a user with an endless file, and by one with impulses."""


class World:
    """Events in the order of their times."""

    def __init__(
        self,
        seed: int,
        *,
        users: tuple[int, int] = (15, 15),
        rho: tuple[float, float, float, float] = (0.9, 1.0, 0.003, 0.25),
        eta: tuple[float, float, float, float] | None = (0.1, 0.2, 0.02, 0.01),
        offered: bool = False,
        impulse: float = 60.0,
        g: float = 1.0,
    ) -> None:
        self.now, self.counts = 0.0, False
        self.chance = random.Random(seed)
        self.router = Router(Marker(*rho), Marker(*(eta or (1.0, 1.0, 1.0, 0.01))), offered, self.chance)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self.files = [Sender(self, g) for _ in range(users[0])]
        self.bursts = [Sender(self, g) for _ in range(users[1])]
        for sender in self.files:
            self.after(self.chance.random(), partial(sender.offer, float("inf")))
        for sender in self.bursts:
            self.after(self.chance.random() + self.chance.expovariate(1.0), partial(self.impulse, sender, impulse))

    def after(self, delay: float, action: Callable[[], None]) -> None:
        """Has something happen."""
        heapq.heappush(self._events, (self.now + delay, next(self._order), action))

    def impulse(self, sender: Sender, mean: float) -> None:
        """A burst of so many packets on average at 100 Mbit/s, then a pause of a second on average (§IV-A)."""
        packets = max(1, round(self.chance.expovariate(1.0 / mean)))
        spacing = 8.0 * (SIZE - HEADER) / 100e6
        for index in range(packets):
            self.after(index * spacing, lambda: sender.offer(1))
        self.after(packets * spacing + self.chance.expovariate(1.0), lambda: self.impulse(sender, mean))

    def at_router(self, sender: Sender, number: int) -> None:
        """A packet reaches node 1."""
        passed = self.router.arrive(self.now, self.counts)
        if passed:
            done, rho, eta = passed
            self.after(done - self.now + BACK, lambda: sender.acknowledge(number, rho, eta))

    def run(self, seconds: float, warm_up: float) -> Seen:
        """Means from ``warm_up`` on."""
        while self._events and self._events[0][0] <= seconds:
            time, _, action = heapq.heappop(self._events)
            if time >= warm_up and not self.counts:
                self.counts = True
                for sender in (*self.files, *self.bursts):
                    sender.stored_at = time
            self.now = time
            action()
        span = seconds - warm_up

        def kept(senders: list[Sender]) -> float:
            return sum(sender.stored for sender in senders) / span / max(len(senders), 1)

        router = self.router
        loss = router.dropped / max(router.arrived, 1)
        return Seen(router.busy / span, router.queued / span, loss, (kept(self.files), kept(self.bursts)))
