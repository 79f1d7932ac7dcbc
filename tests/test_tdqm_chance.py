"""The theory of TDQM with chance against a plain simulation of the same windows, which was written from the paper's text before
the theory's code was read. Packets against theory are in ``tuning``."""

from __future__ import annotations

import numpy as np
import pytest

from tailback.analysis import tdqm, tdqm_chance

CAPACITY, ROUND_TRIP, BUFFER = 5625.0, 0.0822, 240.0
"""Of figure 5: packets per second, seconds, packets."""
NETWORKS, STEP = 100, 0.05
"""Networks that are simulated at once, and the part of a round trip of a step."""


def simulated(users: int, marks: tdqm.Marking, rounds: int = 600) -> float:
    """What the link carries on average, of its rate.

    Each window grows by a packet per round trip, and each of its packets bears a mark with the probability that the load of
    this moment has; a mark halves it, once per round trip. What the users have too much in flight waits, and makes round
    trips longer. Half of the time is left out.
    """
    chance = np.random.default_rng(users)
    window = CAPACITY * ROUND_TRIP / users * chance.uniform(0.5, 1.5, (NETWORKS, users))
    since = np.full(window.shape, np.inf)
    carried = []
    for step in range(round(rounds / STEP)):
        offered = window.sum(axis=1) / (CAPACITY * ROUND_TRIP)
        load = np.minimum(offered, 1.0)
        # A step is a part of a round trip without queueing, which is less of one that has waited.
        passed = STEP / np.clip(offered, 1.0, 1.0 + BUFFER / (CAPACITY * ROUND_TRIP))[:, None]
        base = np.clip(marks.max_p * (load - marks.low) / (marks.high - marks.low), 0.0, None)
        told = (2.0 * base / (1.0 + base))[:, None]
        marked = chance.random(window.shape) < 1.0 - (1.0 - told) ** (window * passed)
        halved = marked & (since > 1.0)
        window = np.where(halved, np.maximum(window / 2.0, 1.0), window + passed)
        since = np.where(halved, 0.0, since + passed)
        if step * STEP > rounds / 2:
            carried.append(load.mean())
    return float(np.mean(carried))


@pytest.mark.parametrize(
    ("users", "low", "max_p"),
    [
        # Thresholds so near to each other that a halving leads below the lower one.
        (15, 0.9, 0.02),
        (15, 0.9, 0.1),
        (5, 0.9, 0.001),
        (3, 0.9, 0.001),
        (2, 0.9, 0.001),
        # Far from each other.
        (15, 0.5, 0.003),
        (5, 0.5, 0.0004),
        (2, 0.5, 0.0001),
        (30, 0.5, 0.012),
    ],
)
def test_theory_with_chance_says_what_windows_do(users: int, low: float, max_p: float) -> None:
    marks = tdqm.Marking(low, 1.0, max_p, 0.25)
    network = tdqm.Network(CAPACITY, BUFFER, ROUND_TRIP, users)
    # 0.006 is what a halving per round trip takes off where windows are small; the rest of the error is a third of that.
    assert tdqm_chance.rest(network, marks).utilization == pytest.approx(simulated(users, marks), abs=0.006)


def test_a_single_window_goes_to_and_fro() -> None:
    # Marks of all packets above a threshold: one window falls from there to its half and grows again, so its mean is 3/4.
    marks = tdqm.Marking(0.9, 0.9 + 1e-6, 1.0, 0.25)
    network = tdqm.Network(100 * CAPACITY, 100 * BUFFER, ROUND_TRIP, 1)
    # Half a step of the grid, a thousand in the logarithm of a sum of up to 138,000 packets, is 0.6 % of it.
    assert tdqm_chance.rest(network, marks).utilization == pytest.approx(0.75 * 0.9, rel=0.006)
