"""Where the utilization loop of TDQM rests when windows are halved by chance, and the marks that bring it to a target. The
equations without chance, which this begins from, are in ``tdqm.py``; no packets run here.

The fluid model follows one mean window, and finds more load at rest than packets show, for two reasons:

* Marks meet users at random times. Then windows W differ, and as a window is halved the more often the larger it is, what
  counts is the mean of their squares: 17 % above the square of their mean. The same marks hold a smaller mean window.
* The sum S of N windows moves by chance, and the link carries no more than its rate: what S has too much at one time waits,
  and what it has too little at another is not made good.

So S is a random walk here: to the fluid model's drift comes the chance of halvings. With x the load offered, q the queue
that fills where it exceeds the link's rate C, B the buffer, I the load of impulses, and R the round trip:

    x = S / (g R(q) C) + I / C,   q = g^-1 S C / (C - I) - R C within 0 and B,   R(q) = R + q / C
    drift     = N / (g R(q)) - a2 S / 2 * h,       h as in ``tdqm.py``, with p of the average min(x, 1)
    variance  = a3 N (S / 2 N)^2 h  per second
    density  ~= exp(2 integral drift / variance) / variance

The link carries the mean of min(x, 1). a2 and a3 are moments of a window that grows by one per round trip and is halved by
Poisson marks (Ott, Kemperman and Mathis 1996): E[W] = 1.3098 / sqrt(p), and E[W^2] = 2 / p and E[W^3] = 8 E[W] / 3 p follow
from rest. Known limits: the average follows S at once, so the loop must be far from oscillating; the queue of packets that
meet by chance is left out, so buffers of some thirty packets and fewer carry less; impulses are a steady load.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tailback.analysis.tdqm import Marking, Network, Rest, margins

Floats = NDArray[np.float64]

MEAN = 1.3098
"""Of a window under Poisson marks, times the root of their probability (Ott, Kemperman and Mathis 1996)."""
SQUARES, CUBES = 2.0 / MEAN**2, (8.0 / 3.0) / MEAN**2
"""Mean of squares and of cubes of windows, as parts of the mean's square and cube."""
POINTS = 2000
"""At which the density is computed."""
RAREST = 1e-9
"""The least probability of marks that is looked for."""
PHASE, GAIN = 60.0, 6.0
"""Degrees, and a factor of gain, that the loop shall be from oscillating. Windows of two or three packets move in large steps,
for which the linearised loop is no more than a hint: with a factor of 4 they swing, and overflow their buffer."""
HIGHEST, SPACING = 0.9, 0.05
"""The lower threshold is the paper's (§IV-B) at most, and is lowered in such steps until the loop is calm. That costs little: a
link with ten users and more that is as busy has a queue that is a fifth longer at most with 0.5 than with 0.88; with few users
it is longer, so a threshold that is high enough is not lowered."""
REACHED = 1e-3
"""Thresholds between which no marks bring the link nearer to the target than this are no choice."""
WEIGHTS = np.geomspace(0.05, 0.95, 16)
"""Of a sample in the average: chance moves an average of small weight least, and a large one follows the load soonest."""


def rest(network: Network, rho: Marking) -> Rest:
    """The means of windows, of marks and of what the link carries."""
    sums = np.linspace(network.users, _largest(network), POINTS)
    load, queue = _load(network, sums)
    carried = np.minimum(load, 1.0)
    marked = np.clip(rho.max_p * (carried - rho.low) / (rho.high - rho.low), 0.0, 1.0)
    marked = 2.0 * marked / (1.0 + marked)
    # What does not fit the buffer tells as a mark does.
    lost = np.where((load > 1.0) & (queue >= network.buffer), 1.0 - 1.0 / np.maximum(load, 1.0), 0.0)
    weights = _density(network, sums, queue, 1.0 - (1.0 - marked) * (1.0 - lost))
    return Rest(float(weights @ sums) / network.users, float(weights @ marked), float(weights @ carried))


def _left(network: Network) -> float:
    """Packets per second that impulses leave of the link; some, so that nothing is divided by zero."""
    return max(network.capacity - network.impulse_load, 1e-3 * network.capacity)


def _largest(network: Network) -> float:
    """A sum of windows that overflows the buffer half as much again."""
    left = _left(network)
    full = network.g * left * (network.round_trip + network.buffer / network.capacity)
    return max(1.5 * full, 4.0 * network.users)


def _load(network: Network, sums: Floats) -> tuple[Floats, Floats]:
    """What sums of windows offer, of the link's rate, and the queue in packets that they keep."""
    capacity, trip = network.capacity, network.round_trip
    fill = capacity * (sums / (network.g * _left(network)) - trip)
    queue = np.clip(fill, 0.0, network.buffer)
    load = (sums / (network.g * (trip + queue / capacity)) + network.impulse_load) / capacity
    return load, queue


def _density(network: Network, sums: Floats, queue: Floats, told: Floats) -> Floats:
    """How often each sum is met, where a part ``told`` of packets bears a mark or is lost."""
    users, g = network.users, network.g
    trip = network.round_trip + queue / network.capacity
    window = sums / users
    halved = -np.expm1(np.log1p(-np.minimum(told, 1.0 - 1e-9)) * window / g) / trip
    drift = users / (g * trip) - SQUARES * sums / 2.0 * halved
    # Where nothing is told nothing moves by chance: a ten-thousandth of a packet keeps the quotient finite.
    variance = CUBES * users * (window / 2.0) ** 2 * halved + 2e-4 * users / trip
    slope = 2.0 * drift / variance
    steps = 0.5 * (slope[1:] + slope[:-1]) * np.diff(sums)
    height = np.concatenate([[0.0], np.cumsum(steps)]) - np.log(variance)
    found = np.exp(height - height.max())
    return np.asarray(found / found.sum(), dtype=np.float64)


def max_p_for(network: Network, rho: Marking, target: float) -> float:
    """The probability at the upper threshold with which the link carries ``target``: the nearest to it where none does."""
    low, high = math.log(RAREST), 0.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        if rest(network, replace(rho, max_p=math.exp(middle))).utilization > target:
            low = middle
        else:
            high = middle
    return math.exp(high)


def tuned(network: Network, target: float) -> Marking:
    """Marks with which the link carries ``target``, in a loop that is far from oscillating; the calmest where none is.

    The thresholds are as near to the target as that allows: the lower is at most as far below it as the upper, 1, is above.
    Of weights, the smallest that is calm enough is taken, which chance moves least.
    """
    top = min(2.0 * target - 1.0, HIGHEST)
    ranked = []
    for low in (top, *np.arange(math.ceil(top / SPACING) - 1, -1, -1) * SPACING):
        marks = Marking(float(low), 1.0, 1.0, float(WEIGHTS[0]))
        marks = replace(marks, max_p=max_p_for(network, marks, target))
        at = rest(network, marks)
        missed = abs(at.utilization - target)
        if missed > REACHED:
            ranked.append(((False, -missed), marks))
            continue
        for weight in WEIGHTS:
            marks = replace(marks, weight=float(weight))
            left = margins(network, marks, at)
            calm = min(left.phase / PHASE, left.gain / GAIN)
            if calm >= 1.0:
                return marks
            ranked.append(((True, calm), marks))
    return max(ranked, key=lambda entry: entry[0])[1]
