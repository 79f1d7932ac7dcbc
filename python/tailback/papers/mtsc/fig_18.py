"""Figure 18 of Tuan and Park: how fairly ten connections share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.mtsc import sac
from tailback.papers.mtsc.drawing import bars
from tailback.papers.mtsc.network import Run, scenario, scheme_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

from tailback.analysis import jain
from tailback.papers.mtsc.table_2 import SECONDS, place_of


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return sac.parameters(
        fidelity, Parameter("network", "that of table-2, 10 connections", "stated", "§4.3.5"), time=SECONDS[fidelity]
    )


def measure(lab: Lab) -> Outcome:
    """One run."""
    place = place_of(lab.fidelity)
    (run,) = sac.measured(lab, [(place, sac.inverse(), 10)])
    index = float(jain(run.throughput))
    checks = (Check("Jain's index", f"{index:.4f}", "at least 0.98", index >= 0.98),)
    return Outcome(
        measured={"throughput_kBps": dict(enumerate(run.throughput, 1)), "jain": index},
        checks=checks,
        data=pl.DataFrame({"connection": list(range(1, 11)), "throughput_kBps": run.throughput}),
        units={},
        why=sac.why(checks, "aggressiveness learnt from one's own throughput lets those ahead stay ahead"),
        scenario=scenario(Run(place, 0.05, scheme_of(sac.inverse()), 10)).to_toml(),
    )


def draw(outcome: Outcome) -> Figure:
    """A bar per connection."""
    return bars(
        [str(n) for n in outcome.data["connection"]],
        outcome.data["throughput_kBps"].to_list(),
        None,
        "throughput (kB/s)",
    )
