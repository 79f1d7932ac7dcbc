"""Figure 15 of Tuan and Park: what SAC gains against the shape of the background, and against the round trip time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter
from tailback.papers.mtsc import sac
from tailback.papers.mtsc.network import Run, scenario, scheme_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.analysis import Interval
    from tailback.papers.lab import Lab

SHAPES = (1.05, 1.35, 1.65, 1.95)
DELAYS = (0.005, 0.01, 0.02, 0.04)
"""Seconds per link; three links each way."""
TRIPS = tuple(round(6e3 * delay) for delay in DELAYS)
"""The round trips in milliseconds."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return sac.parameters(
        fidelity,
        Parameter("shapes", "1.05, 1.35, 1.65, 1.95", "stated", "Fig. 15 (left)"),
        Parameter(
            "round trips",
            "30, 60, 120 and 240 ms: the delay of every link",
            "inferred",
            "Fig. 15 (right) has no numbers",
        ),
    )


def measure(lab: Lab) -> Outcome:
    """Pairs of runs per shape and per round trip."""
    places = [sac.setting(lab.fidelity, shape) for shape in SHAPES] + [
        sac.setting(lab.fidelity, 1.05, delay=delay) for delay in DELAYS
    ]
    several = sac.pairs(lab, places, sac.inverse(), sac.generic())
    gains = [sac.gain(*runs[0]) for runs in several]
    shapes, trips = gains[: len(SHAPES)], gains[len(SHAPES) :]
    checks = _checks(gains)
    rows = [
        {"of": "shape", "at": at, "gain": each.mean, "ci95": each.half_width}
        for at, each in zip(SHAPES, shapes, strict=True)
    ]
    rows += [
        {"of": "round trip", "at": float(at), "gain": each.mean, "ci95": each.half_width}
        for at, each in zip(TRIPS, trips, strict=True)
    ]
    return Outcome(
        measured={
            "gain": {
                **{str(at): each.mean for at, each in zip(SHAPES, shapes, strict=True)},
                **{f"{at} ms": each.mean for at, each in zip(TRIPS, trips, strict=True)},
            }
        },
        checks=checks,
        data=pl.DataFrame(rows),
        units={"gain": "fraction"},
        why=sac.why(
            checks,
            "Next to shape 1 the gain does not grow in one run. In the mean of eight runs it does, but by less than "
            "from 1.65 to 1.35. With the round trip it does not grow: reports come as often as before, but later, so "
            "each overshoot lasts longer and costs more than the faster increase gains.",
        ),
        changed=ChangedTest(_checks([sac.mean_gain(runs) for runs in several]), sac.SEVERAL),
        scenario=scenario(Run(places[-1], 0.05, scheme_of(sac.inverse()))).to_toml(),
    )


def _checks(gains: Sequence[Interval]) -> tuple[Check, ...]:
    """The ledger's test, on these gains: by shape, then by round trip."""
    shapes, trips = gains[: len(SHAPES)], gains[len(SHAPES) :]
    steps = [a.mean - b.mean for a, b in pairwise(shapes)]
    said, told = (
        ", ".join(f"{100 * each.mean:.1f} ± {100 * each.half_width:.1f}" for each in part) for part in (shapes, trips)
    )
    return (
        Check(
            "the gain grows as the shape falls",
            f"{said} % from 1.05 to 1.95",
            "at every step",
            all(step > 0.0 for step in steps),
        ),
        Check(
            "in growing steps",
            ", ".join(f"{100 * step:.1f}" for step in steps) + " % from 1.05 up",
            "largest next to 1",
            steps == sorted(steps, reverse=True),
        ),
        Check(
            "the gain grows with the round trip",
            f"{told} % at {', '.join(map(str, TRIPS))} ms",
            "at every step",
            all(b.mean > a.mean for a, b in pairwise(trips)),
        ),
    )


def draw(outcome: Outcome) -> Figure:
    """Both panels."""
    from tailback.plot.style import COLOURS, figure, style

    with style():
        made, axes = figure(1, 2, width=7.0, height=3.0)
        for axis, name, label in zip(
            axes, ("shape", "round trip"), ("shape $\\alpha$", "round trip time (ms)"), strict=True
        ):
            part = outcome.data.filter(pl.col("of") == name)
            axis.errorbar(
                part["at"], 100.0 * part["gain"], 100.0 * part["ci95"], marker="o", capsize=2, color=COLOURS[0]
            )
            axis.set_xlabel(label)
            axis.set_ylabel("gain of SAC (%)")
    return made
