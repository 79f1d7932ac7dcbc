"""Section IV-B.1: lost control packets and lost data do not stall Monaco."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from tailback.analysis import mean_interval
from tailback.papers.accumulation import network
from tailback.papers.item import Check, Fidelity, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

RATE = 20e6
FLOWS = 4
LOSSES = (0.01, 0.05)
KINDS = ("control", "data", "both")
WARM_UP = 10.0
SECONDS = {"quick": 30.0, "full": 120.0}
SEEDS = {"quick": 2, "full": 5}
BIN = 0.1
LINK = "r0->r1"


class Run(NamedTuple):
    """One simulation."""

    kind: str
    loss: float
    seconds: float
    seed: int = 1

    @property
    def name(self) -> str:
        """How it is called in results."""
        return f"{self.kind} {100 * self.loss:g} %"


class Seen(NamedTuple):
    """What is kept of it."""

    utilization: float
    stalls: int
    """Times that a flow delivered nothing for more than a second."""
    longest: float
    """Seconds: the longest such time, whole bins."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *network.COMMON,
        Parameter("bottleneck", "20 Mbit/s, 15 ms, unlimited buffer", "inferred", "not given"),
        Parameter("flows", f"{FLOWS}, access 100 Mbit/s, 1 ms", "inferred", "not given"),
        Parameter(
            "loss",
            "independent, 1 % and 5 % in each direction: of control packets and reports, of data, of both",
            "inferred",
            "§IV-B.1 names both kinds, and no rates; those are the ledger's",
        ),
        Parameter(
            "measured",
            f"{SECONDS[fidelity]:g} s from {WARM_UP:g} s on, with each of {SEEDS[fidelity]} seeds",
            "inferred",
            "at rest; a stall is rare, and one run says little about it",
        ),
    )


def measure(lab: Lab) -> Outcome:
    """Runs every kind and rate of loss with several seeds."""
    seconds = SECONDS[lab.fidelity]
    kinds = [("none", 0.0), *((kind, loss) for kind in KINDS for loss in LOSSES)]
    runs = [Run(kind, loss, seconds, seed) for kind, loss in kinds for seed in range(1, SEEDS[lab.fidelity] + 1)]
    seen: dict[str, list[Seen]] = {}
    for run, found in zip(runs, lab.map(simulate, runs), strict=True):
        seen.setdefault(run.name, []).append(found)
    used = {name: mean_interval([each.utilization for each in found]) for name, found in seen.items()}
    stalls = {name: sum(each.stalls for each in found) for name, found in seen.items()}
    pauses = {name: max(each.longest for each in found) for name, found in seen.items()}
    longest = max(pauses, key=lambda name: pauses[name])
    control = {run.name: used[run.name].mean for run in runs if run.kind == "control"}
    checks = (
        Check(
            "nothing stalls for more than a second",
            f"{sum(stalls.values())} stalls in {len(runs) * FLOWS * seconds / 60:.0f} minutes of flows; the longest pause is "
            f"{pauses[longest]:.1f} s ({longest})",
            "no stall over one second in any run",
            not any(stalls.values()),
        ),
        Check(
            "lost control packets do not cost throughput",
            "utilization " + ", ".join(f"{value:.3f}" for value in control.values()),
            "at least 0.95 with loss of control packets only, mean over runs",
            min(control.values()) >= 0.95,
        ),
    )
    data = pl.DataFrame(
        [
            {
                "kind": run.kind,
                "loss": run.loss,
                "utilization": used[run.name].mean,
                "half_width": used[run.name].half_width,
                "longest_pause": pauses[run.name],
            }
            for run in runs
            if run.seed == 1
        ]
    )
    return Outcome(
        measured={
            "utilization": {name: interval.mean for name, interval in used.items()},
            "stalls_over_1s": stalls,
        },
        checks=checks,
        data=data,
        units={"loss": "fraction", "utilization": "fraction", "half_width": "fraction", "longest_pause": "s"},
        why="" if not any(stalls.values()) else _why(stalls),
        scenario=scenario(runs[-1]).to_toml(),
        notes=("Every lost packet of data halves a window (§IV-B.2), as of TCP Reno; no claim is made for that case.",),
    )


def _why(stalls: dict[str, int]) -> str:
    where = ", ".join(name for name, count in stalls.items() if count)
    return (
        f"Stalls happen with {where}: where data, the pair of control packets that would show it missing and the next of both "
        "are lost, nothing comes back, and the back-off of both timers (RFC 6298 §5.5) makes that 0.2 + 0.4 + 0.8 s. That "
        "was seen once in 2000 minutes of flows."
    )


def simulate(run: Run) -> Seen:
    """One run."""
    result = scenario(run).run(seed=run.seed)
    longest = 0
    stalls = 0
    for flow in range(FLOWS):
        rates = network.between(result.series(flow=f"flow-{flow}"), 1.0, WARM_UP + run.seconds)["goodput"]
        pauses = [len(list(bins)) for idle, bins in groupby(rate == 0.0 for rate in rates) if idle]
        longest = max([longest, *pauses])
        stalls += sum(pause * BIN > 1.0 for pause in pauses)
    used = network.utilization(result, LINK, WARM_UP, WARM_UP + run.seconds)
    return Seen(used, stalls, longest * BIN)


def scenario(run: Run) -> Scenario:
    """A dumbbell whose bottleneck loses packets of one class, both ways."""

    def loss(kind: str) -> dict[str, object]:
        if run.kind in {kind, "both"}:
            return {"loss": {"name": "selective", "probability": run.loss, "class": kind}}
        return {}

    # Data and control packets are lost on different links, each with a loss model of its own.
    links = [
        network.link("r0", "r1", RATE, 10e-3, **loss("data"), reverse={}),
        network.link("r1", "r2", 1e9, 5e-3, **loss("control"), reverse=loss("control")),
    ]
    when = {"start": {"from": "0 s", "to": "500 ms"}}
    return network.scenario(
        f"Monaco with loss: {run.name}",
        links,
        [network.Ends(f"flow-{flow}", "r0", "r2", fields=when) for flow in range(FLOWS)],
        access=100e6,
        seconds=WARM_UP + run.seconds,
        record={"links": [LINK], "bin": f"{1000 * BIN:g} ms"},
    )


def draw(outcome: Outcome) -> Figure:
    """Utilization by kind and rate of loss."""
    from tailback.plot.style import COLOURS, FAINT, figure, style

    data = outcome.data
    names = [f"{kind}\n{100 * loss:g} %" for kind, loss in zip(data["kind"], data["loss"], strict=True)]
    with style():
        made, (axis,) = figure(height=3.2)
        axis.bar(names, data["utilization"], yerr=data["half_width"], color=COLOURS[0], width=0.6, capsize=2)
        axis.axhline(0.95, color=FAINT, linewidth=0.8)
        axis.set_ylabel("utilization")
        axis.set_xlabel("packets lost")
        axis.set_ylim(0, 1.05)
    return made
