"""Table 2 and Figure 17 of Tuan and Park: the total throughput of several connections against their threshold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter
from tailback.papers.mtsc import sac
from tailback.papers.mtsc.drawing import curves
from tailback.papers.mtsc.network import Run, Setting, scenario, scheme_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

COUNTS = (1, 2, 4, 8, 10)
SECONDS = {"full": 10_000.0, "quick": 200.0}
"""Of a run; quick ones have half of the others' time, for up to ten connections and twice the others' rate."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return sac.parameters(
        fidelity,
        Parameter(
            "bottleneck",
            "20 Mbit/s, and so the links to the servers; access links 10 Mbit/s",
            "stated",
            "§4.3.5; the servers' links inferred",
        ),
        Parameter("background", "5 Mbit/s, shape 1.05", "stated", "§4.3.5"),
        Parameter("connections", "1, 2, 4, 8, 10", "stated", "Table 2"),
        time=SECONDS[fidelity],
    )


def place_of(fidelity: Fidelity) -> Setting:
    """The network of §4.3.5."""
    return sac.setting(fidelity, 1.05, bottleneck=20e6, seconds=SECONDS[fidelity])


def measure(lab: Lab) -> Outcome:
    """A run per number of connections and threshold."""
    place = place_of(lab.fidelity)
    found = sac.measured(lab, [(place, sac.threshold(theta), count) for count in COUNTS for theta in sac.THRESHOLDS])
    totals = {count: [run.total for run in found[8 * index : 8 * index + 8]] for index, count in enumerate(COUNTS)}
    runs = {count: found[8 * index : 8 * index + 8] for index, count in enumerate(COUNTS)}
    peaks = []
    for theta in sac.THRESHOLDS:
        column = {count: row[theta - 1] for count, row in totals.items()}
        peaks.append(max(column, key=column.__getitem__))
    over = [sac.turns_once([totals[count][theta - 1] for count in COUNTS]) for theta in sac.THRESHOLDS]
    checks = (
        *(
            Check(
                f"{count} rising with the threshold",
                f"{sac.said(totals[count])} kB/s",
                "best at 8, every step up to it",
                sac.peak(totals[count]) == 8 and sac.turns_once(totals[count]),
            )
            for count in (1, 2)
        ),
        Check(
            "4 with one maximum",
            f"{sac.said(totals[4])} kB/s",
            "strictly inside, rising before it and falling behind it",
            1 < sac.peak(totals[4]) < 8 and sac.turns_once(totals[4]),
        ),
        *(
            Check(
                f"{count} falling with the threshold",
                f"{sac.said(totals[count])} kB/s",
                "best at 1, every step down from it",
                sac.peak(totals[count]) == 1 and sac.turns_once(totals[count]),
            )
            for count in (8, 10)
        ),
        Check("one maximum over the number of connections", f"at {sum(over)} of 8 thresholds", "at all", all(over)),
        Check(
            "at fewer connections for larger thresholds",
            ", ".join(map(str, peaks)),
            "never more, and fewer in the end",
            all(b <= a for a, b in pairwise(peaks)) and peaks[-1] < peaks[0],
        ),
    )
    places = {1: (8, 8), 2: (8, 8), 4: (2, 7), 8: (1, 1), 10: (1, 1)}
    within = [
        Check(
            f"{count} connections",
            f"{sac.said(totals[count])} kB/s",
            f"best from {first} to {last}; no step against it beyond its interval",
            first <= sac.peak(totals[count]) <= last and sac.one_maximum(runs[count]),
        )
        for count, (first, last) in places.items()
    ]
    data = pl.DataFrame(
        [
            {"connections": count, "theta": theta, "total_kBps": value, "each_kBps": value / count}
            for count, row in totals.items()
            for theta, value in zip(sac.THRESHOLDS, row, strict=True)
        ]
    )
    return Outcome(
        measured={"total_kBps": {count: dict(zip(sac.THRESHOLDS, row, strict=True)) for count, row in totals.items()}},
        checks=checks,
        changed=ChangedTest((*within, *checks[-2:]), sac.STEPS),
        data=data,
        units={},
        why=sac.why(
            checks,
            "Levels are bands of one standard deviation here, as in Table 1. The printed rows cannot have such "
            "levels: they change at every threshold, while no expectation of Table 1 is above 6.5 or below 1.3. With "
            "equally likely levels, the alternative of appendix A.1, and the k of figures 9 and 14, the rows of 4, 8 "
            "and 10 connections fall where the printed ones do; those of 1 and 2 hardly rise (the table of equally "
            "likely levels on the page).",
        ),
        scenario=scenario(Run(place, 0.05, scheme_of(sac.threshold(4)), 4)).to_toml(),
    )


def draw(outcome: Outcome) -> Figure:
    """Average throughput per connection, as Figure 17 has it."""
    shown = outcome.data.with_columns(pl.format("{} connections", "connections").alias("of"))
    return curves(shown, "theta", "total_kBps", "of", x_label="threshold $\\theta$", y_label="total throughput (kB/s)")
