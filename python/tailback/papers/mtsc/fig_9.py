"""Figure 9 of Tuan and Park: throughput of one connection against the threshold below which it is aggressive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter
from tailback.papers.mtsc import sac
from tailback.papers.mtsc.drawing import curves
from tailback.papers.mtsc.network import Measured, Run, scenario, scheme_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return sac.parameters(
        fidelity, Parameter("background", "5 Mbit/s, shape 1.05", "stated", "§4.3.1, Fig. 10 (middle)")
    )


def measure(lab: Lab) -> Outcome:
    """A run per threshold, with the same random streams."""
    place = sac.setting(lab.fidelity, 1.05)
    runs = sac.measured(lab, [(place, sac.threshold(theta), 1) for theta in sac.THRESHOLDS])
    values = [run.total for run in runs]
    data = _table(runs)
    below = _below(runs)
    checks = (_inside(values), below)
    return Outcome(
        measured={
            "throughput_kBps": dict(zip(sac.THRESHOLDS, values, strict=True)),
            "ci95": dict(zip(sac.THRESHOLDS, data["ci95"].to_list(), strict=True)),
        },
        checks=checks,
        changed=ChangedTest((_inside_beyond_intervals(runs), below), sac.STEPS),
        data=data,
        units={"loss": "fraction"},
        why=sac.why(
            checks,
            "Gain and cost of aggressiveness nearly cancel at this load, so the dome is only a few percent high. "
            "While the table is learnt, trials make steps of a tenth of a percent. With a table that is known from "
            "the beginning, the curve has one maximum, strictly inside (the table on the page). Runs much shorter "
            "than 10 000 s do not show it beyond their intervals.",
        ),
        scenario=scenario(Run(place, 0.05, scheme_of(sac.threshold(4)))).to_toml(),
        notes=(
            "Expected levels lie between about 3 and 6, so thresholds from 1 to 3, and from 6 to 8, give the "
            "same run. The difference to "
            f"θ = {sac.THRESHOLDS[0]} is taken part by part of runs with the same random streams.",
        ),
    )


def _table(runs: Sequence[Measured]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                **sac.against_threshold(theta, run, runs[0]),
                "raw_kBps": float(run.penalised(0.0).mean()),
                "loss": run.loss,
            }
            for theta, run in zip(sac.THRESHOLDS, runs, strict=True)
        ]
    )


def _inside(values: Sequence[float]) -> Check:
    best = sac.peak(values)
    return Check(
        "one maximum, strictly inside",
        f"{sac.said(values)} kB/s; at {best}",
        "strictly between 1 and 8, rising before it and falling behind it",
        1 < best < 8 and sac.turns_once(values),
    )


def _inside_beyond_intervals(runs: Sequence[Measured]) -> Check:
    values = [run.total for run in runs]
    best = sac.peak(values)
    return Check(
        "one maximum, as far as intervals tell",
        f"{sac.said(values)} kB/s; at {best}",
        "strictly between 1 and 8; no step against it beyond its interval",
        1 < best < 8 and sac.one_maximum(runs),
    )


def _below(runs: Sequence[Measured]) -> Check:
    lead = sac.gain(runs[sac.peak([run.total for run in runs]) - 1], runs[-1])
    return Check(
        "at 8 below the maximum",
        f"the maximum is {100 * lead.mean:.1f} % ± {100 * lead.half_width:.1f} % above",
        "by more than the interval",
        lead.low > 0.0,
    )


def draw(outcome: Outcome) -> Figure:
    """The curve. Bars: the interval of the difference to θ = 1."""
    return curves(
        outcome.data,
        "theta",
        "throughput_kBps",
        None,
        x_label="threshold $\\theta$",
        y_label="throughput (kB/s)",
        error="ci95_of_difference",
    )
