"""Table 3 of Tuan and Park: the total throughput of several connections under the inverse schedule."""

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

from tailback.papers.mtsc.table_2 import COUNTS, SECONDS, place_of

PUBLISHED = {1: 1152.9, 2: 1702.0, 4: 1947.7, 8: 1676.4, 10: 1594.4}
NEAR = 0.15


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return sac.parameters(fidelity, Parameter("network", "that of table-2", "stated", "§4.3.5"), time=SECONDS[fidelity])


def measure(lab: Lab) -> Outcome:
    """A run per number of connections, with SAC and without."""
    place = place_of(lab.fidelity)
    found = sac.measured(lab, [(place, scheme, count) for scheme in (sac.inverse(), sac.generic()) for count in COUNTS])
    totals = dict(zip(COUNTS, (run.total for run in found), strict=False))
    generic = dict(zip(COUNTS, (run.total for run in found[len(COUNTS) :]), strict=True))
    beside = sac.measured(lab, [(place, sac.threshold(theta), 10) for theta in sac.THRESHOLDS])
    rivals = [run.total for theta, run in zip(sac.THRESHOLDS, beside, strict=True) if theta >= 3]
    row = list(totals.values())
    off = {count: totals[count] / PUBLISHED[count] - 1.0 for count in COUNTS}
    checks = (
        Check(
            "one maximum, at 4 connections",
            f"{sac.said(row)} kB/s",
            "at 4",
            sac.turns_once(row) and max(totals, key=lambda n: totals[n]) == 4,
        ),
        Check(
            "10 connections beside thresholds from 3 on",
            f"{totals[10]:.0f} and at most {max(rivals):.0f} kB/s",
            "above",
            totals[10] > max(rivals),
        ),
        Check(
            "beside the published values",
            ", ".join(f"{100 * value:+.0f} %" for value in off.values()),
            f"within {100 * NEAR:.0f} %",
            all(abs(value) <= NEAR for value in off.values()),
        ),
    )
    data = pl.DataFrame(
        [
            {"connections": count, "of": name, "total_kBps": values[count]}
            for name, values in (("inverse schedule", totals), ("generic", generic), ("published", PUBLISHED))
            for count in COUNTS
        ]
    )
    return Outcome(
        measured={"total_kBps": totals, "generic_total_kBps": generic},
        checks=checks,
        data=data,
        units={},
        why=sac.why(
            checks,
            "As for table-2: with bands, thresholds up to 3 are hardly ever reached, so their totals are those "
            "without SAC. With equally likely levels and the same k, totals are within 13 % of the published ones, "
            "and the best is at 4 connections (the table of equally likely levels on the page).",
        ),
        scenario=scenario(Run(place, 0.05, scheme_of(sac.inverse()), 4)).to_toml(),
    )


def draw(outcome: Outcome) -> Figure:
    """Totals over the number of connections."""
    return curves(
        outcome.data, "connections", "total_kBps", "of", x_label="connections", y_label="total throughput (kB/s)"
    )
