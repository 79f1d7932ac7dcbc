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
MODES = {"one aggregate": 1, "five aggregates": 5, "end to end": 0}
"""Aggregates over the core; without any, each flow is a control loop."""
LOOPS = {mode: aggregates or FLOWS for mode, aggregates in MODES.items()}
WARM_UP = 20.0
CORE = "r0->r1"
EDGE_QUEUE = {"name": "deficit-round-robin"}
EDGE_BUFFER = 1000
"""Packets in each edge router."""


class Run(NamedTuple):
    """One simulation."""

    mode: str
    seconds: float


class Seen(NamedTuple):
    """What is kept of it."""

    queue: float
    """Waiting data in packets, from bytes."""
    utilization: float
    edge_queue: float
    """Packets waiting in all edge routers."""
    smallest: float
    """The smallest share of a micro-flow over the mean one."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *network.COMMON,
        Parameter("core", "100 Mbit/s, 10 ms, unlimited buffer", "inferred", "not given"),
        Parameter("micro-flows", f"{FLOWS} endless ones from hosts behind the edges", "inferred", "the ledger's"),
        Parameter(
            "aggregates",
            "1 and 5, each one loop of Monaco from edge to edge with a target of 3 packets and slow start",
            "inferred",
            "§III-A, footnote 2",
        ),
        Parameter(
            "micro-flows of an aggregate",
            f"TCP with selective acknowledgements; they wait in the edge router, by deficit round robin, {EDGE_BUFFER} "
            "packets together",
            "inferred",
            "the paper leaves the architecture to its reference 16",
        ),
        Parameter("flows from end to end", "Monaco", "inferred", "end-to-end controlled flows"),
        Parameter("measured", f"{_seconds(fidelity):g} s from {WARM_UP:g} s on", "inferred", "at rest"),
    )


def measure(lab: Lab) -> Outcome:
    """Runs the three modes."""
    runs = [Run(mode, _seconds(lab.fidelity)) for mode in MODES]
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
    data = pl.DataFrame([{"mode": mode, "loops": LOOPS[mode], **found._asdict()} for mode, found in seen.items()])
    return Outcome(
        measured={
            "core_queue_mean": {mode: found.queue for mode, found in seen.items()},
            "utilization": {mode: found.utilization for mode, found in seen.items()},
        },
        checks=checks,
        data=data,
        units={"queue": "packets", "edge_queue": "packets", "utilization": "fraction", "smallest": "of the mean"},
        why="",
        scenario=scenario(runs[0]).to_toml(),
    )


def simulate(run: Run) -> Seen:
    """One run."""
    result = scenario(run).run()
    begin, end = WARM_UP, WARM_UP + run.seconds
    series = network.between(result.series(link=CORE), begin, end)
    shares = network.goodputs(result, begin, end)
    edges = result.aggregates["link"].to_list() if MODES[run.mode] else []
    waiting = (network.between(result.series(link=edge), begin, end)["mean_queue"] for edge in edges)
    return Seen(
        columns.mean(series["queue_bytes"]) / network.PACKET,
        network.utilization(result, CORE, begin, end),
        sum(columns.mean(queue) for queue in waiting),
        min(shares.values()) / network.mean_of(shares.values()),
    )


def scenario(run: Run) -> Scenario:
    """Hosts behind edge routers on both sides of a core link."""
    import tailback as tb

    aggregates = MODES[run.mode]
    links = [network.link("r0", "r1", RATE, 10e-3)]
    for pair in range(aggregates or 1):
        way = (f"hosts-{pair}", f"in-{pair}", "r0"), ("r1", f"out-{pair}", f"peers-{pair}")
        for first, edge, last in way:
            links += [network.link(first, edge, 1e9, 0.5e-3), network.link(edge, last, 1e9, 0.5e-3)]
    flows = []
    for number in range(FLOWS):
        pair = number % (aggregates or 1)
        scheme, transport = ("sack", {}) if aggregates else ("monaco", network.TRANSPORT)
        start = {"from": "0 s", "to": "2 s"}
        ends = f"hosts-{pair}", f"peers-{pair}"
        flows.append(network.flow(f"flow-{number}", scheme, *ends, start=start, transport=transport))
    return tb.graph(
        *links,
        name=f"{FLOWS} micro-flows, {run.mode}",
        duration=f"{WARM_UP + run.seconds:g} s",
        flows=flows,
        aggregates=[
            {
                "name": f"aggregate-{pair}",
                "from": f"in-{pair}",
                "to": f"out-{pair}",
                "scheme": "monaco",
                "queue": EDGE_QUEUE,
                "buffer": f"{EDGE_BUFFER} packets",
            }
            for pair in range(aggregates)
        ],
        record={"links": [CORE, *(f"in-{pair}->aggregate-{pair}" for pair in range(aggregates))], "bin": "100 ms"},
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
