"""Where the utilization loop of TDQM rests when windows are halved by chance, and the marks that bring it to a target. The
equations without chance, which this begins from, are in ``tdqm.py``; no packets run here.

The fluid model follows one mean window, and finds more load at rest than packets show, for two reasons:

* Marks meet users at random times. Then windows W differ, and as a window is halved the more often the larger it is, what
  counts is the mean of their squares: 17 % above the square of their mean. The same marks hold a smaller mean window.
* The sum S of N windows moves by chance, and the link carries no more than its rate: what S has too much at one time waits,
  and what it has too little at another is not made good.

So S is a random walk here: between marks it grows as in the fluid model, and each halving takes half of one window at once.
With x the load offered, q the queue that fills where it exceeds the link's rate C, B the buffer, I the load of impulses, and
R the round trip:

    x = S / (g R(q) C) + I / C,   q = g^-1 S C / (C - I) - R C within 0 and B,   R(q) = R + q / C
    growth    = N / (g R(q))  per second
    halvings  = N h  per second, h as in ``tdqm.py``, with p of the average min(x, 1); each takes s S / 2
    growth(S) density(S) = integral over y > S of  halvings(y) density(y) P(s > 2 (1 - S / y))

The last line says that as much goes up through S as comes down through it, so the density is found from the largest sum
down. The link carries the mean of min(x, 1). s is the part of the sum that the halved window has. A window that grows by one
per round trip and is halved by Poisson marks has E[W] = 1.3098 / sqrt(p) (Ott, Kemperman and Mathis 1996), and from rest
E[W^2] = 2 / p and E[W^3] = 8 E[W] / 3 p follow. A gamma distribution of shape k = 1 / (E[W^2] / E[W]^2 - 1) has its third
moment within 0.2 %, so s, which meets a window the more often the larger it is, has the beta distribution of k + 1 and
k (N - 1); a single window is the whole sum.

A diffusion with the same drift and variance is the same where marks are spread over many sums. It is not where the
thresholds are so near to each other that one halving leads from one to the other: then nothing is marked until S has
grown again, and the mean is far below the threshold. With one to five users between 0.9 and 1 it says up to 0.2 too much.

Known limits: the average follows S at once, so the loop must be far from oscillating; marks have no even spacing, which
would take 0.001 to 0.02 off, most from few users; windows of a few packets carry up to 0.006 less, since a round trip has
one halving; the queue of packets that meet by chance is left out, so buffers of some thirty packets and fewer carry less;
impulses are a steady load.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from tailback.analysis.tdqm import Marking, Network, Rest, margins
from tailback.calls import checked_call
from tailback.errors import refused

Floats = NDArray[np.float64]

MEAN = 1.3098
"""Of a window under Poisson marks, times the root of their probability (Ott, Kemperman and Mathis 1996)."""
SQUARES = 2.0 / MEAN**2
"""Mean of squares of windows, as a part of the mean's square."""
SHAPE = 1.0 / (SQUARES - 1.0)
"""Of the gamma distribution with this mean of squares; the mean of its cubes is within 0.2 % of that of windows."""
FINENESS, LEAST_POINTS, MOST_POINTS = 8, 1000, 4000
"""Points at which the density is computed: so many per halving of a mean window, within limits."""
QUANTILES = (np.arange(200) + 0.5) / 200
"""Of the part that a halved window has of the sum."""
NEVER = 1e-12
"""A density that is so much smaller than what was found is not followed any further."""
HUGE = 1e200
"""Densities are scaled down at this."""
RAREST = 1e-9
"""The least probability of marks that is looked for."""
NEAR = 1e-9
"""How near to the right probability the search ends, in logarithms."""
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


@checked_call
def rest(network: Network, rho: Marking) -> Rest:
    """The means of windows, of marks and of what the link carries."""
    least, most = math.log(network.users), math.log(_largest(network))
    points = round((most - least) * 2 * network.users * FINENESS)
    # In logarithms a halving is as long a step from every sum.
    sums = np.exp(np.linspace(least, most, min(max(points, LEAST_POINTS), MOST_POINTS)))
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
    halvings = -users * np.expm1(np.log1p(-np.minimum(told, 1.0 - 1e-9)) * window / g) / trip
    growth = users / (g * trip * sums)
    crossing = _crossing(users, math.log(sums[1] / sums[0]))
    reach, last = crossing.size, sums.size - 1
    found, coming = np.zeros(sums.size), np.zeros(sums.size + reach)
    found[last], coming[last] = 1.0, halvings[last]
    most = 1.0
    for at in range(last - 1, -1, -1):
        met = float(coming[at + 1 : at + 1 + reach] @ crossing) / growth[at]
        if met < NEVER * most:
            break
        found[at], coming[at] = met, met * halvings[at]
        most = max(most, met)
        if most > HUGE:
            found, coming, most = found / most, coming / most, 1.0
    return np.asarray(found / found.sum(), dtype=np.float64)


@lru_cache(maxsize=8)
def _crossing(users: int, step: float) -> Floats:
    """How much of the points 1, 2, … steps above a limit a halving there takes below it, in units of the logarithm of sums."""
    part = betaincinv(SHAPE + 1.0, SHAPE * (users - 1), QUANTILES) if users > 1 else np.ones(1)
    falls = -np.log1p(-0.5 * part)
    edges = np.arange(math.ceil(falls.max() / step)) * step
    return np.asarray(np.clip(falls - edges[:, None], 0.0, step).mean(axis=1), dtype=np.float64)


@checked_call
def max_p_for(network: Network, rho: Marking, target: float) -> float:
    """The probability at the upper threshold with which the link carries ``target``: the nearest to it where none does.

    Raises:
        ArgumentError: for a target that is not above 0 and at most 1.
    """
    if not 0.0 < target <= 1.0:
        raise refused("target", target, "a part of the link's rate, above 0 and at most 1")

    def more(at: float) -> float:
        """How much more than the target is carried where this is the probability's logarithm; the less, the larger it is."""
        return rest(network, replace(rho, max_p=math.exp(at))).utilization - target

    low, high = math.log(RAREST), 0.0
    if more(low) <= 0.0:
        return RAREST
    if more(high) >= 0.0:
        return 1.0
    from scipy.optimize import brentq  # Whoever does not tune need not wait for it.

    return math.exp(brentq(more, low, high, xtol=NEAR))


@checked_call
def tuned(network: Network, target: float) -> Marking:
    """Marks with which the link carries ``target``, in a loop that is far from oscillating; the calmest where none is.

    The thresholds are as near to the target as that allows: the lower is at most as far below it as the upper, 1, is above.
    Of weights, the smallest that is calm enough is taken, which chance moves least.

    Raises:
        ArgumentError: for a target that is not above a half and below 1.
    """
    if not 0.5 < target < 1.0:
        raise refused("target", target, "a part of the link's rate, above 0.5 and below 1")
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
