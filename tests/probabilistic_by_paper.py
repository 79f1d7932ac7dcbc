"""The receiver of probabilistic congestion control a second time, straight from §3.3 to §3.6 of Widmer, Mauve and Damm and,
for the measurements, §3.3 of Floyd, Handley, Padhye and Widmer (2000), which they name. It was written before its author
had read the library's, so that the two can be held against each other packet by packet. No test lives here."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

# Floyd et al., section 3.3: eight intervals, the newer half at full weight.
WEIGHTS = (1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2)
# A packet counts as lost when three with higher numbers have arrived.
REORDERING = 3
# What remains of the smoothed round trip time at a new sample.
RTT_MEMORY = 0.9


def tcp_rate(size_bits: float, rtt: float, loss: float) -> float:
    """Equation (1), in bit/s."""
    if loss <= 0:
        return math.inf
    a = math.sqrt(2 * loss / 3)
    b = 12 * math.sqrt(3 * loss / 8)
    return size_bits / (rtt * (a + b * loss * (1 + 32 * loss * loss)))


@dataclass
class LossIntervals:
    """The loss event rate, from the numbers of the packets that arrived and when."""

    missing: dict[int, int] = field(default_factory=dict)
    highest: int = -1
    last_arrival: float = 0.0
    closed: list[int] = field(default_factory=list)  # newest first
    event_at: float | None = None
    event_number: int | None = None
    would_be: dict[int, float] = field(default_factory=dict)

    def arrival(self, now: float, number: int, rtt: float | None) -> None:
        """A packet arrived."""
        if number > self.highest:
            if self.highest >= 0:
                gap = number - self.highest
                for lost in range(self.highest + 1, number):
                    # The time at which it would have come, on the line between its neighbours.
                    share = (lost - self.highest) / gap
                    self.missing[lost] = 0
                    self.would_be[lost] = self.last_arrival + share * (now - self.last_arrival)
            self.highest = number
            self.last_arrival = now
        else:
            self.missing.pop(number, None)
            self.would_be.pop(number, None)
        for lost in sorted(self.missing):
            if lost < number:
                self.missing[lost] += 1
                if self.missing[lost] >= REORDERING:
                    self.lost(lost, self.would_be.pop(lost), rtt)
                    del self.missing[lost]

    def lost(self, number: int, when: float, rtt: float | None) -> None:
        """A packet is found lost."""
        if self.event_at is not None and rtt is not None and when - self.event_at <= rtt:
            return
        if self.event_number is not None:
            self.closed.insert(0, number - self.event_number)
            del self.closed[len(WEIGHTS) :]
        self.event_at, self.event_number = when, number

    def events(self) -> int:
        """Complete intervals so far, at most eight."""
        return len(self.closed)

    def rate(self) -> float:
        """The loss event rate: one over the weighted mean interval, the open one counted if that lowers it."""
        if not self.closed:
            return 0.0
        assert self.event_number is not None
        weights = WEIGHTS[: len(self.closed)]
        without = sum(w * i for w, i in zip(weights, self.closed, strict=True)) / sum(weights)
        shifted = [self.highest - self.event_number + 1, *self.closed[: len(WEIGHTS) - 1]]
        weights = WEIGHTS[: len(shifted)]
        including = sum(w * i for w, i in zip(weights, shifted, strict=True)) / sum(weights)
        return 1.0 / max(without, including)


@dataclass
class Decision:
    """What one random experiment was made of and how it ended."""

    at: float
    p: float
    p_prime: float | None
    stays: bool
    off_for: float


@dataclass
class Gate:
    """Sections 3.4 to 3.6: P, P', and what follows from a draw. Rates in bit/s, times in seconds."""

    interval: float
    credit: bool = True
    """Whether equation (4) is taken as it stands where TCP would have sent more in the protected time."""
    protected: float = 0.0
    began: float | None = None  # when the protected time was over
    rate_then: float = 0.0  # r'_NA
    tcp_then: float = 0.0  # r'_TCP
    plain: list[tuple[float, float]] = field(default_factory=list)
    primed: list[tuple[float, float]] = field(default_factory=list)

    def restart(self) -> None:
        """A suspended flow begins again with its initialization."""
        self.began = None
        self.plain, self.primed = [], []

    def end_of_protection(self, now: float, length: float, own: float, tcp: float) -> None:
        """§3.6: enough is known."""
        self.began, self.protected = now, length
        self.rate_then, self.tcp_then = own, tcp

    def debt(self) -> float:
        """What was sent beyond TCP in the protected time."""
        debt = self.protected * (self.rate_then - self.tcp_then)
        return debt if self.credit else max(debt, 0.0)

    def first_slot(self, now: float) -> bool:
        """Whether the protected time is being made up for."""
        return self.began is not None and now < self.began + self.interval

    def effective(self, now: float, own: float, *, primed: bool) -> float:
        """Equation (3), over the experiments of the last T."""
        entries = self.primed if primed else self.plain
        return own * math.prod(p for at, p in entries if now < at + self.interval)

    def experiment(self, now: float, own: float, tcp: float, draw: Callable[[], float]) -> Decision:
        """A random experiment, where p or p' leaves one."""
        p = tcp / self.effective(now, own, primed=False)
        if self.first_slot(now):
            debt = self.debt()
            p_prime = (tcp - debt / self.interval) / self.effective(now, own, primed=True)
        else:
            p_prime = None
        used = p if p_prime is None else p_prime
        off_for = self.interval
        if used <= 0:
            stays = False
            off_for = self.debt() / tcp
        else:
            # What has just been answered is not asked again for being 1 to all digits but the last.
            stays = used >= 1 - 1e-12 or draw() <= used
        self.plain.append((now, min(p, 1.0)))
        if p_prime is not None:
            self.primed.append((now, min(p_prime, 1.0)))
        return Decision(now, p, p_prime, stays, off_for)


@dataclass
class Receiver:
    """All of it together: packets in, decisions out."""

    interval: float
    own: float
    """r_NA in bit/s, as the application states it."""
    size_bits: float
    draw: Callable[[], float]
    credit: bool = True
    losses: LossIntervals = field(default_factory=LossIntervals)
    rtt: float | None = None
    began: float | None = None

    def __post_init__(self) -> None:
        self.gate = Gate(self.interval, self.credit)

    def arrival(self, now: float, number: int, sample: float | None) -> None:
        """A data packet, and the round trip that its echo gives if it is the first of that control packet."""
        if self.began is None:
            self.began = now
        if sample is not None:
            self.rtt = sample if self.rtt is None else RTT_MEMORY * self.rtt + (1 - RTT_MEMORY) * sample
        self.losses.arrival(now, number, self.rtt)

    def friendly(self) -> float:
        """r_TCP in bit/s."""
        assert self.rtt is not None
        return tcp_rate(self.size_bits, self.rtt, self.losses.rate())

    def evaluate(self, now: float) -> Decision | None:
        """What follows at this moment; nothing in the protected time."""
        assert self.began is not None
        if self.gate.began is None:
            if self.losses.events() < len(WEIGHTS):
                return None
            self.gate.end_of_protection(now, now - self.began, self.own, self.friendly())
        return self.gate.experiment(now, self.own, self.friendly(), self.draw)

    def after(self, now: float) -> tuple[float, float | None]:
        """p and p' once the experiment is over."""
        tcp = self.friendly()
        p = tcp / self.gate.effective(now, self.own, primed=False)
        if not self.gate.first_slot(now):
            return p, None
        return p, (tcp - self.gate.debt() / self.interval) / self.gate.effective(now, self.own, primed=True)
