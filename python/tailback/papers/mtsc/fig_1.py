"""Figure 1 of Tuan and Park: the Hurst parameter of the aggregate against the shape of file sizes, by R/S and by the
variance-time plot, and by three later estimators."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.mtsc import aggregate, sac
from tailback.papers.mtsc.network import Run, Setting, scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

SHAPES = tuple(round(1.05 + 0.1 * step, 2) for step in range(10))
QUICK = 2_000.0
"""Seconds."""
METHODS = ("R/S", "variance-time", "local Whittle", "wavelet", "DFA")


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *aggregate.parameters(fidelity, QUICK),
        Parameter("shapes", "1.05 to 1.95 in steps of 0.1", "stated", "Fig. 1"),
        Parameter(
            "variance-time",
            "corrected for the shortfall of the sample variance of correlated block means",
            "inferred",
            "the paper does not say; uncorrected it reads less where memory is long",
        ),
        Parameter(
            "blocks", "from 1 s on", "inferred", "below, windows and round trips shape the traffic, not sizes of files"
        ),
    )


def measure(lab: Lab) -> Outcome:
    """Estimates H at every shape."""
    settings = [Setting(shape, aggregate.seconds(lab.fidelity, QUICK)) for shape in SHAPES]
    found = aggregate.observed(lab, aggregate.estimates, settings)
    data = pl.DataFrame(
        [
            {
                "alpha": shape,
                "method": method,
                "hurst": each.hurst[method][0],
                "ci95": each.hurst[method][1],
                "load": each.load,
            }
            for shape, each in zip(SHAPES, found, strict=True)
            for method in METHODS
        ]
    )
    rs, vt = ([each.hurst[method][0] for each in found] for method in METHODS[:2])
    r = {name: float(np.corrcoef(SHAPES, values)[0, 1]) for name, values in (("rs", rs), ("vt", vt))}
    loads = [each.load / 1e6 for each in found]
    checks = (
        Check("R/S falls with the shape", f"r = {r['rs']:.3f}", "at most -0.9", r["rs"] <= -0.9),
        Check("variance-time falls with the shape", f"r = {r['vt']:.3f}", "at most -0.9", r["vt"] <= -0.9),
        Check("H at shape 1.05", f"{rs[0]:.2f} and {vt[0]:.2f}", "both at least 0.85", min(rs[0], vt[0]) >= 0.85),
        Check("H at shape 1.95", f"{rs[-1]:.2f} and {vt[-1]:.2f}", "both at most 0.65", max(rs[-1], vt[-1]) <= 0.65),
    )
    steps = sum(b > a for a, b in pairwise(rs)) + sum(b > a for a, b in pairwise(vt))
    return Outcome(
        measured={
            "alpha": list(SHAPES),
            "hurst_rs": rs,
            "hurst_vt": vt,
            "pearson_r_rs": r["rs"],
            "pearson_r_vt": r["vt"],
        },
        checks=checks,
        data=data,
        units={"load": "bit/s"},
        why=sac.why(
            checks,
            "one run per shape, as in the paper: its largest files decide, and its estimates are uncertain by "
            f"{max(each.hurst[method][1] for each in found for method in METHODS[:2]):.2f} at most (95 %)",
        ),
        scenario=scenario(Run(settings[0], 0.05)).to_toml(),
        notes=(
            f"The load was {min(loads):.2f} to {max(loads):.2f} Mbit/s. Of the 18 steps from shape to shape {steps} go up: "
            "one run each, and heavy tails.",
            "Theory for bursts without a network: H = (3 - α) / 2, the dotted line (Willinger et al. 1997).",
        ),
    )


def draw(outcome: Outcome) -> Figure:
    """Estimates over shapes, the two of the paper in front."""
    from tailback.plot.style import COLOURS, DASHES, FAINT, MARKERS, figure, style

    with style():
        made, (axis,) = figure(height=3.6)
        for index, method in enumerate(METHODS):
            part = outcome.data.filter(pl.col("method") == method)
            axis.errorbar(
                part["alpha"],
                part["hurst"],
                part["ci95"] if index < 2 else None,
                label=method,
                color=COLOURS[index],
                linestyle=DASHES[index],
                marker=MARKERS[index],
                linewidth=1.4 if index < 2 else 0.8,
                markersize=4.5 if index < 2 else 3.0,
                capsize=2,
                elinewidth=0.8,
            )
        axis.plot(
            SHAPES, [(3.0 - shape) / 2.0 for shape in SHAPES], color=FAINT, linestyle=":", label="$(3-\\alpha)/2$"
        )
        axis.set_xlabel("shape $\\alpha$ of file sizes")
        axis.set_ylabel("H")
        axis.set_ylim(0.45, 1.1)
        axis.legend(ncols=2)
    return made
