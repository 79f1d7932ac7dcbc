"""Section IV-B.1: lost control packets and lost data do not stall Monaco."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

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
BIN = 0.1
LINK = "r0->r1"


class Run(NamedTuple):
    """One simulation."""

    kind: str
    loss: float
    seconds: float

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
            "stated",
            "§IV-B.1 names both; rates are the ledger's",
        ),
        Parameter("measured", f"{SECONDS[fidelity]:g} s from {WARM_UP:g} s on", "inferred", "at rest"),
    )


def measure(lab: Lab) -> Outcome:
    """Runs every kind and rate of loss."""
    runs = [Run("none", 0.0, SECONDS[lab.fidelity])]
    runs += [Run(kind, loss, SECONDS[lab.fidelity]) for kind in KINDS for loss in LOSSES]
    seen = dict(zip(runs, lab.map(simulate, runs), strict=True))
    control = [found.utilization for run, found in seen.items() if run.kind == "control"]
    longest = max(seen.items(), key=lambda pair: pair[1].longest)
    checks = (
        Check(
            "nothing stalls for more than a second",
            f"{sum(found.stalls for found in seen.values())} stalls; the longest pause is {longest[1].longest:.1f} s "
            f"({longest[0].name})",
            "no stall over one second",
            all(found.stalls == 0 for found in seen.values()),
        ),
        Check(
            "lost control packets do not cost throughput",
            "utilization " + ", ".join(f"{value:.3f}" for value in control),
            "at least 0.95 with loss of control packets only",
            min(control) >= 0.95,
        ),
    )
    data = pl.DataFrame(
        [
            {"kind": run.kind, "loss": run.loss, "utilization": found.utilization, "longest_pause": found.longest}
            for run, found in seen.items()
        ]
    )
    return Outcome(
        measured={
            "utilization": {run.name: found.utilization for run, found in seen.items()},
            "stalls_over_1s": {run.name: found.stalls for run, found in seen.items()},
        },
        checks=checks,
        data=data,
        units={"loss": "fraction", "utilization": "fraction", "longest_pause": "s"},
        why="",
        scenario=scenario(runs[1]).to_toml(),
        notes=("Every lost packet of data halves a window (§IV-B.2), as of TCP Reno; no claim is made for that case.",),
    )


def simulate(run: Run) -> Seen:
    """One run."""
    result = scenario(run).run()
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
        axis.bar(names, data["utilization"], color=COLOURS[0], width=0.6)
        axis.axhline(0.95, color=FAINT, linewidth=0.8)
        axis.set_ylabel("utilization")
        axis.set_xlabel("packets lost")
        axis.set_ylim(0, 1.05)
    return made
