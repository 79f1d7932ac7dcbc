"""Figure 13 of Tuan and Park: packet loss of the strategies of figures 9 and 12."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

SHAPES = (1.05, 1.95)


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return sac.parameters(fidelity, Parameter("runs", "those of fig-9 and fig-12", "stated", "§4.3.2"))


def measure(lab: Lab) -> Outcome:
    """Losses of the runs that figures 9 and 12 make."""
    found = {shape: _losses(lab, shape) for shape in SHAPES}
    checks = (*(_grows(shape, found[shape]) for shape in SHAPES), _least(found), _higher(found))
    rows = [
        {"alpha": shape, "of": f"α = {shape:g}", "strategy": name, "loss": 100.0 * loss}
        for shape, losses in found.items()
        for name, loss in losses.items()
    ]
    return Outcome(
        measured={"loss": found},
        checks=checks,
        data=pl.DataFrame(rows),
        units={"loss": "%"},
        why=sac.why(
            checks,
            "A connection that is aggressive at all times loses packets when it exceeds the bandwidth that the "
            "background leaves. It loses as much at either shape, so the load decides (the table of losses on the "
            "page).",
        ),
        scenario=scenario(Run(sac.setting(lab.fidelity, 1.95), 0.13, scheme_of(sac.threshold(8)))).to_toml(),
    )


def _losses(lab: Lab, shape: float) -> dict[str, float]:
    """The share of packets lost, by strategy; thresholds are named by their number."""
    place = sac.setting(lab.fidelity, shape)
    schemes = [sac.generic(), sac.inverse(), *(sac.threshold(theta) for theta in sac.THRESHOLDS)]
    generic, online, *steps = sac.measured(lab, [(place, scheme, 1) for scheme in schemes])
    named = {str(theta): run.loss for theta, run in zip(sac.THRESHOLDS, steps, strict=True)}
    return {**named, "generic": generic.loss, "on-line": online.loss, "perfect": sac.perfect(lab, place).loss}


def _grows(shape: float, losses: Mapping[str, float]) -> Check:
    rising = [losses[str(theta)] for theta in sac.THRESHOLDS]
    return Check(
        f"shape {shape:g}: loss grows with the threshold",
        ", ".join(f"{100 * loss:.2f}" for loss in rising) + " %",
        "never falling, and growing",
        all(b >= a for a, b in pairwise(rising)) and rising[-1] > rising[0],
    )


def _least(found: Mapping[float, Mapping[str, float]]) -> Check:
    return Check(
        "lowest without SAC",
        ", ".join(f"{100 * found[shape]['generic']:.2f} %" for shape in SHAPES),
        "at both shapes",
        all(losses["generic"] <= min(losses.values()) for losses in found.values()),
    )


def _higher(found: Mapping[float, Mapping[str, float]]) -> Check:
    higher = [name for name in found[1.05] if found[1.05][name] > found[1.95][name]]
    return Check(
        "higher at shape 1.05",
        f"for {len(higher)} of {len(found[1.05])} strategies",
        "for all",
        len(higher) == len(found[1.05]),
    )


def draw(outcome: Outcome) -> Figure:
    """Loss over the threshold."""
    steps = outcome.data.filter(pl.col("strategy").str.len_chars() == 1).with_columns(
        pl.col("strategy").cast(pl.Int64).alias("theta")
    )
    lines = {
        f"generic, α = {row['alpha']:g}": row["loss"]
        for row in outcome.data.filter(pl.col("strategy") == "generic").iter_rows(named=True)
    }
    return curves(steps, "theta", "loss", "of", x_label="threshold $\\theta$", y_label="loss (%)", lines=lines)
