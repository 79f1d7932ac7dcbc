"""The factor g: above 1 for many flows that share less than a packet per round trip each, below 1 for few on a large pipe;
and g as a sender finds it, which is not in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from tailback import units
from tailback.analysis import Interval, mean_interval
from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.tdqm import network

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

SEEDS = {"quick": 4, "full": 12}
ROUND_TRIP = 82e-3
MANY, NARROW, SHORT = 100, 4.5e6, 24
"""Flows, bit/s and packets of buffer: 0.46 packets per flow and round trip."""
FEW, WIDE, LONG = 2, 100e6, 512
"""Flows, bit/s and packets of buffer: 512 packets per flow and round trip."""
FULL = 0.8
"""The part of the pipe that counts as full."""
ADAPTIVE = "found"
SLOW, FAST = ("1", "2", "4", ADAPTIVE), ("1", "0.5", "0.25", ADAPTIVE)


class Run(NamedTuple):
    """One simulation."""

    many: bool
    g: str
    seed: int


class Seen(NamedTuple):
    """What is kept of it."""

    loss: float
    ramp: float
    """Round trips until the pipe is full."""
    utilization: float
    fairness: float
    """Jain's index of the flows' goodputs."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    share = NARROW / 8000 * ROUND_TRIP / MANY
    return (
        Parameter(
            "many",
            f"{MANY} flows, {units.rate(NARROW)}, {SHORT} packets: {share:.2f} packets each",
            "inferred",
            "§III-C",
        ),
        Parameter(
            "few", f"{FEW} flows, {units.rate(WIDE)}, {LONG} packets; slow start ends at 20", "inferred", "§III-C"
        ),
        Parameter("round trip", units.time(ROUND_TRIP), "inferred", "as in Figure 5"),
        Parameter("queue", "tdqm with the thresholds of §IV-B and our defaults", "inferred", "not given"),
        Parameter("g", ", ".join(SLOW) + "; " + ", ".join(FAST), "inferred", "“above” and “below 1”"),
        Parameter(
            "full",
            f"the first second in which the link carries {FULL:g} of its rate",
            "inferred",
            "below the lower ρ threshold, where marks do not act yet",
        ),
        Parameter("runs", str(SEEDS[fidelity]), "inferred", "not given"),
    )


def measure(lab: Lab) -> Outcome:
    """Both cases with every g."""
    runs = [
        Run(many, g, seed)
        for many, factors in ((True, SLOW), (False, FAST))
        for g in factors
        for seed in range(1, SEEDS[lab.fidelity] + 1)
    ]
    seen = zip(runs, lab.map(simulate, runs), strict=True)
    return _judged(pl.DataFrame([{**run._asdict(), **found._asdict()} for run, found in seen]))


def simulate(run: Run) -> Seen:
    """One run."""
    from tailback.analysis import jain

    result = scenario(run).run(seed=run.seed)
    link = result.links.filter(pl.col("link") == "r0->r1").row(0, named=True)
    series = result.series(link="r0->r1")
    rate = float(link["rate"])
    full = np.flatnonzero(series["throughput"].to_numpy() >= FULL * rate)
    ramp = float(series["time"][int(full[0])]) / ROUND_TRIP if full.size else float("inf")
    return Seen(link["loss_rate"], ramp, link["utilization"], float(jain(result.flows["goodput"].to_numpy())))


def scheme(g: str) -> dict[str, Any]:
    """TCP Newark with this g."""
    return {"name": "newark", "adaptive": {}} if g == ADAPTIVE else {"name": "newark", "g": float(g)}


def scenario(run: Run) -> Scenario:
    """A dumbbell with many flows or with few."""
    import tailback as tb

    rate, buffer = (NARROW, SHORT) if run.many else (WIDE, LONG)
    seconds, warm_up = (120.0, 30.0) if run.many else (80.0, 0.0)
    room: dict[str, Any] = {"initial_window": "2 packets"}
    if not run.many:
        room["initial_ssthresh"] = "20 packets"
    access = {"rate": "1 Gbit/s", "delay": "500 us"}
    return tb.dumbbell(
        rate=units.rate(rate),
        delay="40 ms",
        buffer=f"{buffer} packets",
        queue={"name": "tdqm", "rho": {"max_p": 0.02 if run.many else network.RHO_MAX_P}},
        access=access,
        duration=units.time(seconds),
        warm_up=units.time(warm_up),
        name=f"{'many' if run.many else 'few'} flows, g {run.g}",
        record={"bin": "1 s", "flows": "none"},
        flows=[
            tb.flows(
                MANY if run.many else FEW,
                scheme(run.g),
                name="flow",
                start={"from": "0 s", "to": "10 s" if run.many else "100 ms"},
                transport=room,
            )
        ],
    )


