"""Figure 10 of Tuan and Park: how the best threshold moves with the load of the background."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter
from tailback.papers.mtsc import sac
from tailback.papers.mtsc.drawing import curves
from tailback.papers.mtsc.network import Measured, Run, scenario, scheme_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

LOADS = (2.5, 5.0, 7.5)
"""Mbit/s."""
SHAPES = {
    2.5: ("rising", "best at 8", 8, 8),
    5.0: ("a dome", "best strictly inside", 2, 7),
    7.5: ("falling", "best at 1", 1, 1),
}
"""What the paper sees at each load: its name, where the best threshold lies in words, and from which to which it may be."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return sac.parameters(fidelity, Parameter("background", "2.5, 5 and 7.5 Mbit/s, shape 1.05", "stated", "Fig. 10"))


def measure(lab: Lab) -> Outcome:
    """A run per load and threshold."""
    places = [sac.setting(lab.fidelity, 1.05, load=1e6 * load) for load in LOADS]
    found = iter(sac.measured(lab, [(place, sac.threshold(theta), 1) for place in places for theta in sac.THRESHOLDS]))
    runs = {load: [next(found) for _ in sac.THRESHOLDS] for load in LOADS}
    values = {load: [run.total for run in each] for load, each in runs.items()}
    less = _less(values)
    checks = (*(_shape(load, values[load]) for load in SHAPES), less)
    return Outcome(
        measured={
            "throughput_kBps": {load: dict(zip(sac.THRESHOLDS, each, strict=True)) for load, each in values.items()},
            "peak_theta": {load: sac.peak(each) for load, each in values.items()},
        },
        checks=checks,
        changed=ChangedTest((*(_shape_beyond_intervals(load, runs[load]) for load in SHAPES), less), sac.STEPS),
        data=_table(runs),
        units={"loss": "fraction"},
        why=sac.why(
            checks,
            "The curve rises at 2.5 Mbit/s and is a dome at 5 Mbit/s, but does not fall at 7.5 Mbit/s. The less "
            "bandwidth the background leaves, the larger is the part of it that the control without SAC does not "
            "use; and a full queue drops packets of the background too.",
        ),
        scenario=scenario(Run(places[0], 0.1, scheme_of(sac.threshold(4)))).to_toml(),
    )


def _table(runs: Mapping[float, Sequence[Measured]]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"background": f"{load:g} Mbit/s", **sac.against_threshold(theta, run, each[0]), "loss": run.loss}
            for load, each in runs.items()
            for theta, run in zip(sac.THRESHOLDS, each, strict=True)
        ]
    )


def _shape(load: float, values: Sequence[float]) -> Check:
    """Whether the curve at a load has its published shape, step by step."""
    name, where, low, high = SHAPES[load]
    best = sac.peak(values)
    return Check(
        f"{name} at {load:g} Mbit/s",
        f"best at {best}: {sac.said(values)} kB/s",
        f"{where}, every step up to the best and down from it",
        low <= best <= high and sac.turns_once(values),
    )


def _shape_beyond_intervals(load: float, runs: Sequence[Measured]) -> Check:
    """The same, where a step counts only beyond its interval."""
    name, where, low, high = SHAPES[load]
    values = [run.total for run in runs]
    best = sac.peak(values)
    return Check(
        f"{name} at {load:g} Mbit/s",
        f"best at {best}: {sac.said(values)} kB/s",
        f"{where}; no step against it beyond its interval",
        low <= best <= high and sac.one_maximum(runs),
    )


def _less(values: Mapping[float, Sequence[float]]) -> Check:
    falls = all(a > b > c for a, b, c in zip(*(values[load] for load in LOADS), strict=True))
    return Check(
        "less throughput with more background",
        "at every threshold" if falls else "not at every threshold",
        "at every threshold",
        falls,
    )


def draw(outcome: Outcome) -> Figure:
    """A curve per load. Bars: the interval of the difference to θ = 1."""
    return curves(
        outcome.data,
        "theta",
        "throughput_kBps",
        "background",
        x_label="threshold $\\theta$",
        y_label="throughput (kB/s)",
        error="ci95_of_difference",
    )
