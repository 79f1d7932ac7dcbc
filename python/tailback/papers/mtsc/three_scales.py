"""Tuan and Park, Figure 4 (dashed): control at three and more time scales."""

from __future__ import annotations

from collections.abc import Sequence
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

SLOWER = ({"history": "20 s", "horizon": "20 s"}, {"history": "100 s", "horizon": "100 s"})


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return sac.parameters(
        fidelity,
        Parameter("levels", "2 s; 2 and 20 s; 2, 20 and 100 s", "inferred", "Fig. 4 has none"),
        Parameter(
            "coupling",
            "a slower level multiplies the aggressiveness, by its ε relative to its middle level's",
            "inferred",
            "not said",
        ),
    )


def measure(lab: Lab) -> Outcome:
    """A run per number of levels above the control's own."""
    place = sac.setting(lab.fidelity, 1.05)
    runs = sac.measured(
        lab, [(place, sac.inverse(slower=list(SLOWER[:count])) if count else sac.inverse(), 1) for count in range(3)]
    )
    values = {count + 1: run.total for count, run in enumerate(runs)}
    any_number = Check(
        "any number of levels runs",
        f"{sac.said(list(values.values()))} kB/s with 1, 2 and 3",
        "throughput above zero",
        min(values.values()) > 0.0,
    )
    checks = (any_number, _beside_one(sac.gain(runs[1], runs[0])))
    (several,) = sac.pairs(lab, [place], sac.inverse(slower=list(SLOWER[:1])), sac.inverse())
    data = pl.DataFrame(
        [
            {"levels": count, "throughput_kBps": value, "ci95": sac.interval(runs[count - 1]).half_width}
            for count, value in values.items()
        ]
    )
    return Outcome(
        measured={"throughput_kBps": values},
        checks=checks,
        data=data,
        units={},
        why=sac.why(
            checks,
            "The slower level is bold at the wrong time. If the connection's own throughput over 20 s is low, there "
            "is much background, and it continues; so more packets are lost, and γ_k counts this. A slower level "
            "that says nothing costs nothing, and a reversed one loses fewer packets than none (the table of levels "
            "on the page).",
        ),
        changed=ChangedTest((any_number, _beside_one(sac.mean_gain(several))), sac.SEVERAL),
        scenario=scenario(Run(place, 0.05, scheme_of(sac.inverse(slower=list(SLOWER[:1]))))).to_toml(),
    )


def _beside_one(lead: Interval) -> Check:
    return Check("two levels beside one", sac.percent(lead, 2), "not worse by more than the interval", lead.high >= 0.0)


def draw(outcome: Outcome) -> Figure:
    """A bar per number of levels."""
    return bars(
        [str(n) for n in outcome.data["levels"]],
        outcome.data["throughput_kBps"].to_list(),
        outcome.data["ci95"].to_list(),
        "throughput (kB/s)",
    )
