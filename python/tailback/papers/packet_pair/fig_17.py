"""Figures 17 and 18: a source that has the bottleneck to itself, and nine more that start one after another, half a round
trip or two round trips apart. The base scenario is in ``scenes.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tailback.analysis import jain
from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter
from tailback.papers.packet_pair.scenes import TU, Source, base, base_parameters, watched
from tailback.papers.packet_pair.traces import sending_rate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

SPACINGS = (0.5, 2.0)
"""R: round trips between starts."""
FIRST_START = 500.0
"""TU: when source 2 starts."""
END = 7000.0
SHOWN = (1, 2, 6, 10)
"""The sources that the paper draws."""
FAIR = 0.1
STEADY = {0.5: (2000.0, 3000.0), 2.0: (2700.0, 3200.0)}
"""TU in which all ten are active and the last has long started."""


class Rates(NamedTuple):
    """What is kept of a run."""

    shown: list[list[float]]
    """Per source of ``SHOWN``, the directed rate at every 5 TU."""
    rate_1: float
    """Of source 1 at 2000 TU: the mean over a round trip around it."""
    rate_steady: float
    """Of source 1 in the steady time: what it sends, not what the fair queue lets it have."""
    steady: list[float]
    """Packets per TU that each source got in the steady time."""
    losses: int


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return (
        *base_parameters(),
        Parameter("sources", "1: 1500 packets from 0; 2 to 10: 500 packets each", "stated", "§9.2"),
        Parameter("starts", "from 500 TU on, R = 0.5 or 2 round trips apart", "stated", "§9.2"),
        Parameter(
            "steady time",
            "2000 to 3000 TU for R = 0.5, 2700 to 3200 TU for R = 2",
            "inferred",
            "after the last source's rise, before the first has finished",
        ),
    )


def scenario(spacing: float) -> Scenario:
    """Ten sources."""
    later = [Source(500, FIRST_START + 100.0 * spacing * index) for index in range(9)]
    record = watched(bin_tu=5.0, links="none", state=False)
    return base([Source(1500, 0), *later], END, record=record, name=f"sources start {spacing:g} round trips apart")


def simulate(spacing: float) -> Rates:
    """One run."""
    result = scenario(spacing).run()
    grid = np.arange(5.0, END, 5.0)
    begin, end = STEADY[spacing]
    inside = (pl.col("time") > begin * 1e-3) & (pl.col("time") <= end * 1e-3)
    got = [
        float(result.series(flow=f"{index}").filter(inside)["received_bytes"].sum()) / 500 / (end - begin)
        for index in range(1, 11)
    ]
    finished = {row["flow"]: row["finished"] for row in result.flows.to_dicts()}

    def shown(index: int) -> list[float]:
        # What has all been sent has no rate any more.
        end = finished[f"{index}"]
        rates = sending_rate(result, index).at(grid)
        kept: list[float] = np.where(grid * TU <= (np.inf if end is None else end), rates, np.nan).tolist()
        return kept

    return Rates(
        shown=[shown(index) for index in SHOWN],
        rate_1=sending_rate(result).mean(1950.0, 2050.0),
        rate_steady=sending_rate(result).mean(begin, end),
        steady=got,
        losses=int(result.links["dropped_packets"].sum()),
    )


def measure(lab: Lab) -> Outcome:
    """Both spacings."""
    runs = dict(zip(SPACINGS, lab.map(simulate, SPACINGS), strict=True))
    time = np.arange(5.0, END, 5.0)
    rows = [
        pl.DataFrame({"spacing": spacing, "source": source, "time": time, "rate": rates})
        for spacing, run in runs.items()
        for source, rates in zip(SHOWN, run.shown, strict=True)
    ]
    fairness = {spacing: jain(np.array(run.steady)) for spacing, run in runs.items()}
    checks = []
    for spacing, run in runs.items():
        checks.append(_share(f"R = {spacing:g}: source 1 has fallen to its fair share at 2000 TU", run.rate_1))
        checks.append(
            Check(
                f"R = {spacing:g}: the steady rates are fair",
                f"Jain {fairness[spacing]:.4f}",
                "at least 0.95",
                fairness[spacing] >= 0.95,
            )
        )
    late = runs[2.0]
    early = (
        "With R = 2 the last source starts at 2100 TU, so at 2000 TU only nine are there and the fair share is a ninth. Source 1 "
        f"sends {late.rate_1:.3f} then, 'nearly' its share as §9.2 says, and {late.rate_steady:.3f} once all ten are there."
    )
    return Outcome(
        measured={
            "rate_source1_at_2000": {f"{spacing:g}": round(run.rate_1, 4) for spacing, run in runs.items()},
            "rate_jain_steady": {f"{spacing:g}": round(value, 5) for spacing, value in fairness.items()},
        },
        checks=checks,
        data=pl.concat(rows),
        units={"spacing": "round trips", "time": "TU", "rate": "packets/TU"},
        why="" if all(check.holds for check in checks) else early,
        scenario=scenario(SPACINGS[0]).to_toml(),
        notes=tuple(f"R = {spacing:g}: {run.losses} packets lost" for spacing, run in runs.items()),
        changed=ChangedTest(
            [
                _share(
                    f"R = {spacing:g}: source 1's sending rate, mean of {begin:g} to {end:g} TU",
                    runs[spacing].rate_steady,
                )
                for spacing, (begin, end) in STEADY.items()
            ],
            early,
        ),
    )


def _share(claim: str, rate: float) -> Check:
    return Check(claim, f"{rate:.3f}", "0.1 ± 0.03", abs(rate - FAIR) <= 0.03)


def draw(outcome: Outcome) -> Figure:
    """Figs. 17 and 18: directed rates over time."""
    from tailback.plot.style import COLOURS, DASHES, figure, style

    with style():
        made, axes = figure(rows=2, height=5.4)
        for axis, spacing in zip(axes, SPACINGS, strict=True):
            part = outcome.data.filter(pl.col("spacing") == spacing)
            for index, source in enumerate(SHOWN):
                own = part.filter(pl.col("source") == source)
                axis.plot(
                    own["time"], own["rate"], color=COLOURS[index], linestyle=DASHES[index], label=f"source {source}"
                )
            axis.set_ylabel("sending rate (packets/TU)")
            axis.set_title(f"a new source every {spacing:g} round trips")
            axis.set_xlim(0, END)
            axis.set_ylim(0, 1.6)
        axes[0].legend(loc="upper right", ncols=2)
        axes[1].set_xlabel("time (TU)")
    return made
