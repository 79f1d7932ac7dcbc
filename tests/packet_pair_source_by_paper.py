"""Packet-pair's source written down again from Keshav's memorandum alone (*Packet-Pair Flow Control*, 1994, §5 to §8 and the C
code of the appendix). Its laws and estimators are in ``packet_pair_by_paper.py``, the network around it in
``packet_pair_network_by_paper.py``; no test lives here.

The memorandum says most things twice, in prose and in C, and the two do not always agree. Where they do not, or where neither
says, this is what was chosen, and why:

* **The rise** (§8): the prose sends at 0.2 (T - m), which could never reach T. The appendix sends at m + 0.2 (T - m). Taken
  from the appendix, and only upward (``send_rate > mean_send_rate``), for a rise is what it is.
* **The expected round trip** (§4.3, §6): R + S mu has no unit. In J it is R + n s, as in the appendix; in the time-out R + S s, the
  nearest reading of §6. The appendix's time-out is 1.5 times its ``re``, which carries ATTACK_UP or ATTACK_DOWN already.
* **Probing of the setpoint** (§7, §8, Table 2): 0.1 every four round trips and x 0.6 in §7, 2 every two and x 0.75 elsewhere.
  Taken from Table 2 and §9.1.
* **The setpoint at a loss** (§7, §8): 'decreased' in the prose. The appendix cuts it at the first acknowledgement that repeats the
  last: once for each hole that comes to the head of the window and is not filled at once. ``per_round`` is the other reading,
  once for all that is lost of what was sent before the last loss was heard of.
* **The first time-out**: 1 s in the appendix, 2 s in Table 1, both scaled to an unnamed time unit. It is an argument.
* **A time-out in startup**: the appendix has no tick running then, so that the source would stand still for ever. Here the
  time-out gives the probe anew.
* **The end of a file**: ``last_sent < num_pkts - 1`` would keep the last losses from being sent again. Left out: an empty queue
  says the same of new data.
* **Packets in the high zone that have arrived meanwhile** (§8: they 'can be removed from the queue'): left out when their turn
  comes. No packet stands there twice.
* **The soft time-out** when all that was sent is acknowledged: nothing to send again.
* **The single timer** (§6): it is set anew at every transmission. With nothing unacknowledged its alarm leaves the setpoint as it
  is and does no more than send a packet that was left alone.
* **n_b** is not below nothing in equation 14 either, as in the appendix, where equation 14 would take what is left of the pipeline
  for a queue of less than nothing. At most the window: kept, though it never binds.
* **The discrete law** (§4.2) is not in the appendix. Its epochs end as round trips are counted (§8), the caution of §5 is applied
  to it as to the other, and it may ask for nothing at all: a pair in an epoch is the least. RTT(k) is that of a packet that was
  the first of its pair and was never sent before, as 'the first packet in the pair' (§4.2) says; without one, R + n s.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.packet_pair_by_paper import Fuzzy, averaged, bottleneck_queue, continuous, discrete

ATTACK_UP, ATTACK_DOWN = 1.5, 0.8
TIMEOUT_MULTIPLIER = 1.5
INC_FACTOR, MS_ALPHA = 0.2, 0.75
B_DEC_FACTOR, B_ADD_INC_FACTOR, B_INITIAL, B_MIN = 0.75, 2.0, 5.0, 2.0
ROUNDS = 2
"""Round trips between two steps of the setpoint, and between two looks at the last acknowledgement."""
SMALL = 2.0
"""An n_b up to which probes are mistrusted."""

FIRST, SECOND, SINGLE = 0, 1, 2


@dataclass
class Packet:
    """A data packet on its way."""

    source: int
    number: int
    id: int
    """Counts transmissions, not data."""
    place: int
    """First or second of a pair, or a singleton."""
    born: float


@dataclass
class Ack:
    """What the sink says of one packet."""

    upto: int
    """The last packet in sequence so far."""
    offset: int
    """From there to the packet that this acknowledges."""
    id: int
    place: int
    born: float
    repeated: bool = False
    """Whether that packet had been sent before."""


@dataclass
class State:
    """What a pair of acknowledgements left behind."""

    time: float
    spacing: float
    service: float
    queue: float
    setpoint: float
    rate: float


@dataclass
class Source:
    """The sending side. ``after(delay, what)`` sets a timer; ``transmit(packet)`` puts a packet on the line, which tells ``free``
    when it is idle again."""

    index: int
    clock: Callable[[], float]
    after: Callable[[float, Callable[[], None]], None]
    transmit: Callable[[Packet], None]
    given: float = math.inf
    """Packets that the application has written so far."""
    window: float = math.inf
    setpoint: float = B_INITIAL
    probing: bool = True
    timeout: float = math.inf
    singleton: float = 0.0
    estimate: Callable[[float, float], float] = field(default_factory=lambda: Fuzzy().next)
    """The next service time from the last estimate and what was seen."""
    per_round: bool = False
    pole: float | None = None
    """α of the discrete law, where that is meant."""

    fresh: int = 0
    last_sent: int = -1
    outstanding: int = 0
    starting: bool = True
    busy: bool = False
    tick: int = 2
    ids: int = 0
    propagation: float = 0.0
    begun: tuple[float, float] | None = None
    """n_b and μ at the beginning of the epoch."""
    service: float = 0.0
    queue: float = 0.0
    rate: float = 0.0
    mean_rate: float = 0.0
    last_ack: int = -1
    looked_at: int = -1
    first: int = -2
    first_at: float = 0.0
    duplicates: int = 0
    rounds: int = 0
    round_id: int = 0
    released: int = 0
    """Repeats that may pass a full window."""
    timed_out: int = 0
    again: deque[int] = field(default_factory=deque)
    repeated: set[int] = field(default_factory=set)
    sent_as: dict[int, int] = field(default_factory=dict)
    """The last transmission of each number."""
    loss_heard: int = 0
    """Transmissions before this one left before the last loss was heard of."""
    cuts: int = 0
    arrived: set[int] = field(default_factory=set)
    history: list[State] = field(default_factory=list)
    repeats: int = 0
    timeouts: int = 0
    soft: int = 0
    finished: float | None = None

    # queue of what is to be sent

    def waiting(self) -> int | float:
        """Packets in both zones."""
        while self.again and (self.again[0] <= self.last_ack or self.again[0] in self.arrived):
            self.again.popleft()
        return len(self.again) + self.given - self.fresh

    def put_again(self, number: int) -> None:
        """At the tail of the high zone."""
        if number not in self.again:
            self.again.append(number)

    def presumed_lost(self, number: int) -> None:
        """A repeat without a time-out."""
        self.repeated.add(number)
        self.outstanding = max(self.outstanding - 1, 0)
        self.put_again(number)
        self.released += 1

    def send(self, place: int) -> None:
        """The head of the queue goes out."""
        if self.again:
            number = self.again.popleft()
            self.repeats += 1
        else:
            number, self.fresh = self.fresh, self.fresh + 1
        self.busy = True
        packet = self.left(number, place)
        self.after(self.timeout, lambda: self.alarm(packet.id))
        self.transmit(packet)

    def left(self, number: int, place: int) -> Packet:
        """The books of a transmission."""
        if number > self.last_sent:
            self.repeated.discard(number)
        self.arrived.discard(number)
        self.last_sent = max(self.last_sent, number)
        packet = Packet(self.index, number, self.ids, place, self.clock())
        self.sent_as[number] = self.ids
        self.ids += 1
        self.outstanding += 1
        return packet

    def test(self) -> None:
        """The state 'test' of Figure 8."""
        if not self.tick or self.busy or self.waiting() < self.tick:
            return
        open_ = (
            self.outstanding - 1 < self.window - self.tick and self.last_sent < self.last_ack + self.window - self.tick
        )
        if not (open_ or self.timed_out or self.released >= 2):
            return
        self.tick -= 1
        if not self.tick:
            self.timed_out = max(self.timed_out - 2, 0)
            self.released = self.released - 2 if self.released >= 2 else 0
        place = 1 - self.tick
        self.send(place)
        if not self.waiting():
            self.tick = 0

    def alone(self) -> None:
        """A packet that found no other goes out as a singleton, unless a pair is half sent."""
        if self.waiting() == 1 and self.tick != 1:
            self.send(SINGLE)

    # events

    def start(self) -> None:
        """The first pair."""
        self.test()

    def write(self, packets: int) -> None:
        """USER_INPUT."""
        self.given += packets
        self.after(self.singleton, self.alone)
        self.test()

    def free(self) -> None:
        """INT."""
        self.busy = False
        self.test()

    def ticked(self) -> None:
        """TICK."""
        if self.finished is None:
            self.after(2.0 / self.rate, self.ticked)
        if not self.tick:
            self.tick = 2
        self.test()

    def alarm(self, id_: int) -> None:
        """TIMEOUT, if nothing was sent since."""
        if id_ != self.ids - 1:
            return
        if self.last_ack < self.last_sent:
            self.all_lost()
        self.alone()
        self.test()

    def all_lost(self) -> None:
        """All that is not acknowledged is to be sent again."""
        self.timeouts += 1
        self.setpoint = B_INITIAL if self.probing else self.setpoint
        self.outstanding = 0
        for number in range(self.last_ack + 1, self.last_sent + 1):
            if number not in self.arrived:
                self.put_again(number)
                self.timed_out += 1
        if self.starting:
            self.tick = 2

    def ack(self, ack: Ack) -> None:
        """ACK."""
        self.outstanding = max(self.outstanding - 1, 0)
        passed = self.count_rounds(ack)
        self.arrived.add(ack.upto + ack.offset)
        if ack.upto == self.last_ack:
            self.duplicate(ack)
        if ack.upto > self.last_ack:
            for number in range(self.last_ack, ack.upto + 1):
                self.repeated.discard(number)
                self.arrived.discard(number)
            self.last_ack = ack.upto
            self.duplicates = 0
            if self.last_ack + 1 >= self.given and self.finished is None:
                self.finished = self.clock()
        if ack.place == FIRST:
            if self.starting:
                self.propagation = self.clock() - ack.born
            self.first, self.first_at = ack.id, self.clock()
        elif ack.place == SECOND:
            if ack.id == self.first + 1:
                self.pair(self.clock() - self.first_at)
            self.first = -2
        if passed and self.pole is not None and self.service:
            known = ack.place != SECOND and not ack.repeated
            self.epoch(self.clock() - ack.born if known else None, self.pole)
        self.test()

    def count_rounds(self, ack: Ack) -> bool:
        """Whether a round trip is over (§8, without a timer), and what hangs on that."""
        if ack.id < self.round_id:
            return False
        self.rounds += 1
        self.round_id = self.ids
        if self.rounds >= ROUNDS:
            self.two_rounds()
        return True

    def two_rounds(self) -> None:
        """Soft time-out, and a step of the setpoint."""
        self.rounds = 0
        if self.looked_at == self.last_ack and self.last_ack < self.last_sent:
            self.soft += 1
            self.presumed_lost(self.last_ack + 1)
        self.looked_at = self.last_ack
        if self.probing:
            self.setpoint += B_ADD_INC_FACTOR

    def duplicate(self, ack: Ack) -> None:
        """Every hole below the packet acknowledged is filled, once."""
        self.duplicates += 1
        lost = [
            number
            for number in range(self.last_ack + 1, self.last_ack + ack.offset)
            if number not in self.repeated and number not in self.arrived
        ]
        for number in lost:
            self.presumed_lost(number)
        if not self.per_round:
            self.cut(self.duplicates == 1)
        elif any(self.sent_as[number] >= self.loss_heard for number in lost):
            self.loss_heard = self.ids
            self.cut(True)

    def cut(self, due: bool) -> None:
        """The setpoint falls."""
        if due and self.probing:
            self.cuts += 1
            self.setpoint = max(self.setpoint * B_DEC_FACTOR, B_MIN)

    def pair(self, spacing: float) -> None:
        """Both acknowledgements of a pair are in."""
        if self.starting:
            self.service, self.starting = spacing, False
            self.choose(1.0 / spacing, mistrusted=True)
            self.tick = 2
            self.after(2.0 / self.rate, self.ticked)
        else:
            self.service = self.estimate(self.service, spacing)
            queue = bottleneck_queue(self.outstanding, 1.0 / self.service, self.propagation)
            self.queue = min(max(queue, 0.0), self.window)
            if self.pole is None:
                self.steer()
            self.timeout = TIMEOUT_MULTIPLIER * (self.propagation + self.outstanding * self.service)
        self.history.append(State(self.clock(), spacing, self.service, self.queue, self.setpoint, self.rate))

    def steer(self) -> None:
        """Equation 14, faster downwards than upwards, and never so slow that the queue is empty before the next pair."""
        attack = ATTACK_UP if self.queue <= self.setpoint else ATTACK_DOWN
        horizon = attack * (self.propagation + self.queue * self.service)
        believed = self.queue + self.propagation / self.service
        target = continuous(self.setpoint, believed, 1.0 / self.service, self.propagation, horizon)
        self.choose(target, self.queue <= SMALL)
        if self.queue > 3.0 * self.setpoint:
            self.rate = max(self.rate, 2.0 / ((self.queue - self.setpoint) * self.service))

    def epoch(self, measured: float | None, alpha: float) -> None:
        """Equation 9 at the end of an epoch: n_b and μ of its beginning, what is outstanding and μ to come at its end."""
        mu = 1.0 / self.service
        self.queue = max(bottleneck_queue(self.outstanding, mu, self.propagation), 0.0)
        rtt = self.propagation + self.queue * self.service if measured is None else measured
        if self.begun is not None:
            queue, mu_before = self.begun
            rate = discrete(
                alpha=alpha, setpoint=self.setpoint, queue=queue, sent=self.outstanding, mu=(mu_before, mu), rtt=rtt
            )
            self.choose(max(rate, 2.0 / rtt), self.queue <= SMALL)
        self.begun = (self.queue, mu)

    def choose(self, target: float, mistrusted: bool) -> None:
        """The rate is the target, or a part of the way up to it (§5)."""
        self.rate = target
        if mistrusted and target > self.mean_rate:
            self.rate = self.mean_rate + INC_FACTOR * (target - self.mean_rate)
        self.mean_rate = averaged(MS_ALPHA, self.mean_rate, self.rate)
