"""The worked example of Widmer, Mauve and Damm, §4: the probabilities p and p' through four decisions. The receiver's own
bookkeeping, in the core, is held to the same numbers by its tests; here the formulas are written anew, from the paper."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, prod
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from tailback import _core
from tailback.papers.item import Check, Fidelity, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

PUBLISHED = {"p": [0.8, 0.5, 0.5, 0.8], "p_prime": [0.76, 0.5, 0.47]}
T, PROTECTED = 50.0, 10.0
"""Seconds."""
STEPS = ((10.0, 80.0, 100.0), (30.0, 80.0, 200.0), (35.0, 40.0, 200.0), (60.0, 40.0, 200.0))
"""When, r_TCP and r_NA, in s and kbit/s. The times of the second and third are not given; any between 10 and 60 "
"s do."""


class Decision(NamedTuple):
    """The two probabilities; the second only while the protected time is made up for."""

    p: float
    p_prime: float | None


def decisions() -> list[Decision]:
    """Equations (2) to (4), every experiment passed."""
    owed = PROTECTED * (STEPS[0][2] - STEPS[0][1])
    passed: list[tuple[float, float]] = []
    adjusted: list[float] = []
    made = []
    for at, friendly, application in STEPS:
        passed = [(then, p) for then, p in passed if then + T > at]
        p = friendly / (application * prod(p for _, p in passed))
        p_prime = None
        if at < PROTECTED + T:
            effective = application * prod(adjusted)
            p_prime = friendly / effective - owed / (T * effective)
            adjusted.append(p_prime)
        passed.append((at, p))
        made.append(Decision(p, p_prime))
    return made


def parameters(_: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        Parameter("T", "50 s", "stated", "§4"),
        Parameter("T'", "10 s", "stated", "§4"),
        Parameter("r_NA", "100, then 200 kbit/s", "stated", "§4"),
        Parameter("r_TCP", "80, then 40 kbit/s", "stated", "§4"),
        Parameter(
            "times of the changes",
            "30 s and 35 s",
            "inferred",
            "“some later point”; any time before 60 s gives the same",
        ),
    )


def measure(_: Lab) -> Outcome:
    """Runs the core's bookkeeping and the formulas, and compares both with the paper."""
    told = _core.probabilities(T, PROTECTED, [list(step) for step in STEPS])
    core = [Decision(p, None if isnan(p_prime) else p_prime) for p, p_prime, _ in told]
    own = decisions()
    p = [step.p for step in core]
    p_prime = [step.p_prime for step in core if step.p_prime is not None]
    agree = all(
        abs(a.p - b.p) < 1e-12 and abs((a.p_prime or 0.0) - (b.p_prime or 0.0)) < 1e-12
        for a, b in zip(core, own, strict=True)
    )

    def equal(values: Sequence[float], published: Sequence[float]) -> bool:
        return [round(value, 2) for value in values] == list(published)

    checks = (
        Check("p", ", ".join(f"{value:.4g}" for value in p), "0.8, 0.5, 0.5, 0.8", equal(p, PUBLISHED["p"])),
        Check(
            "p'",
            ", ".join(f"{value:.4g}" for value in p_prime),
            "0.76, 0.5, 0.47",
            equal(p_prime, PUBLISHED["p_prime"]),
        ),
        Check(
            "the core's bookkeeping against the formulas written anew",
            "equal" if agree else "not equal",
            "equal",
            agree,
        ),
    )
    data = pl.DataFrame({"time": [step[0] for step in STEPS], "p": p, "p_prime": [*p_prime, None]})
    return Outcome({"p": p, "p_prime": p_prime}, checks, data, {"time": "s"}, "")


def draw(outcome: Outcome) -> Figure:
    """Both probabilities at their times."""
    from tailback.plot.style import COLOURS, figure, style

    data = outcome.data
    with style():
        made, (axes,) = figure(1, 1, height=2.6)
        axes.plot(data["time"], data["p"], color=COLOURS[0], marker="o", linestyle="none", label="p")
        axes.plot(data["time"], data["p_prime"], color=COLOURS[1], marker="s", linestyle="none", label="p'")
        axes.set_ylim(0, 1)
        axes.set_xlim(0, 65)
        axes.set_xlabel("time (s)")
        axes.set_ylabel("probability of staying on")
        axes.legend()
    return made
