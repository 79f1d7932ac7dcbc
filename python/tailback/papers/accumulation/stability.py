"""The stability that §III-C leaves open: the proportional law with its delay, simulated over gains and round trip times,
against the linearised loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tailback.analysis.fluid import critical_gain, interleaved_gain, sampled_radius
from tailback.papers.accumulation import network
from tailback.papers.item import Check, Fidelity, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

STEP = 0.25
GAINS = tuple(STEP * step for step in range(1, 8))
TRIPS = {"quick": (0.02, 0.08), "full": (0.02, 0.04, 0.08, 0.16)}
FLOWS = 4
RATE = 20e6
WARM_UP = 30.0
SECONDS = {"quick": 15.0, "full": 60.0}
OSCILLATING = 1.25
"""Packets: a loop oscillates when its measured accumulations have a larger standard deviation. Noise makes a third to one."""


class Run(NamedTuple):
    """One simulation."""

    gain: float
    trip: float
    """Seconds, propagation."""
    pace: bool
    seconds: float


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *network.COMMON,
        Parameter("κ here", ", ".join(f"{gain:g}" for gain in GAINS), "inferred", "around the linearised boundary"),
        Parameter(
            "round trip propagation",
            ", ".join(f"{1000 * trip:g} ms" for trip in TRIPS[fidelity]),
            "inferred",
            "shorter and longer than the queueing of 5 ms",
        ),
        Parameter("bottleneck", f"20 Mbit/s, {FLOWS} flows, unlimited buffer", "inferred", "not given"),
        Parameter("pacing", "by the window alone, and at cwnd / rtt as well (§IV-B.2)", "inferred", "to part the two"),
        Parameter(
            "oscillation",
            f"accumulations measured from {WARM_UP:g} s on with a standard deviation over {OSCILLATING:g} packets",
            "inferred",
            "a stable loop has a third to one",
        ),
    )


def measure(lab: Lab) -> Outcome:
    """Runs the grid with and without pacing."""
    trips = TRIPS[lab.fidelity]
    runs = [Run(gain, trip, pace, SECONDS[lab.fidelity]) for pace in (False, True) for gain in GAINS for trip in trips]
    data = pl.DataFrame(
        [
            {"paced": run.pace, "kappa": run.gain, "round_trip": run.trip, "deviation": found}
            for run, found in zip(runs, lab.map(simulate, runs), strict=True)
        ]
    ).with_columns((pl.col("deviation") <= OSCILLATING).alias("stable"))
    boundary = {pace: [_boundary(data, pace, trip) for trip in trips] for pace in (False, True)}
    limit = interleaved_gain(FLOWS)
    off = max(abs(found - limit) for found in boundary[False])
    ordered = max(boundary[True]) <= max(boundary[False])
    checks = (
        Check(
            "the window's own loop loses stability where the linearised one does",
            "last stable κ " + ", ".join(f"{value:g}" for value in boundary[False]) + f"; linearised {limit:.3g}",
            f"within one step of the grid, {STEP:g}",
            off <= STEP + 1e-9,
        ),
        Check(
            "the difference that pacing makes is explained",
            "last stable κ with pacing " + ", ".join(f"{value:g}" for value in boundary[True]),
            "no later than without: what is paced reaches the queue later",
            ordered,
        ),
    )
    return Outcome(
        measured={
            "stable": {
                f"{gain:g}": {
                    f"{trip:g}": bool(
                        data.filter(pl.col("paced") & (pl.col("kappa") == gain) & (pl.col("round_trip") == trip))[
                            "stable"
                        ][0]
                    )
                    for trip in trips
                }
                for gain in GAINS
            }
        },
        checks=checks,
        data=data,
        units={"round_trip": "s", "deviation": "packets"},
        why="",
        scenario=scenario(runs[0]).to_toml(),
        notes=(
            "Once per round trip a window changes by κ times an accumulation that was measured a round trip before: w(n+1) = "
            "w(n) − κ (a(n−1) − a*), stable for κ < 1 alone, whatever the round trip time, which is the loop's clock. "
            f"{FLOWS} flows decide one after the other in every round trip, and are stable together for κ < {limit:.2f}; many "
            "are the continuous loop of equation 6 with a delay of one round trip, and its limit is π/2. "
            f"At the published κ = 0.5 the largest pole of one flow has modulus {sampled_radius(0.5):.2f}.",
            "A leaky bucket at cwnd / rtt spreads an increase over a round trip, and its round trip time is the last one's. "
            f"With a round trip more in the loop the limit would be {FLOWS * critical_gain(2 * FLOWS):.2f}. A decrease, "
            "which stops the sender at once, is not slowed; so the paced loop is not linear, and oscillates between bounds "
            "instead of diverging.",
        ),
    )


def _boundary(data: pl.DataFrame, pace: bool, trip: float) -> float:
    """The largest gain up to which all are stable; 0 if none is."""
    rows = data.filter((pl.col("paced") == pace) & (pl.col("round_trip") == trip)).sort("kappa")
    last = 0.0
    for gain, stable in zip(rows["kappa"], rows["stable"], strict=True):
        if not stable:
            break
        last = float(gain)
    return last


def simulate(run: Run) -> float:
    """Packets: the standard deviation of one flow's measured accumulation, mean over flows."""
    result = scenario(run).run()
    notes = result.state.filter((pl.col("name") == "accumulation") & (pl.col("time") > WARM_UP))
    spread = [
        float(np.std(rows["value"].to_numpy(), ddof=1)) for _, rows in notes.group_by("flow", maintain_order=True)
    ]
    return network.mean_of(spread) / network.PACKET


def scenario(run: Run) -> Scenario:
    """Four flows on one bottleneck."""
    scheme = {"name": "monaco", "kappa": run.gain, "pace": run.pace}
    when = {"start": {"from": "0 s", "to": "500 ms"}}
    return network.scenario(
        f"κ = {run.gain:g}, {1000 * run.trip:g} ms",
        [network.link("r0", "r1", RATE, run.trip / 2 - 2e-3)],
        [network.Ends(f"flow-{flow}", "r0", "r1", scheme, fields=when) for flow in range(FLOWS)],
        access=100e6,
        seconds=WARM_UP + run.seconds,
        record={"links": "none", "state": True, "bin": "1 s"},
    )


def draw(outcome: Outcome) -> Figure:
    """Oscillation against the gain."""
    from tailback.plot.style import FAINT, MARKERS, figure, line, style

    data = outcome.data
    with style():
        made, axes = figure(1, 2, height=3.2, sharey=True)
        for axis, paced in zip(axes, (False, True), strict=True):
            for index, trip in enumerate(data["round_trip"].unique().sort()):
                rows = data.filter((pl.col("paced") == paced) & (pl.col("round_trip") == trip))
                axis.plot(
                    rows["kappa"],
                    rows["deviation"],
                    marker=MARKERS[index],
                    label=f"{1000 * trip:g} ms",
                    **line(index),
                )
            axis.axvline(interleaved_gain(FLOWS), color=FAINT, linewidth=0.8)
            axis.axhline(OSCILLATING, color=FAINT, linewidth=0.8)
            axis.set_title("paced at cwnd / rtt" if paced else "window only")
            axis.set_xlabel("κ")
        axes[0].set_ylabel("std. dev. of accumulation [packets]")
        axes[0].legend(loc="upper left", title="round trip")
    return made
