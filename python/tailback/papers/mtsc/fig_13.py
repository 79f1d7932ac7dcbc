"""Figure 13 of Tuan and Park: packet loss of the strategies of figures 9 and 12."""

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

SHAPES = (1.05, 1.95)


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return sac.parameters(fidelity, Parameter("runs", "those of fig-9 and fig-12", "stated", "§4.3.2"))


def measure(lab: Lab) -> Outcome:
    """Losses of the runs that figures 9 and 12 make."""
    found: dict[float, dict[str, float]] = {}
    for shape in SHAPES:
        place = sac.setting(lab.fidelity, shape)
        generic, online, *steps = sac.measured(
            lab,
            [
                (place, sac.generic(), 1),
                (place, sac.inverse(), 1),
                *((place, sac.threshold(theta), 1) for theta in sac.THRESHOLDS),
            ],
        )
        named = {str(theta): run.loss for theta, run in zip(sac.THRESHOLDS, steps, strict=True)}
        found[shape] = {
            **named,
            "generic": generic.loss,
            "on-line": online.loss,
            "perfect": sac.perfect(lab, place).loss,
        }
    grows, least = {}, {}
    for shape, losses in found.items():
        rising = [losses[str(theta)] for theta in sac.THRESHOLDS]
        grows[shape] = all(b >= a for a, b in pairwise(rising)) and rising[-1] > rising[0]
        least[shape] = losses["generic"] <= min(losses.values())
    higher = [name for name in found[1.05] if found[1.05][name] > found[1.95][name]]
    checks = (
        *(
            Check(
                f"shape {shape:g}: loss grows with the threshold",
                ", ".join(f"{100 * found[shape][str(theta)]:.2f}" for theta in sac.THRESHOLDS) + " %",
                "never falling, and growing",
                grows[shape],
            )
            for shape in SHAPES
        ),
        Check(
            "lowest without SAC",
            ", ".join(f"{100 * found[shape]['generic']:.2f} %" for shape in SHAPES),
            "at both shapes",
            all(least.values()),
        ),
        Check(
            "higher at shape 1.05",
            f"for {len(higher)} of {len(found[1.05])} strategies",
            "for all",
            len(higher) == len(found[1.05]),
        ),
    )
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
