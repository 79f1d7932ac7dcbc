"""Table 11, benchmark 5: the bottleneck moves from one link to the next and back. Networks are in ``benchmarks.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailback.papers.item import Fidelity, Outcome, Parameter
from tailback.papers.packet_pair import transfers
from tailback.papers.packet_pair.benchmarks import (
    ACCESS,
    BDP,
    DELAY,
    PRIMARY,
    QUEUE,
    RATE,
    optimal,
    transfer,
)  # fmt: skip
from tailback.papers.packet_pair.benchmarks import (
    parameters as common,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

SECOND, OTHERS = 2000, 500
"""Packets of connection 2 (1 MB) and of connections 3 and 4 (250 kB)."""
SECOND_FROM, OTHERS_FROM = 100.0, 250.0
"""Milliseconds."""
OPTIMAL, PUBLISHED = 644.0, 779.0
LIMIT = 0.25
"""The ledger's."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return common(
        Parameter("S1 to S2", "link B", "inferred", "the figure is lost; gives the printed optimum"),
        Parameter(
            "S2 to H2",
            "40 Mbit/s, 1 ms, fair queueing, 440 packets",
            "inferred",
            "the figure is lost; connection 1 keeps its optimum of 644 ms: 6000 packets pass S1 - S2 before its last",
        ),
        Parameter("connection 2", "1 MB over S1 - S2, from 100 ms", "stated", "§9.4.5"),
        Parameter("connections 3 and 4", "250 kB each over S2 - H2, from 250 ms", "stated", "§9.4.5"),
        Parameter(
            "their hosts",
            "of their own, those of 3 and 4 21 ms from S2",
            "inferred",
            "so that all round trips are alike",
        ),
    )


def scenario() -> Scenario:
    """Two links that connection 1 shares with different streams."""
    import tailback as tb

    queue = {"rate": f"{RATE} bit/s", "buffer": f"{BDP} packets", "queue": QUEUE}
    links = [
        {**ACCESS, "from": "h1", "to": "s1"},
        {**ACCESS, "from": "h3", "to": "s1"},
        {**queue, "from": "s1", "to": "s2", "delay": f"{DELAY} ms"},
        {**queue, "from": "s2", "to": "h2", "delay": "1 ms"},
        {**ACCESS, "from": "s2", "to": "h4"},
        {**ACCESS, "from": "h5", "to": "s2", "delay": "21 ms"},
        {**ACCESS, "from": "h6", "to": "s2", "delay": "21 ms"},
    ]
    flows = [
        transfer("1", PRIMARY, from_="h1", to="h2"),
        transfer("2", SECOND, SECOND_FROM, from_="h3", to="h4"),
        transfer("3", OTHERS, OTHERS_FROM, from_="h5", to="h2"),
        transfer("4", OTHERS, OTHERS_FROM, from_="h6", to="h2"),
    ]
    return tb.graph(
        *links,
        name="a bottleneck that moves",
        duration="3 s",
        flows=flows,
        record={"flows": "none", "links": "none"},
    )


def simulate(_: int) -> transfers.Row:
    """The run."""
    return transfers.run(scenario(), "connection 1", optimal(PRIMARY + SECOND), OPTIMAL, PUBLISHED)


def measure(lab: Lab) -> Outcome:
    """Runs it once: nothing in it is random."""
    return transfers.judged(lab.map(simulate, [0]), LIMIT, scenario=scenario().to_toml())


def draw(outcome: Outcome) -> Figure:
    """Optimum, ours and the paper's."""
    return transfers.bars(outcome)
