"""Figure 11 of Tuan and Park: the threshold's curve as the whole aggressiveness schedule is raised."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.mtsc import sac
from tailback.papers.mtsc.drawing import curves
from tailback.papers.mtsc.network import Run, scenario, scheme_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

SHIFTS = (0.5, 2.0, 4.0, 20.0)


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return sac.parameters(fidelity, Parameter("shifts", "0.5, 2, 4 and 20", "stated", "Fig. 11"))


def measure(lab: Lab) -> Outcome:
    """A run per shift and threshold."""
    place = sac.setting(lab.fidelity, 1.05)
    found = sac.measured(lab, [(place, sac.threshold(theta, shift), 1) for shift in SHIFTS for theta in sac.THRESHOLDS])
    runs = {shift: found[8 * index : 8 * index + 8] for index, shift in enumerate(SHIFTS)}
    values = {shift: [run.total for run in each] for shift, each in runs.items()}
    best = {shift: sac.peak(each) for shift, each in values.items()}
    tops = [max(values[shift]) for shift in SHIFTS]
    order = [best[shift] for shift in SHIFTS]
    moves = all(b <= a for a, b in pairwise(order)) and order[-1] < order[0]
    inside = 0 < tops.index(max(tops)) < len(tops) - 1
    checks = (
        Check(
            "the best threshold falls as the shift grows",
            ", ".join(f"{n} at {shift:g}" for shift, n in best.items()),
            "never rising, and falling",
            moves,
        ),
        Check(
            "the best throughput rises, then falls",
            f"{sac.said(tops)} kB/s",
            "one maximum strictly inside",
            inside and sac.turns_once(tops),
        ),
    )
    data = pl.DataFrame(
        [
            {"shift": f"{shift:g}", **sac.against_threshold(theta, run, each[0]), "loss": run.loss}
            for shift, each in runs.items()
            for theta, run in zip(sac.THRESHOLDS, each, strict=True)
        ]
    )
    return Outcome(
        measured={
            "throughput_kBps": {shift: dict(zip(sac.THRESHOLDS, each, strict=True)) for shift, each in values.items()},
            "peak_theta": best,
            "peak_kBps": dict(zip(SHIFTS, tops, strict=True)),
        },
        checks=checks,
        data=data,
        units={"loss": "fraction"},
        why=sac.why(
            checks,
            "The smallest shift alone adds half a unit to every increase, and figure 9 has its dome where one unit is "
            "already too much. The page says why figures 9 and 11 exclude each other in this model.",
        ),
        scenario=scenario(Run(place, 0.05, scheme_of(sac.threshold(4, 2.0)))).to_toml(),
    )


def draw(outcome: Outcome) -> Figure:
    """A curve per shift. Bars: the interval of the difference to θ = 1."""
    return curves(
        outcome.data,
        "theta",
        "throughput_kBps",
        "shift",
        x_label="threshold $\\theta$",
        y_label="throughput (kB/s)",
        error="ci95_of_difference",
    )
