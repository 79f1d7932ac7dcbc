"""Tuan and Park, §1.2 and §5: SAC on top of TCP Reno."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

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
RENO = {"name": "reno"}


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return sac.parameters(
        fidelity,
        Parameter("control", "TCP Reno, in place of the rate control", "stated", "§5"),
        Parameter(
            "its throughput",
            "what arrives, k = 0",
            "inferred",
            "TCP retransmits what is lost, and pays for that itself",
        ),
    )


def measure(lab: Lab) -> Outcome:
    """Two runs per shape."""
    places = [sac.setting(lab.fidelity, shape) for shape in SHAPES]
    several = dict(zip(SHAPES, sac.pairs(lab, places, sac.inverse(over=RENO), RENO), strict=True))
    gains = {shape: sac.gain(*runs[0], 0.0) for shape, runs in several.items()}
    rows = [
        {
            "alpha": shape,
            "with_sac_kBps": float(runs[0][0].penalised(0.0).mean()),
            "reno_kBps": float(runs[0][1].penalised(0.0).mean()),
            "gain": gains[shape].mean,
            "ci95": gains[shape].half_width,
        }
        for shape, runs in several.items()
    ]
    checks = _checks(gains)
    return Outcome(
        measured={"gain_105": gains[1.05].mean, "gain_195": gains[1.95].mean},
        checks=checks,
        data=pl.DataFrame(rows),
        units={"gain": "fraction"},
        why=sac.why(
            checks,
            "The unit of ε that the rate control needs makes Reno increase by nine segments per round trip instead "
            "of one, which costs more by losses than it gains. Smaller units lose less, but none gains at this round "
            "trip of 30 ms, where the buffer is larger than the bandwidth-delay product (the tables of units and of "
            "round trips on the page).",
        ),
        changed=ChangedTest(_checks({shape: sac.mean_gain(runs, 0.0) for shape, runs in several.items()}), sac.SEVERAL),
        scenario=scenario(Run(sac.setting(lab.fidelity, 1.05), 0.05, scheme_of(sac.inverse(over=RENO)))).to_toml(),
    )


def _checks(gains: Mapping[float, Interval]) -> tuple[Check, ...]:
    """The ledger's test, on these gains."""
    said = {shape: sac.percent(each) for shape, each in gains.items()}
    return (
        Check(
            "gain at shape 1.05 beside 1.95",
            f"{said[1.05]}; {said[1.95]}",
            "larger",
            gains[1.05].mean > gains[1.95].mean,
        ),
        Check("gain at shape 1.05", said[1.05], "above zero by more than its interval", gains[1.05].low > 0.0),
    )


def draw(outcome: Outcome) -> Figure:
    """Gains as bars."""
    names = [f"α = {shape:g}" for shape in outcome.data["alpha"]]
    return bars(
        names,
        (100.0 * outcome.data["gain"]).to_list(),
        (100.0 * outcome.data["ci95"]).to_list(),
        "gain of SAC over Reno (%)",
    )
