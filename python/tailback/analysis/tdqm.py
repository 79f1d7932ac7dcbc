"""A fluid model of the two loops of two-dimensional queue management and TCP Newark (Li and Mills), and what it says about
parameters: where the loops rest, how far they are from oscillating, how soon they settle. What chance adds to where the
utilization loop rests, and which marks reach a target, is in ``tdqm_chance.py``.

Packets flow like water: N users send ``N W / (g R)`` packets per second, W being the mean of their ``W_p``. The router's
average of ρ follows the load, and it marks with the probability that belongs to the average; a user halves W at most once
per round trip, when any of a round trip's packets bore a mark, and learns of it a round trip later:

    W' = 1 / (g R) - W / 2 * h(t - R),     h = (1 - (1 - p)^(W / g)) / R
    rho_bar' = k (rho - rho_bar),          k = -ln(1 - weight) / w
    p = 2 p_b / (1 + p_b),                 p_b = max_p (rho_bar - min) / (max - min)

The last is RED's even spacing of marks: uniform distances of 1 to ``1 / p_b`` packets. The limit T on tokens obeys the same
kind of equation, ``T' = a y (1 - p) - T / 2 * h``, y being a user's acknowledgements per second (:func:`limit_at_rest`);
what η it leads to is no matter of fluids, and comes from the waiting times of batches among Poisson arrivals
(:func:`burstiness`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tailback.analysis.arguments import expect_not_negative, expect_numbers, expect_positive, expect_whole, row
from tailback.calls import checked_call
from tailback.errors import ArgumentError, refused

Floats = NDArray[np.float64]
_MOST = 10_000_000
"""Instants of a solution: more do not fit into the memory of a small machine."""


@dataclass(frozen=True)
class Marking:
    """How a queue marks for one metric.

    Raises:
        ArgumentError: for thresholds that are negative or do not rise, a probability that is not above 0 and at most 1, or a
            weight that is not between 0 and 1.
    """

    low: float
    """Average below which nothing is marked."""
    high: float
    """Average above which all is."""
    max_p: float
    """Probability of a mark at ``high``."""
    weight: float
    """Of a sample in the average."""

    def __post_init__(self) -> None:
        expect_numbers(**vars(self))
        expect_not_negative(low=self.low, high=self.high)
        if not self.low < self.high:
            raise refused("high", self.high, f"more than the lower threshold, {self.low:g}")
        if not 0.0 < self.max_p <= 1.0:
            raise refused("max_p", self.max_p, "a probability above 0 and at most 1")
        if not 0.0 < self.weight < 1.0:
            raise refused("weight", self.weight, "a number above 0 and below 1")

    def probability(self, average: float) -> float:
        """The part of packets that bear a mark.

        Raises:
            ArgumentError: for an average that is not a number.
        """
        if math.isnan(average):
            raise refused("average", average, "a number")
        if average <= self.low:
            return 0.0
        if average > self.high:
            return 1.0
        base = self.max_p * (average - self.low) / (self.high - self.low)
        return 2.0 * base / (1.0 + base)

    def average_for(self, probability: float) -> float:
        """The average at which so many are marked; beyond ``high`` where no average within the thresholds does.

        Raises:
            ArgumentError: for a probability outside 0 to 1.
        """
        _expect_probability(probability)
        base = probability / (2.0 - probability)
        return self.low + (self.high - self.low) * base / self.max_p


@dataclass(frozen=True)
class Network:
    """One link and its users.

    Raises:
        ArgumentError: for numbers that are not finite and above 0 (at least 0 for impulses' load and users), or users that are
            not whole.
    """

    capacity: float
    """Packets per second."""
    buffer: float
    """Packets."""
    round_trip: float
    """Seconds, without queueing."""
    users: int
    """With endless files."""
    impulse_load: float = 0.0
    """Packets per second of users with impulses."""
    impulse_users: int = 0
    impulse: float = 60.0
    """Packets of a mean impulse."""
    g: float = 1.0
    window: float | None = None
    """w, in seconds: by default half the time in which a full buffer drains (§IV-B)."""

    def __post_init__(self) -> None:
        expect_numbers(**{name: value for name, value in vars(self).items() if value is not None or name != "window"})
        expect_positive(capacity=self.capacity, buffer=self.buffer, round_trip=self.round_trip)
        expect_positive(impulse=self.impulse, g=self.g)
        expect_whole(users=self.users)
        expect_whole(0, impulse_users=self.impulse_users)
        expect_not_negative(impulse_load=self.impulse_load)
        if self.window is not None:
            expect_positive(window=self.window)

    @property
    def w(self) -> float:
        """The window over which utilization is measured, in seconds."""
        return self.window if self.window is not None else 0.5 * self.buffer / self.capacity


@dataclass(frozen=True)
class Rest:
    """Where the utilization loop rests."""

    window: float
    """Packets, of a user with an endless file."""
    probability: float
    """The part of packets that must be marked there."""
    utilization: float
    """The average at which as many are; above 1 where the loop cannot hold the link below its rate."""


@dataclass(frozen=True)
class Margins:
    """How far the linearised utilization loop is from oscillating."""

    phase: float
    """Degrees at which its gain is one; infinite where it never is."""
    gain: float
    """What the gain may be multiplied by."""
    delay: float
    """Seconds by which round trips may be longer."""

    @property
    def is_stable(self) -> bool:
        """Whether it comes to rest."""
        return self.phase > 0.0 and self.gain > 1.0


@checked_call
def needed(window: float, g: float = 1.0) -> float:
    """The part of packets that holds a window at rest: ``W / 2 (1 - (1 - p)^(W / g)) = 1 / g``, and 1 where none does.

    Raises:
        ArgumentError: for a window or a ``g`` that is not finite and above 0.
    """
    expect_positive(window=window, g=g)
    chance = 2.0 / (window * g)
    return 1.0 - (1.0 - chance) ** (g / window) if chance < 1.0 else 1.0


@checked_call
def rest(network: Network, rho: Marking) -> Rest:
    """Where load and marks agree: found by bisection, since more load means larger windows, which fewer marks hold."""
    low, high = 0.0, 1.0
    for _ in range(60):
        load = 0.5 * (low + high)
        window = _window(network, load)
        if window <= 0.0 or needed(max(window, 1.0), network.g) > rho.probability(load):
            low = load
        else:
            high = load
    window = max(_window(network, high), 1.0)
    wanted = needed(window, network.g)
    return Rest(window, wanted, high if high < 1.0 else rho.average_for(wanted))


def _window(network: Network, load: float) -> float:
    rate = load * network.capacity - network.impulse_load
    return rate * network.round_trip * network.g / network.users


@checked_call
def margins(network: Network, rho: Marking, at: Rest | None = None) -> Margins:
    """Of the linearised utilization loop at rest, from its response to frequencies.

    Args:
        network: link and users.
        rho: marks for utilization.
        at: where it rests; by default where it does without chance.
    """
    at = at or rest(network, rho)
    at = replace(at, probability=min(at.probability, 1.0 - 1e-9))
    w, g, trip = at.window, network.g, network.round_trip
    # h = (1 - (1 - p)^(W/g)) / R at rest, and its slopes by p and by W.
    kept = (1.0 - at.probability) ** (w / g)
    by_p = (w / g) * kept / (1.0 - at.probability) / trip
    by_w = -math.log1p(-at.probability) / g * kept / trip
    base = at.probability / (2.0 - at.probability)
    slope = 2.0 / (1.0 + base) ** 2 * rho.max_p / (rho.high - rho.low)
    k = -math.log1p(-rho.weight) / network.w
    omega = np.geomspace(1e-3 / trip, 1e3 / trip, 10_000)
    s = 1j * omega
    delayed = np.exp(-s * trip)
    # W answers p with this; load answers W at once; a window's mean and the average lag behind it.
    forward = -0.5 * w * by_p * delayed / (s + 0.5 * (1.0 - kept) / trip + 0.5 * w * by_w * delayed)
    meter = (1.0 - np.exp(-s * network.w)) / (s * network.w) * k / (s + k)
    loop = -forward * network.users / (g * trip * network.capacity) * meter * slope
    size, phase = np.abs(loop), np.unwrap(np.angle(loop))
    over = np.flatnonzero((size[:-1] >= 1.0) & (size[1:] < 1.0))
    turned = np.flatnonzero((phase[:-1] > -math.pi) & (phase[1:] <= -math.pi))
    gain = float(1.0 / size[turned].max()) if turned.size else math.inf
    if not over.size:
        return Margins(math.inf, gain, math.inf)
    left = math.pi + phase[over]
    worst = int(np.argmin(left))
    crossover = float(omega[over[worst]])
    return Margins(float(np.degrees(left[worst])), gain, float(left[worst] / crossover))


@checked_call
def limit_at_rest(acked: float, probability: float, increase: float = 1.0) -> float:
    """``T_c`` in packets where it rests, of a user who has ``acked`` packets acknowledged per round trip, a part of them with
    η marks: ``T / 2 (1 - (1 - p)^n) = a n (1 - p)``. Without marks nothing bounds it, and where every packet bears one it is 0.

    Raises:
        ValueError: for a number of packets or an increase that is not above 0, or a part that is none.
    """
    for name, value in (("acked", acked), ("increase", increase)):
        if not 0.0 < value < math.inf:
            raise refused(name, value, "a number above 0")
    _expect_probability(probability)
    if probability in {0.0, 1.0}:
        return math.inf if probability == 0.0 else 0.0
    return 2.0 * increase * acked * (1.0 - probability) / -math.expm1(acked * math.log1p(-probability))


def _expect_probability(probability: float) -> None:
    if not 0.0 <= probability <= 1.0:
        raise refused("probability", probability, "0 to 1")


@dataclass(frozen=True)
class Course:
    """How the loops moved; one value per instant."""

    times: Floats
    """Seconds."""
    window: Floats
    """Packets."""
    load: Floats
    """Of the link's rate; 1 while something waits."""
    average: Floats
    """The router's average of it."""
    queue: Floats
    """Packets."""
    limit: Floats
    """Packets: ``T_c`` of users with impulses."""
    eta: Floats
    """The router's average."""


@checked_call
def solve(
    network: Network,
    rho: Marking,
    eta: Marking | None = None,
    *,
    start: float = 10.0,
    largest: float = 240.0,
    increase: float = 1.0,
    duration: float = 10.0,
) -> Course:
    """Integrates the equations by Euler's method, from slow start.

    Args:
        network: link and users.
        rho: marks for utilization.
        eta: marks for burstiness, where there are any.
        start: packets, the window in the beginning.
        largest: packets, the largest window and limit.
        increase: packets by which an acknowledgement without an η echo raises the limit.
        duration: seconds.

    Raises:
        ArgumentError: for windows, an increase or a duration that are not finite and above 0, or so long a duration that its
            course would not fit into memory.
    """
    expect_positive(start=start, largest=largest, increase=increase, duration=duration)
    step = network.round_trip / 100
    if duration / step > _MOST:
        raise refused("duration", duration, f"at most {_MOST * step:.3g} s with this round trip")
    count = round(duration / step) + 1
    # Lists, since numbers are taken from them and put into them one by one: from arrays that takes three times as long.
    window, load, average, queue = ([0.0] * count for _ in range(4))
    limit, etas, halving, cutting = ([0.0] * count for _ in range(4))
    window[0], limit[0], slow, marks = start, largest, True, 0.0
    trip, k = network.round_trip, -math.log1p(-rho.weight) / network.w
    pace = network.impulse_load / max(network.impulse_users, 1)
    for now in range(count):
        rtt = trip + queue[now] / network.capacity
        rate = network.users * window[now] / (network.g * rtt) + network.impulse_load
        busy = rate >= network.capacity or queue[now] > 0.0
        load[now] = 1.0 if busy else rate / network.capacity
        # What does not fit the buffer tells as a mark does.
        lost = 1.0 - network.capacity / rate if busy and queue[now] >= network.buffer else 0.0
        p = 1.0 - (1.0 - rho.probability(average[now])) * (1.0 - max(lost, 0.0))
        halving[now] = -math.expm1(math.log1p(-min(p, 1.0 - 1e-12)) * window[now] / network.g) / rtt
        if eta:
            value, samples = _of_batches(limit[now], network, load[now])
            p_eta = eta.probability(etas[now])
            cutting[now] = -math.expm1(math.log1p(-min(p_eta, 1.0 - 1e-12)) * max(pace * rtt, 1.0)) / rtt
        if now + 1 == count:
            break
        ago = max(now - round(rtt / step), 0)
        marks += halving[ago] * step
        slow = slow and marks < 1.0 and window[now] < largest
        up = window[now] * math.log(2.0) / rtt if slow else 1.0 / (network.g * rtt)
        # What ends slow start halves once; afterwards halvings come as they come.
        down = 0.5 * window[now] * halving[ago] * (not slow)
        window[now + 1] = min(max(window[now] + step * (up - down), 1.0), largest)
        queue[now + 1] = min(max(queue[now] + step * (rate - network.capacity), 0.0), network.buffer)
        average[now + 1] = average[now] + step * k * (load[now] - average[now])
        if eta:
            etas[now + 1] = etas[now] - math.expm1(-eta.weight * samples * rate * step) * (value - etas[now])
            grown = increase * pace * (1.0 - p_eta) - 0.5 * limit[now] * cutting[ago]
            limit[now + 1] = min(max(limit[now] + step * grown, 1.0), largest)
    times: Floats = np.arange(count, dtype=np.float64) * step
    courses: list[Floats] = [np.array(values) for values in (window, load, average, queue, limit, etas)]
    return Course(times, *courses)


@checked_call
def settling(times: Floats, values: Floats, span: float, part: float = 0.1) -> float:
    """The time from which a running mean over ``span`` seconds stays within ``part`` of the mean of the second half; infinite
    where it does not until then.

    Raises:
        ArgumentError: for fewer than two instants, values that are not as many or not finite, or a span or a part that is not
            above 0.
    """
    times, values = row("times", times), row("values", values)
    if times.size < 2 or not times[1] > times[0]:
        raise ArgumentError("times: fewer than two that rise are not allowed; expected the instants of the values")
    if values.size != times.size:
        raise ArgumentError(f"values: {values.size} are given; expected {times.size}, one per instant")
    expect_positive(span=span, part=part)
    width = max(round(span / float(times[1] - times[0])), 1)
    running = np.convolve(values, np.ones(width) / width, "valid")
    late = float(values[values.size // 2 :].mean())
    outside = np.flatnonzero(np.abs(running - late) > part * late)
    if not outside.size:
        return 0.0
    last = int(outside[-1]) + 1
    return float(times[last + width // 2]) if last < running.size // 2 else math.inf


@checked_call
def burstiness(limit: float, network: Network, load: float) -> tuple[float, float]:
    """The mean η of busy periods, and how many samples of it a packet gives, where users with impulses let ``limit`` packets
    go at once among Poisson arrivals of all others. By simulation of the waiting times, with random numbers of its own.

    Raises:
        ArgumentError: for a limit that is not finite and above 0, or a load outside 0 to 1.
    """
    expect_positive(limit=limit)
    if not 0.0 <= load <= 1.0:
        raise refused("load", load, "a part of the link's rate, 0 to 1")
    return _of_batches(limit, network, load)


def _of_batches(limit: float, network: Network, load: float) -> tuple[float, float]:
    part = min(network.impulse_load / network.capacity, 0.9 * load)
    # η changes little between limits a tenth apart.
    near = math.exp(round(math.log(max(limit, 1.0)) * 10.0) / 10.0)
    return _burstiness(near, network.impulse, round(part, 3), round(load, 2))


@lru_cache(maxsize=4096)
def _burstiness(limit: float, impulse: float, part: float, load: float) -> tuple[float, float]:
    rng = np.random.default_rng(1)
    smooth = rng.exponential(1.0 / max(min(load, 0.99) - part, 1e-3), 20_000).cumsum()
    size = max(impulse * -math.expm1(-limit / impulse), 1.0)
    batches = rng.exponential(size / max(part, 1e-9), max(int(smooth[-1] * part / size), 1)).cumsum()
    sizes = np.maximum(np.minimum(rng.exponential(impulse, batches.size), limit).round(), 1).astype(int)
    times = np.sort(np.concatenate([smooth, np.repeat(batches, sizes)]) if part > 0 else smooth)
    begin = end = area = merged = merged_area = 0.0
    found = []
    for time in times.tolist():
        if time >= end:
            length = end - begin
            if length > 3.0:
                found.append(2.0 * area / length**2)
            else:
                merged, merged_area = merged + length, merged_area + area
                if merged > 3.0:
                    found.append(2.0 * merged_area / merged**2)
                    merged = merged_area = 0.0
            begin = end = time
            area = 0.0
        area += end - time
        end += 1.0
    return (float(np.mean(found)), len(found) / times.size) if found else (0.0, 1e-6)
