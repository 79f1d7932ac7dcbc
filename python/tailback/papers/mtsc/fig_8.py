"""Figure 8 of Tuan and Park: which level follows the lowest and which the highest, as one connection sees it."""

from __future__ import annotations

from collections.abc import Sequence
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
    return sac.parameters(
        fidelity, Parameter("populated", f"seen at least {_least(fidelity)} times", "inferred", "Table 1 has 20")
    )


def measure(lab: Lab) -> Outcome:
    """Two densities per shape."""
    wanted = [(sac.setting(lab.fidelity, shape), sac.inverse(), 1) for shape in SHAPES]
    tables = {shape: sac.table(run) for shape, run in zip(SHAPES, sac.measured(lab, wanted), strict=True)}
    least = _least(lab.fidelity)
    rows = []
    for shape, table in tables.items():
        for name, density in zip(("lowest", "highest"), table.marginals(least), strict=True):
            rows += [
                {"of": f"α = {shape:g}, after the {name}", "alpha": shape, "level": n + 1, "probability": float(p)}
                for n, p in enumerate(density)
            ]
    found = {shape: table.total_variation(least) for shape, table in tables.items()}
    checks = (
        Check("total variation at shape 1.05", f"{found[1.05]:.2f}", "at least 0.7", found[1.05] >= 0.7),
        Check(
            "total variation at shape 1.95",
            f"{found[1.95]:.2f}",
            f"at most half of that, {0.5 * found[1.05]:.2f}",
            found[1.95] <= 0.5 * found[1.05],
        ),
    )
    return Outcome(
        measured={"total_variation_105": found[1.05], "total_variation_195": found[1.95]},
        checks=checks,
        data=pl.DataFrame(rows),
        units={},
        why=sac.why(checks, "as for Table 1: the connection's own swings blur what its throughput says of the others"),
        scenario=scenario(Run(wanted[0][0], 0.05, scheme_of(sac.inverse()))).to_toml(),
    )


def draw(outcome: Outcome) -> Figure:
    """The densities."""
    return curves(outcome.data, "level", "probability", "of", x_label="$L_2$", y_label="$P(L_2 | L_1)$")


def _least(fidelity: Fidelity) -> int:
    return 20 if fidelity == "full" else 5
