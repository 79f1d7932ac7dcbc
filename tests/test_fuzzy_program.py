"""The fuzzy estimator's program mode against the listing of Keshav 1994, appendix, written out anew: nothing here is shared
with the estimator. Names are the listing's."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest

from tailback import _core
from tailback.papers.packet_pair.scenes import PROGRAM

LP, MP_E, MP_A, RP = 0.0, 0.7, 0.5, 1.0


def xintercept(x1: float, y1: float, x2: float, y2: float, y: float) -> float:
    return ((x2 - x1) / (y2 - y1)) * (y - (x2 * y1 - x1 * y2) / (x2 - x1))


def yintercept(x1: float, y1: float, x2: float, y2: float, x: float) -> float:
    return ((y2 - y1) / (x2 - x1)) * x + ((x2 * y1 - x1 * y2) / (x2 - x1))


def poss_low(error: float, mp: float) -> float:
    if error <= LP:
        return 1.0
    return 0.0 if error >= mp else yintercept(LP, 1.0, mp, 0.0, error)


def poss_high(error: float, mp: float) -> float:
    if error <= mp:
        return 0.0
    return 1.0 if error >= RP else yintercept(mp, 0.0, RP, 1.0, error)


def poss_med(error: float, mp: float) -> float:
    if error <= LP or error >= RP:
        return 0.0
    return yintercept(LP, 0.0, mp, 1.0, error) if error < mp else yintercept(mp, 1.0, RP, 0.0, error)


@dataclass
class Trap:
    """``TRAP``: corners and height."""

    x1: float
    x2: float
    x3: float
    x4: float
    y0: float

    @property
    def area(self) -> float:
        """``find_area``."""
        return 0.5 * self.y0 * (self.x4 + self.x3 - self.x2 - self.x1)

    @property
    def xcentroid(self) -> float:
        """``xcentroid``."""
        x1, x2, x3, x4 = self.x1, self.x2, self.x3, self.x4
        return (x3 * x4 - x1 * x2 + x3 * x3 + x4 * x4 - x1 * x1 - x2 * x2) / (3 * (x3 + x4 - x1 - x2))

    @property
    def weight(self) -> float:
        """Area times centroid, as every controller takes it."""
        return self.area * self.xcentroid if self.area != 0 else 0.0


class Listing:
    """``compute_alpha`` with its globals, and the lines of ``pp`` that call it."""

    def __init__(self) -> None:
        self.fuzzy_start = True
        self.old_error_1 = 0.0
        self.error_est = 0.5
        self.se: float | None = None

    def see(self, inter_ack: float) -> float:
        """An observation; the new estimate."""
        if self.se is None:
            self.se = inter_ack
        else:
            alpha = self.compute_alpha(self.se, inter_ack)
            self.se = alpha * self.se + (1 - alpha) * inter_ack
        return self.se

    def get_error(self, sbest: float, sbact: float, beta: float) -> float:
        """``get_error``."""
        error = abs(sbest - sbact) / sbest
        self.old_error_1 = error
        return beta * self.error_est + (1 - beta) * error

    def compute_alpha(self, sbest: float, sbact: float) -> float:
        """``compute_alpha``."""
        if self.fuzzy_start:
            self.fuzzy_start = False
            sbest = 1.5 * sbact
            self.old_error_1, self.error_est = 0.0, 0.5
        left, right = Trap(0.0, 0.0, LP, MP_A, 1.0), Trap(MP_A, RP, 1.0, 1.0, 1.0)
        inv_range_a, left_xcentroid_a = 1.0 / (right.xcentroid - left.xcentroid), left.xcentroid
        left, right = Trap(0.0, 0.0, LP, RP, 1.0), Trap(LP, RP, 1.0, 1.0, 1.0)
        inv_range_b, left_xcentroid_b = 1.0 / (right.xcentroid - left.xcentroid), left.xcentroid

        ce = abs(abs(sbest - sbact) / sbest - self.old_error_1)
        low, high = 1 - ce, ce
        x23, x24, x31, x32 = low, 1 - low, high, 1 - high
        b, c = Trap(LP, LP, x24, RP, low), Trap(LP, x31, 1.0, 1.0, high)
        e = Trap(LP, min(x23, x31), max(x24, x32), RP, min(low, high))
        value = (b.weight + c.weight - e.weight) / (b.area + c.area - e.area)
        beta = (value - left_xcentroid_b) * inv_range_b

        error = self.get_error(sbest, sbact, beta)
        low, med, high = poss_high(error, MP_E), poss_med(error, MP_E), poss_low(error, MP_E)
        x11, x12 = xintercept(LP, 1.0, MP_A, 0.0, low), xintercept(LP, 0.0, MP_A, 1.0, low)
        x21, x22 = xintercept(LP, 0.0, MP_A, 1.0, med), xintercept(LP, 1.0, MP_A, 0.0, med)
        x23, x24 = xintercept(MP_A, 0.0, RP, 1.0, med), xintercept(MP_A, 1.0, RP, 0.0, med)
        x31, x32 = xintercept(MP_A, 0.0, RP, 1.0, high), xintercept(MP_A, 1.0, RP, 0.0, high)
        a, b, c = Trap(0.0, 0.0, x11, MP_A, low), Trap(LP, x21, x24, RP, med), Trap(MP_A, x31, 1.0, 1.0, high)
        d = Trap(LP, min(x11, x21), max(x12, x22), MP_A, min(low, med))
        e = Trap(MP_A, min(x23, x31), max(x24, x32), RP, min(med, high))
        value = (a.weight + b.weight + c.weight - d.weight - e.weight) / (a.area + b.area + c.area - d.area - e.area)
        return (value - left_xcentroid_a) * inv_range_a


def largest_gap(seen: list[float], config: object = PROGRAM) -> float:
    """Of the estimates from the listing's, relative to these."""
    listing = Listing()
    expected = np.array([listing.see(value) for value in seen])
    found = np.array(_core.estimate(json.dumps(config), seen))
    return float(np.max(np.abs(found - expected) / expected))


RNG = np.random.default_rng(19)
WALKS = {
    "near 1": 1.0 + 0.1 * RNG.random(2000),
    "a decade up and down": 10 ** RNG.uniform(-1, 1, 2000),
    "steps": np.repeat(RNG.choice([1.0, 2.0, 5.0, 10.0], 100), 20) * RNG.uniform(0.9, 1.1, 2000),
    "spikes": np.where(RNG.random(2000) < 0.05, RNG.uniform(2, 10, 2000), 1.0) * RNG.uniform(0.9, 1.1, 2000),
    "from 1 to 10 at once": np.repeat([1.0, 10.0, 1.0], [10, 40, 100]),
    "one change of exactly 1 and 2": np.array([3.0, 3.0, 6.0, 3.0, 9.0, 3.0]),
}


@pytest.mark.parametrize("name", WALKS)
def test_the_program_mode_is_the_listing(name: str) -> None:
    assert largest_gap(WALKS[name].tolist()) < 1e-12


@pytest.mark.parametrize("left_out", ["relative_to", "carry_error", "overlap", "limit_change", "first_ratio"])
def test_every_option_of_the_program_matters(left_out: str) -> None:
    config = {key: value for key, value in PROGRAM.items() if key != left_out}
    assert max(largest_gap(seen.tolist(), config) for seen in WALKS.values()) > 1e-3


def test_a_jump_is_believed_at_once() -> None:
    *_, found = _core.estimate(json.dumps(PROGRAM), [1.0, 1.0, 1.0, 10.0])
    assert found == pytest.approx(10.0)
