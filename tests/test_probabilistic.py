"""The bookkeeping of probabilistic congestion control against the paper's equations written anew, on random inputs."""

from __future__ import annotations

import json
import math
import random
from math import inf, isnan, prod

import pytest

from tailback import _core
from tailback.papers.pcc import example
from tests.probabilistic_by_paper import Receiver as ByPaper


class Receiver:
    """Widmer, Mauve and Damm, §3.4 to §3.6, from the text alone: equations (2), (3) and (4)."""

    def __init__(self, period: float, protected: float) -> None:
        self.period, self.protected = period, protected
        self.p: list[tuple[float, float]] = []
        self.p_prime: list[float] = []
        self.began: float | None = None
        self.owed = 0.0

    def decide(self, now: float, friendly: float, application: float, draw: float) -> tuple[float, float | None, str]:
        """p, p' and what becomes of the flow."""
        if self.began is None:
            self.began = now
            # §3.6: the probability of being turned off is increased, never decreased.
            self.owed = self.protected * max(application - friendly, 0.0)
        self.p = [(then, p) for then, p in self.p if now < then + self.period]
        p = friendly / (application * prod(p for _, p in self.p))
        p_prime = None
        if now < self.began + self.period:
            effective = application * prod(self.p_prime)
            p_prime = (self.period * friendly - self.owed) / (self.period * effective)
        chance = p if p_prime is None else p_prime
        if chance >= 1:
            return p, p_prime, "none"
        if chance <= 0 or draw > chance:
            return p, p_prime, "off"
        self.p.append((now, min(p, 1.0)))
        if p_prime is not None:
            self.p_prime.append(p_prime)
        return p, p_prime, "on"


@pytest.mark.parametrize("seed", range(200))
def test_decisions_are_those_of_the_paper(seed: int) -> None:
    rng = random.Random(seed)
    period, protected = rng.uniform(5, 100), rng.uniform(0.1, 20)
    now, steps = protected, []
    application = rng.uniform(50, 500)
    for _ in range(60):
        if rng.random() < 0.2:
            application *= rng.choice((0.01, 0.5, 2, 100))
        steps.append([round(now, 6), application * rng.uniform(0.6, 1.5), application])
        now += rng.expovariate(1 / 3)
    draws = [rng.random() ** 0.1 if rng.random() < 0.9 else 1e-9 for _ in steps]
    told = _core.probabilities(period, protected, steps, draws)
    receiver = Receiver(period, protected)
    names = ("none", "on", "off")
    for (p, p_prime, outcome), (at, friendly, sent), draw in zip(told, steps, draws, strict=False):
        expected = receiver.decide(at, friendly, sent, draw)
        assert p == pytest.approx(expected[0], rel=1e-9)
        assert (None if isnan(p_prime) else pytest.approx(p_prime, rel=1e-6, abs=1e-9)) == expected[1]
        # A chance of one to twelve digits is one.
        chance = expected[0] if expected[1] is None else expected[1]
        assert names[outcome] == expected[2] or abs(chance - 1) < 1e-9
    assert told[-1][2] == 2 or len(told) == len(steps)


def test_the_papers_example() -> None:
    decisions = example.decisions()
    assert [round(step.p, 2) for step in decisions] == [0.8, 0.5, 0.5, 0.8]
    assert [round(step.p_prime, 2) for step in decisions if step.p_prime is not None] == [0.76, 0.5, 0.47]


def test_absurd_input_is_refused() -> None:
    with pytest.raises(ValueError, match="period: 0 is not allowed; expected a finite number above 0"):
        _core.probabilities(0.0, 1.0, [[1.0, 1.0, 1.0]])
    with pytest.raises(ValueError, match="protected: -1 is not allowed; expected a finite number of at least 0"):
        _core.probabilities(1.0, -1.0, [[1.0, 1.0, 1.0]])
    with pytest.raises(ValueError, match="steps: inf is not allowed"):
        _core.probabilities(1.0, 1.0, [[1.0, math.inf, 1.0]])


def trace(rng: random.Random, seconds: float) -> list[tuple[float, int, int, float]]:
    """Packets of 1000 B every 8 ms or so, lost alone and in bursts at a rate that changes, some late. Every 0.1 s one echoes a
    new control packet, after a round trip of 60 to 140 ms; the others echo the same again."""
    packets, now, loss, burst = [], 1.0, rng.uniform(0.01, 0.06), 0
    for number in range(int(seconds / 0.008)):
        now += 0.008 * rng.uniform(0.6, 1.4)
        if rng.random() < 0.0005:
            loss = rng.uniform(0.005, 0.12)
        burst = max(burst - 1, 0) or (rng.randrange(1, 4) if rng.random() < loss / 2 else 0)
        if not burst:
            packets.append((now + (0.03 if rng.random() < 0.002 else 0.0), number))
    arrivals, fresh, echo = [], 0.0, 0.0
    for time, number in sorted(packets):
        at = round(time, 6)  # In whole microseconds, so that an echo is the same to the nanosecond.
        if at >= fresh:
            fresh, echo = at + 0.1, round(at - rng.uniform(0.06, 0.14), 6)
        arrivals.append((at, number, 1000, round(at - echo, 6)))
    return arrivals


@pytest.mark.parametrize("seed", range(40))
def test_the_same_packets_give_the_same_decisions(seed: int) -> None:
    """Both writings: p, p', T, who stays on and for how long who does not, at every evaluation up to the first that
    turns the flow off."""
    rng = random.Random(seed)
    period, own = rng.uniform(5, 40), rng.uniform(200e3, 900e3)
    arrivals = trace(rng, 60)
    config = {
        "period": f"{round(period * 1e3)} ms",
        "jitter": 0,
        "application_rate": {"name": "fixed", "rate": f"{round(own)} bit/s"},
        "loss_intervals": {"discounting": False},
        "protected_limit": "1000 s",
    }
    draws, rows = _core.probabilistic_receiver(json.dumps(config), arrivals, seed)
    left = iter(draws[1:])  # The first goes to T's jitter.
    receiver = ByPaper(round(period * 1e3) / 1e3, float(round(own)), 8000.0, lambda: next(left), credit=False)
    at, decided, echoed = 0, 0, -1.0
    for now, friendly, application, p, p_prime, on, off_for in rows:
        while at < len(arrivals) and arrivals[at][0] <= now + 1e-9:
            then, number, _, trip = arrivals[at]
            is_fresh, echoed = then - trip > echoed + 1e-6, then - trip
            receiver.arrival(then, number, trip if is_fresh else None)
            at += 1
        assert application == pytest.approx(receiver.own)
        assert friendly == (inf if receiver.friendly() == inf else pytest.approx(receiver.friendly(), rel=1e-6))
        decision = receiver.evaluate(now)
        if decision is None:
            assert on
            continue
        decided += 1
        assert on == decision.stays, (now, decision)
        if not decision.stays:
            assert off_for == pytest.approx(decision.off_for, rel=1e-6)
            break
        expected = receiver.after(now)
        assert p == pytest.approx(expected[0], rel=1e-6)
        assert (None if isnan(p_prime) else pytest.approx(p_prime, rel=1e-6, abs=1e-9)) == expected[1]
    assert decided > 0