def _judged(data: pl.DataFrame) -> Outcome:
    def of(many: bool, g: str, column: str) -> Interval:
        values = data.filter((pl.col("many") == many) & (pl.col("g") == g))[column]
        if not values.is_finite().all():
            # One run never got there: the mean is infinite, and nothing bounds it.
            return Interval(float("inf"), float("inf"), 0.95, len(values))
        return mean_interval(values)

    loss = {g: of(True, g, "loss") for g in SLOW}
    ramp = {g: of(False, g, "ramp") for g in FAST}
    few = data.filter(~pl.col("many"))
    filled = {g: few.filter((pl.col("g") == g) & pl.col("ramp").is_finite()).height for g in FAST}
    fair, carried = ({g: of(True, g, column).mean for g in SLOW} for column in ("fairness", "utilization"))
    return Outcome(
        measured={
            "loss": {g: interval.mean for g, interval in loss.items()},
            "ramp_rtts": {g: interval.mean for g, interval in ramp.items()},
            "fairness_of_many": fair,
            "utilization_of_many": carried,
        },
        checks=(
            *(
                Check(
                    f"many flows lose less with g = {g}",
                    f"{100 * loss[g].mean:.3f} % against {100 * loss['1'].mean:.3f} %",
                    "below g = 1, beyond the 95 % intervals",
                    loss[g].high < loss["1"].low,
                )
                for g in ("2", "4")
            ),
            *(
                Check(
                    f"few flows fill the pipe sooner with g = {g}",
                    f"{ramp[g]} round trips against {ramp['1']}",
                    "below g = 1, beyond the 95 % intervals",
                    ramp[g].high < ramp["1"].low,
                )
                for g in ("0.5", "0.25")
            ),
        ),
        data=data,
        units={"ramp": "RTT"},
        why="",
        scenario=scenario(Run(True, "2", 1)).to_toml(),
        notes=(
            "A g that the sender finds (ours): the many lose "
            f"{100 * loss[ADAPTIVE].mean:.3f} % at a utilization of {carried[ADAPTIVE]:.2f} ({carried['1']:.2f} with g = 1), "
            f"with Jain's index {fair[ADAPTIVE]:.2f} ({fair['1']:.2f}); the few fill the pipe within the run in "
            f"{filled[ADAPTIVE]} of {few['seed'].n_unique()} runs ({filled['1']} with g = 1).",
        ),
    )


def draw(outcome: Outcome) -> Figure:
    """Loss of the many and ramp of the few, against g."""
    from tailback.plot.style import COLOURS, figure, style

    with style():
        made, axes = figure(1, 2, height=3.0)
        for many, factors, column, axis in ((True, SLOW, "loss", axes[0]), (False, FAST, "ramp", axes[1])):
            rows = outcome.data.filter(pl.col("many") == many)
            for index, g in enumerate(factors):
                values = rows.filter(pl.col("g") == g)[column].to_numpy() * (100 if column == "loss" else 1)
                axis.plot([index] * values.size, values, "o", color=COLOURS[0], markerfacecolor="none")
                never = values.size - np.isfinite(values).sum()
                if never:
                    axis.annotate(
                        f"{never} of {values.size}\nnever did",
                        (index, 0.02),
                        xycoords=("data", "axes fraction"),
                        ha="center",
                        fontsize=7,
                    )
                else:
                    axis.plot([index - 0.25, index + 0.25], [values.mean()] * 2, color=COLOURS[1], linestyle="-")
            axis.set_xticks(range(len(factors)), [f"g = {g}" if g != ADAPTIVE else "g found" for g in factors])
            axis.set_ylim(0, None)
        axes[0].set_ylabel("loss (%), many flows")
        axes[1].set_ylabel("round trips to 80 %, few flows")
    return made
