"""Table 5: the runs of table 4 with a buffer of 10000 packets: how far source 1's queue builds up. They are in
``table_4.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from tailback.analysis import columns
from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.packet_pair.scenes import base_parameters
from tailback.papers.packet_pair.table_4 import (
    UNITS,
    Run,
    against_published,
    all_ways,
    by_number,
    listed,
    scenario,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

BUFFER = 10_000
PEAK = (83, 31, 35, 40, 44, 82, 84, 101, 86)
LIMIT = 120
"""Packets: the ledger's."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return (
        *base_parameters(Parameter("buffer", f"{BUFFER} packets", "stated", "§9.2")),
        Parameter("sources", "as in table 4", "stated", "§9.2"),
        Parameter(
            "queue",
            "source 1's own, after the others' start",
            "inferred",
            "the paper studies 'the peak buffer size attained by source 1'",
        ),
    )


def measure(lab: Lab) -> Outcome:
    """Every N once each way."""
    data = all_ways(lab, BUFFER).with_columns(pl.Series("published_peak", PEAK))
    most = int(columns.greatest(data["peak"]))
    gap = max(abs(row["peak"] / row["published_peak"] - 1) for row in data.iter_rows(named=True))
    lost = int(data["losses"].sum())
    return Outcome(
        measured={"peak": by_number(data, "peak")},
        checks=(
            Check("no loss", f"{lost} packets", "0", lost == 0),
            Check(
                "the peak is about a round trip of rate change",
                f"at most {most} packets",
                f"under {LIMIT} at every N",
                most < LIMIT,
            ),
        ),
        data=data,
        units=UNITS,
        why=""
        if gap <= 0.15
        else f"Single peaks are up to {100 * gap:.0f} % off the printed ones, which the ledger does not judge: the "
        "text's estimator takes half of the first long spacing for a spike, so that the first build-up ends sooner and the second "
        "is the higher one. See the note on the program's.",
        scenario=scenario(Run(10, BUFFER)).to_toml(),
        notes=(
            "Up to N = 6 the paper's peaks are those of the first build-up (phase 2), but for N = 2, and from there on of the "
            "second (phase 4); ours are of the second throughout. With the estimator of the appendix's program, whose phase 3 is "
            f"the paper's (see fig-19), they are {listed(data['program_peak'])} for N = 2 to 10, and with our limit of a round "
            f"trip on top {listed(data['limited_peak'])}.",
        ),
    )


def draw(outcome: Outcome) -> Figure:
    """Peaks over N."""
    from tailback.plot.style import figure, style

    with style():
        made, (axis,) = figure(height=3.0)
        against_published(axis, outcome.data, "peak", "peak queue of source 1 (packets)")
        axis.axhline(LIMIT, linewidth=0.8, color="0.5")
        axis.legend(loc="lower right", ncols=2)
    return made
