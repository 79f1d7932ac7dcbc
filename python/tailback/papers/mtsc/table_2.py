"""Table 2 and Figure 17 of Tuan and Park: the total throughput of several connections against their threshold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter
from tailback.papers.mtsc import sac
from tailback.papers.mtsc.drawing import curves
from tailback.papers.mtsc.network import Measured, Run, Setting, scenario, scheme_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

COUNTS = (1, 2, 4, 8, 10)
SECONDS = {"full": 10_000.0, "quick": 200.0}
"""Of a run; quick ones have half of the others' time, for up to ten connections and twice the others' rate."""

Totals = Mapping[int, Sequence[float]]
"""kB/s of all connections together by their number, in the order of the thresholds."""


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
    found = iter(
        sac.measured(lab, [(place, sac.threshold(theta), count) for count in COUNTS for theta in sac.THRESHOLDS])
    )
    runs = {count: [next(found) for _ in sac.THRESHOLDS] for count in COUNTS}
    totals = {count: [run.total for run in row] for count, row in runs.items()}
    over_connections = _over_connections(totals)
    checks = (*_as_printed(totals), *over_connections)
    return Outcome(
        measured={"total_kBps": {count: dict(zip(sac.THRESHOLDS, row, strict=True)) for count, row in totals.items()}},
        checks=checks,
        changed=ChangedTest((*_beyond_intervals(totals, runs), *over_connections), sac.STEPS),
        data=_table(totals),
        units={},
        why=sac.why(checks, WHY),
        scenario=scenario(Run(place, 0.05, scheme_of(sac.threshold(4)), 4)).to_toml(),
    )


WHY = (
    "Levels are bands of one standard deviation here, as in Table 1. The printed rows cannot have such "
    "levels: they change at every threshold, while no expectation of Table 1 is above 6.5 or below 1.3. With "
    "equally likely levels, the alternative of appendix A.1, and the k of figures 9 and 14, the rows of 4, 8 "
    "and 10 connections fall where the printed ones do; those of 1 and 2 hardly rise (the table of equally "
    "likely levels on the page)."
)


def _as_printed(totals: Totals) -> Iterator[Check]:
    """Whether each row has its printed shape, step by step."""
    for count in COUNTS:
        row = totals[count]
        best, smooth = sac.peak(row), sac.turns_once(row)
        if count < 4:
            shape, allowed, holds = "rising with the threshold", "best at 8, every step up to it", best == 8
        elif count > 4:
            shape, allowed, holds = "falling with the threshold", "best at 1, every step down from it", best == 1
        else:
            shape, allowed = "with one maximum", "strictly inside, rising before it and falling behind it"
            holds = 1 < best < 8
        yield Check(f"{count} {shape}", f"{sac.said(row)} kB/s", allowed, holds and smooth)


def _beyond_intervals(totals: Totals, runs: Mapping[int, Sequence[Measured]]) -> Iterator[Check]:
    """The same shapes, where a step counts only beyond its interval."""
    places = {1: (8, 8), 2: (8, 8), 4: (2, 7), 8: (1, 1), 10: (1, 1)}
    for count, (first, last) in places.items():
        yield Check(
            f"{count} connections",
            f"{sac.said(totals[count])} kB/s",
            f"best from {first} to {last}; no step against it beyond its interval",
            first <= sac.peak(totals[count]) <= last and sac.one_maximum(runs[count]),
        )


def _over_connections(totals: Totals) -> tuple[Check, Check]:
    """Whether columns have one maximum, and where."""
    columns = [{count: row[theta - 1] for count, row in totals.items()} for theta in sac.THRESHOLDS]
    peaks = [max(column, key=column.__getitem__) for column in columns]
    over = [sac.turns_once(list(column.values())) for column in columns]
    return (
        Check("one maximum over the number of connections", f"at {sum(over)} of 8 thresholds", "at all", all(over)),
        Check(
            "at fewer connections for larger thresholds",
            ", ".join(map(str, peaks)),
            "never more, and fewer in the end",
            all(b <= a for a, b in pairwise(peaks)) and peaks[-1] < peaks[0],
        ),
    )


def _table(totals: Totals) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"connections": count, "theta": theta, "total_kBps": value, "each_kBps": value / count}
            for count, row in totals.items()
            for theta, value in zip(sac.THRESHOLDS, row, strict=True)
        ]
    )


def draw(outcome: Outcome) -> Figure:
    """Average throughput per connection, as Figure 17 has it."""
    shown = outcome.data.with_columns(pl.format("{} connections", "connections").alias("of"))
    return curves(shown, "theta", "total_kBps", "of", x_label="threshold $\\theta$", y_label="total throughput (kB/s)")
