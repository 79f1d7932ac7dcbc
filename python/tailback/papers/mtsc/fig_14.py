"""Figure 14 of Tuan and Park: what SAC gains under strongly and under weakly correlated background."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter
from tailback.papers.mtsc import sac
from tailback.papers.mtsc.drawing import bars
from tailback.papers.mtsc.network import Run, scenario, scheme_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.analysis import Interval
    from tailback.papers.lab import Lab

SHAPES = (1.05, 1.95)
SEEDS = (
    "The item's seed gives a small gain at shape 1.05, where runs of 10 000 s differ by more than their own "
    "intervals say. The mean of several runs lies in the asked range, as at 1.95 (the table of runs on the page). "
    "Most of SAC's gain here comes from being more aggressive, not from the right moment."
)
"""Why a full run fails, by the experiment of ``reasons.seeds``."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return sac.parameters(
        fidelity, Parameter("random streams", "the same with and without SAC", "inferred", "common random numbers")
    )


def measure(lab: Lab) -> Outcome:
    """Two runs per shape and seed."""
    several = dict(
        zip(
            SHAPES,
            sac.pairs(lab, [sac.setting(lab.fidelity, one) for one in SHAPES], sac.inverse(), sac.generic()),
            strict=True,
        )
    )
    runs = {shape: each[0] for shape, each in several.items()}
    gains = {shape: sac.gain(*pair) for shape, pair in runs.items()}
    base = {shape: pair[1].total for shape, pair in runs.items()}
    checks = _checks(gains, base)
    means = {shape: sac.mean_gain(each) for shape, each in several.items()}
    bases = {shape: float(np.mean([generic.total for _, generic in each])) for shape, each in several.items()}
    data = pl.DataFrame(
        [
            {
                "alpha": shape,
                "with_sac_kBps": pair[0].total,
                "generic_kBps": pair[1].total,
                "gain": gains[shape].mean,
                "ci95": gains[shape].half_width,
            }
            for shape, pair in runs.items()
        ]
    )
    return Outcome(
        measured={
            "gain_105": gains[1.05].mean,
            "gain_195": gains[1.95].mean,
            "generic_kBps_105": base[1.05],
            "generic_kBps_195": base[1.95],
        },
        checks=checks,
        data=data,
        units={"gain": "fraction"},
        why=sac.why(checks, SEEDS if lab.full else _uncertain(gains)),
        changed=ChangedTest(_checks(means, bases), sac.SEVERAL),
        scenario=scenario(Run(sac.setting(lab.fidelity, 1.05), 0.05, scheme_of(sac.inverse()))).to_toml(),
    )


def _checks(gains: Mapping[float, Interval], base: Mapping[float, float]) -> tuple[Check, ...]:
    """The ledger's test, on these gains."""
    said = {shape: sac.percent(each) for shape, each in gains.items()}
    return (
        Check("gain at shape 1.05", said[1.05], "12 to 30 %", 0.12 <= gains[1.05].mean <= 0.30),
        Check("gain at shape 1.95", said[1.95], "0 to 8 %", 0.0 <= gains[1.95].mean <= 0.08),
        Check(
            "without SAC, more at shape 1.95",
            f"{base[1.95]:.0f} and {base[1.05]:.0f} kB/s",
            "more",
            base[1.95] > base[1.05],
        ),
    )


def _uncertain(gains: Mapping[float, Interval]) -> str:
    """Why a quick run fails."""
    widths = " and ".join(f"{100 * gains[shape].half_width:.1f}" for shape in SHAPES)
    return (
        f"a run of {sac.seconds('quick'):g} s tells these gains within {widths} %, and the difference of throughputs without "
        "SAC no better; runs of full length decide"
    )


def draw(outcome: Outcome) -> Figure:
    """Gains as bars."""
    names = [f"α = {shape:g}" for shape in outcome.data["alpha"]]
    return bars(
        names, (100.0 * outcome.data["gain"]).to_list(), (100.0 * outcome.data["ci95"]).to_list(), "gain of SAC (%)"
    )
