"""Sections III-A and III-C: control of edge-to-edge aggregates instead of single flows. The core's queue then scales with
the number of aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from tailback.analysis import columns
from tailback.papers.accumulation import network
from tailback.papers.item import Check, Fidelity, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

RATE = 100e6
FLOWS = 50
LOOPS = {"one aggregate": 1, "five aggregates": 5, "end to end": FLOWS}
"""Control loops over the core."""
WARM_UP = 20.0
CORE = "r0->r1"


class Run(NamedTuple):
    """One simulation."""

    mode: str
    seconds: float


class Seen(NamedTuple):
    """What is kept of it."""

    queue: float
    """Waiting data in packets, from bytes."""
    utilization: float
    smallest: float
    """The smallest share of a micro-flow over the mean one."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *network.COMMON,
        Parameter("core", "100 Mbit/s, 10 ms, unlimited buffer", "inferred", "not given"),
        Parameter("micro-flows", f"{FLOWS}", "inferred", "the ledger's"),
        Parameter(
            "aggregates",
            "1 and 5, each with one control loop from edge to edge and a target of 3 packets",
            "inferred",
            "§III-A, footnote 2; one loop sends for all its micro-flows, which wait their turn in its edge router",
        ),
        Parameter(
            "micro-flows of an aggregate",
            "always have data; their own way to the edge is not simulated",
            "inferred",
            "the claim is about the core",
        ),
        Parameter("measured", f"{_seconds(fidelity):g} s from {WARM_UP:g} s on", "inferred", "at rest"),
    )


def measure(lab: Lab) -> Outcome:
    """Runs the three modes."""
    runs = [Run(mode, _seconds(lab.fidelity)) for mode in LOOPS]
    seen = {run.mode: found for run, found in zip(runs, lab.map(simulate, runs), strict=True)}
    per_loop = {mode: found.queue / LOOPS[mode] for mode, found in seen.items()}
    lowest = min(found.utilization for found in seen.values())
    checks = (
        Check(
            "the core's queue is in proportion to its control loops",
            ", ".join(f"{mode}: {found.queue:.1f} packets" for mode, found in seen.items()),
            "2 to 4 packets per loop, in all modes",
            all(2 <= queue <= 4 for queue in per_loop.values()),
        ),
        Check("the core is used", f"at least {lowest:.3f}", "utilization at least 0.95", lowest >= 0.95),
    )
    data = pl.DataFrame(
        [
            {"mode": mode, "loops": LOOPS[mode], "queue": found.queue, "utilization": found.utilization}
            for mode, found in seen.items()
        ]
    )
    return Outcome(
        measured={
            "core_queue_mean": {mode: found.queue for mode, found in seen.items()},
            "utilization": {mode: found.utilization for mode, found in seen.items()},
        },
        checks=checks,
        data=data,
        units={"queue": "packets", "utilization": "fraction"},
        why="",
        scenario=scenario(runs[0]).to_toml(),
    )


def simulate(run: Run) -> Seen:
    """One run."""
    result = scenario(run).run()
    series = network.between(result.series(link=CORE), WARM_UP, WARM_UP + run.seconds)
    shares = network.goodputs(result, WARM_UP, WARM_UP + run.seconds)
    return Seen(
        columns.mean(series["queue_bytes"]) / network.PACKET,
        network.utilization(result, CORE, WARM_UP, WARM_UP + run.seconds),
        min(shares.values()) / network.mean_of(shares.values()),
    )


def scenario(run: Run) -> Scenario:
    """A core link between two edges, with so many control loops over it."""
    import tailback as tb

    loops = LOOPS[run.mode]
    links, flows = [network.link("r0", "r1", RATE, 10e-3)], []
    for loop in range(loops):
        links += [network.link(f"in-{loop}", "r0", 1e9, 1e-3), network.link("r1", f"out-{loop}", 1e9, 1e-3)]
        start = {"from": "0 s", "to": "2 s"}
        flows.append(network.flow(f"loop-{loop}", "monaco", f"in-{loop}", f"out-{loop}", start=start))
    return tb.graph(
        *links,
        name=f"{FLOWS} micro-flows, {run.mode}",
        duration=f"{WARM_UP + run.seconds:g} s",
        flows=flows,
        record={"links": [CORE], "bin": "100 ms"},
    )


def draw(outcome: Outcome) -> Figure:
    """Queue against the number of control loops."""
    from tailback.plot.style import COLOURS, FAINT, figure, style

    data = outcome.data
    with style():
        made, (axis,) = figure(height=3.2)
        axis.plot(data["loops"], 3 * data["loops"], color=FAINT, label="3 packets per loop")
        axis.plot(data["loops"], data["queue"], linestyle="none", marker="o", color=COLOURS[0], label="simulated")
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("control loops over the core")
        axis.set_ylabel("core queue [packets]")
        axis.legend(loc="upper left")
    return made


def _seconds(fidelity: Fidelity) -> float:
    return 40.0 if fidelity == "full" else 15.0
