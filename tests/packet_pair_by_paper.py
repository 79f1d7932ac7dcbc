"""Packet-pair's laws and estimators written down again from Keshav's memorandum alone (*Packet-Pair Flow Control*, 1994, §4), in
plain numbers. The source that uses them is in ``packet_pair_source_by_paper.py``; no test lives here.

What the memorandum leaves open and this chose:

* **The fuzzy controller** (§4.5.2 and the C code of the appendix) is told twice, with five differences, each a field of ``Fuzzy``.
  The error is over the observation in the prose, over the estimate in the appendix. The appendix never stores the smoothed error,
  so that its averager averages against 0.5 for ever; the prose says an exponential averager. For the overlap of 'low' and
  'medium' the appendix swaps two corners (x11 and x12 in ``d``; its own ``e`` has them right), so that the result is no centroid. A
  change in error above one has a height below zero there, where Figure 3 ends at one. And its first estimate counts as 1.5 times
  the observation. ``Fuzzy()`` is the prose, ``appendix()`` the program.
* **The Kalman filter** begins with x = 0 and Σ = 0 in §4.4.2, 'can be assumed'. Then it is certain of an empty network and takes
  many epochs to unlearn it, so both are arguments. Its n_b does not bear on its μ: where only μ is wanted, the epochs' lengths
  and rates do not matter.
* **n_b(k) in the discrete law** is any estimator's (§4.2); by §4.3 that is equation 12 rather than equation 2, which drifts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

MIDDLE_ERROR, MIDDLE_ALPHA = 0.7, 0.5
"""Where 'medium' is fully meant (``MP_E`` and ``MP_A`` of the appendix; Figure 3 has no numbers)."""


def discrete(*, alpha: float, setpoint: float, queue: float, sent: float, mu: tuple[float, float], rtt: float) -> float:
    """λ(k+1) of §4.2.1: equation 9 with the pole placed by α. ``setpoint`` is B/2,
    ``mu`` that of this epoch and of the next."""
    return alpha / rtt * (setpoint - queue - sent + sum(mu) * rtt)


def continuous(setpoint: float, outstanding: float, mu: float, propagation: float, horizon: float) -> float:
    """λ(t) of equation 14."""
    return (setpoint - outstanding + propagation * mu + horizon * mu) / horizon


def bottleneck_queue(outstanding: float, mu: float, propagation: float) -> float:
    """n̂_b of equation 12."""
    return outstanding - propagation * mu


def averaged(alpha: float, old: float, seen: float) -> float:
    """The exponential averager: ``alpha`` is the weight of the past."""
    return alpha * old + (1.0 - alpha) * seen


class Kalman:
    """§4.4.2: the state is (n_b, μ, μ of the epoch before), the observation that last one."""

    def __init__(self, system: float, observation: float, rate: float = 0.0, variance: float = 0.0) -> None:
        self.q = np.diag([0.0, system, 0.0])
        self.r = observation
        self.c = np.array([[0.0, 0.0, 1.0]])
        self.x = np.array([[0.0], [rate], [rate]])
        self.sigma = variance * np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]])

    def epoch(self, seen: float, rate: float, rtt: float) -> tuple[float, float]:
        """n̂_b(k+1) and μ̂(k+1) after an epoch of ``rtt`` at ``rate``, in which ``seen`` was the mean service rate."""
        g = np.array([[1.0, -rtt, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
        h = np.array([[rtt], [0.0], [0.0]])
        spread = float((self.c @ self.sigma @ self.c.T)[0, 0]) + self.r
        gain = g @ self.sigma @ self.c.T / spread
        self.x = g @ self.x + gain * (seen - float((self.c @ self.x)[0, 0])) + h * rate
        self.sigma = g @ self.sigma @ g.T + self.q - gain @ gain.T * spread
        return float(self.x[0, 0]), float(self.x[1, 0])


@dataclass
class ServiceKalman:
    """The filter for one source's service times. It begins with the first, with the variance of an observation of it; both
    deviations are parts of that first rate."""

    system: float = 0.05
    observation: float = 0.1
    filter: Kalman | None = None

    def next(self, old: float, seen: float) -> float:
        """The estimate after ``seen``; ``old`` is the first observation where nothing was estimated before."""
        if self.filter is None:
            noise = (self.observation / old) ** 2
            self.filter = Kalman((self.system / old) ** 2, noise, 1.0 / old, noise)
            self.filter.epoch(1.0 / old, 0.0, 0.0)
        return 1.0 / self.filter.epoch(1.0 / seen, 0.0, 0.0)[1]


# ── §4.5: fuzzy exponential averaging ──


def low(x: float, middle: float) -> float:
    """Membership in 'low': one at 0, none from the middle on (Fig. 3)."""
    return min(max(1.0 - x / middle, 0.0), 1.0)


def high(x: float, middle: float) -> float:
    """Membership in 'high': none up to the middle, one from 1 on."""
    return min(max((x - middle) / (1.0 - middle), 0.0), 1.0)


def medium(x: float, middle: float) -> float:
    """Membership in 'medium': one at the middle, none at both ends."""
    return max(min(x / middle, (1.0 - x) / (1.0 - middle)), 0.0)


def centroid(shape: Callable[[float], float], corners: list[float]) -> float:
    """The centroid of a shape that is straight between its corners."""
    ends = sorted({0.0, 1.0, *corners})
    area = moment = 0.0
    for a, b in pairwise(ends):
        fa, fb = shape(a), shape(b)
        area += 0.5 * (b - a) * (fa + fb)
        moment += (b - a) * (fa * (2.0 * a + b) + fb * (a + 2.0 * b)) / 6.0
    return moment / area


def beta_of(change: float) -> float:
    """β for a change in error: a large change, a large β. Two sets over the whole range."""
    up = min(max(change, 0.0), 1.0)
    down = 1.0 - up
    value = centroid(lambda x: max(min(down, 1.0 - x), min(up, x)), [up, down, 0.5])
    return (value - 1.0 / 3.0) * 3.0


def alpha_of(error: float) -> float:
    """α for a smoothed proportional error: low where the error is high, and so on; the centroid of the union of the three."""
    cut = (high(error, MIDDLE_ERROR), medium(error, MIDDLE_ERROR), low(error, MIDDLE_ERROR))
    m = MIDDLE_ALPHA

    def union(x: float) -> float:
        return max(min(cut[0], low(x, m)), min(cut[1], medium(x, m)), min(cut[2], high(x, m)))

    corners = [0.5 * m, m, 0.5 * (1.0 + m)]
    for height in cut:
        corners += [m * height, m * (1.0 - height), m + (1.0 - m) * height, 1.0 - (1.0 - m) * height]
    return stretched(centroid(union, corners), m / 3.0, 1.0 - (1.0 - m) / 3.0)


def stretched(value: float, least: float, most: float) -> float:
    """So that a pure 'low' is 0 and a pure 'high' 1."""
    return (value - least) / (most - least)


def of_trapezia(*signed: tuple[int, tuple[float, float, float, float], float]) -> float:
    """The centroid of corners and heights, added or taken away, as ``find_area`` and ``xcentroid`` of the appendix have it."""
    area = moment = 0.0
    for sign, (x1, x2, x3, x4), height in signed:
        here = sign * 0.5 * height * (x4 + x3 - x2 - x1)
        if here:
            area += here
            moment += here * (x3 * x4 - x1 * x2 + x3**2 + x4**2 - x1**2 - x2**2) / (3.0 * (x3 + x4 - x1 - x2))
    return moment / area


def beta_without_end(change: float) -> float:
    """β with a height below zero where the change is above one: the appendix to the letter."""
    down, up = 1.0 - change, change
    value = of_trapezia(
        (1, (0.0, 0.0, 1.0 - down, 1.0), down),
        (1, (0.0, up, 1.0, 1.0), up),
        (-1, (0.0, min(down, up), max(1.0 - down, 1.0 - up), 1.0), min(down, up)),
    )
    return stretched(value, 1.0 / 3.0, 2.0 / 3.0)


def alpha_crossed(error: float) -> float:
    """α with the swapped corners: the appendix to the letter."""
    lo, me, hi = high(error, MIDDLE_ERROR), medium(error, MIDDLE_ERROR), low(error, MIDDLE_ERROR)
    m, rest = MIDDLE_ALPHA, 1.0 - MIDDLE_ALPHA
    both = min(me, hi)
    value = of_trapezia(
        (1, (0.0, 0.0, m * (1.0 - lo), m), lo),
        (1, (0.0, m * me, 1.0 - rest * me, 1.0), me),
        (1, (m, m + rest * hi, 1.0, 1.0), hi),
        (-1, (0.0, min(m * (1.0 - lo), m * me), max(m * lo, m * (1.0 - me)), m), min(lo, me)),
        (-1, (m, m + rest * both, 1.0 - rest * both, 1.0), both),
    )
    return stretched(value, m / 3.0, 1.0 - rest / 3.0)


@dataclass
class Fuzzy:
    """α of one source, probe by probe (Fig. 4); each field is one point in which prose (as it stands) and appendix differ."""

    over_estimate: bool = False
    stored: bool = True
    crossed: bool = False
    without_end: bool = False
    first_estimate: float | None = None
    """What the first estimate counts as, in observations."""
    error: float = 0.0
    """Proportional error of the last probe, not smoothed."""
    smoothed: float = 0.5

    def next(self, old: float, seen: float) -> float:
        """The estimate after ``seen``."""
        return averaged(self.alpha(old, seen), old, seen)

    def alpha(self, estimate: float, seen: float) -> float:
        """α for the averaging of ``seen`` into ``estimate``."""
        if self.first_estimate is not None:
            estimate, self.first_estimate = self.first_estimate * seen, None
        error = abs(seen - estimate) / (estimate if self.over_estimate else seen)
        change = abs(error - self.error)
        beta = beta_without_end(change) if self.without_end else beta_of(change)
        smoothed = averaged(beta, self.smoothed, error)
        self.error = error
        if self.stored:
            self.smoothed = smoothed
        return alpha_crossed(smoothed) if self.crossed else alpha_of(smoothed)


def appendix() -> Fuzzy:
    """The controller as printed in C."""
    return Fuzzy(over_estimate=True, stored=False, crossed=True, without_end=True, first_estimate=1.5)
