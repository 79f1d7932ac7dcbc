"""Table 1 of Tuan and Park: what one connection learns of the next traffic level from its own throughput, on line."""

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

    from tailback.analysis.lrd import Table
    from tailback.papers.lab import Lab

SHAPES = (1.05, 1.95)
PUBLISHED = {1.05: (1.3, 2.6, 3.4, 4.2, 4.9, 5.7, 5.8, 6.5), 1.95: (3.8, 4.3, 4.5, 4.5, 4.6, 4.5, 4.8, 4.8)}
SEEN = 20
"""The ledger's: how often a level must have been seen."""
NEAR = 0.8


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return sac.parameters(fidelity, Parameter("schedule", "inverse", "stated", "Table 1, last column"))


def measure(lab: Lab) -> Outcome:
    """The tables of both shapes after a run."""
    wanted = [(sac.setting(lab.fidelity, shape), sac.inverse(), 1) for shape in SHAPES]
    tables = {shape: sac.table(run) for shape, run in zip(SHAPES, sac.measured(lab, wanted), strict=True)}
    spans = {shape: table.span(SEEN) for shape, table in tables.items()}
    checks = (
        _rises(tables[1.05]),
        Check("shape 1.05: its range", f"{spans[1.05]:.2f} levels", "at least 2.5", spans[1.05] >= 2.5),
        Check("shape 1.95: its range", f"{spans[1.95]:.2f} levels", "at most 1.5", spans[1.95] <= 1.5),
        _as_published(tables),
    )
    return Outcome(
        measured={f"expected_l2_{round(100 * shape)}": table.expected.tolist() for shape, table in tables.items()},
        checks=checks,
        data=_rows(tables),
        units={},
        why=sac.why(
            checks,
            "one connection's own throughput follows its own increases and decreases as much as the others' "
            "traffic, so its levels say less of "
            "what comes than the aggregate's do (fig-2)",
        ),
        scenario=scenario(Run(*wanted[0][:1], 0.05, scheme_of(sac.inverse()))).to_toml(),
        notes=("Rows never seen have no expectation.",),
    )


def _rows(tables: Mapping[float, Table]) -> pl.DataFrame:
    """A row per shape and level."""
    return pl.DataFrame(
        [
            {
                "alpha": shape,
                "level": level + 1,
                "seen": int(table.seen[level]),
                "expected_l2": float(table.expected[level]),
                "epsilon": float(1.0 / table.expected[level]),
                "published": PUBLISHED[shape][level],
                **{f"p{column + 1}": float(p) for column, p in enumerate(table.probability[level])},
            }
            for shape, table in tables.items()
            for level in range(8)
        ]
    )


def _rises(heavy: Table) -> Check:
    expected = heavy.expected[heavy.populated(SEEN)].tolist()
    return Check(
        "shape 1.05: E[L2 | L1] rises over levels seen 20 times",
        ", ".join(f"{value:.2f}" for value in expected),
        "strictly",
        all(b > a for a, b in pairwise(expected)),
    )


def _as_published(tables: Mapping[float, Table]) -> Check:
    enough = {shape: table.populated(SEEN) for shape, table in tables.items()}
    off = [
        abs(float(tables[shape].expected[level - 1]) - PUBLISHED[shape][level - 1])
        for shape in SHAPES
        for level in range(3, 7)
        if enough[shape][level - 1]
    ]
    return Check(
        "levels 3 to 6 beside the published values",
        f"at most {max(off):.2f} away, {len(off)} of 8 seen often enough",
        f"within {NEAR}",
        max(off) <= NEAR,
    )


def draw(outcome: Outcome) -> Figure:
    """E[L2 | L1] over L1, measured and published."""
    rows = []
    for shape in SHAPES:
        part = outcome.data.filter((pl.col("alpha") == shape) & (pl.col("seen") >= SEEN))
        rows.append(part.select("level", pl.col("expected_l2"), pl.lit(f"α = {shape:g}").alias("of")))
        rows.append(
            outcome.data.filter(pl.col("alpha") == shape).select(
                "level", pl.col("published").alias("expected_l2"), pl.lit(f"α = {shape:g}, published").alias("of")
            )
        )
    return curves(pl.concat(rows), "level", "expected_l2", "of", x_label="$L_1$", y_label="$E[L_2 | L_1]$")
