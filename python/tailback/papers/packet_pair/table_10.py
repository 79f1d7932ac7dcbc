"""Table 10, benchmark 4: two primary connections of different length, with the cross traffic of table 7. Networks are in
``benchmarks.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailback.papers.item import Fidelity, Outcome, Parameter
from tailback.papers.packet_pair import transfers
from tailback.papers.packet_pair.benchmarks import (
    ACCESS,
    BDP,
    CROSS,
    DELAY,
    PRIMARY,
    QUEUE,
    RATE,
    ROUND_TRIP,
    cross_streams,
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

LONG_ACCESS = 20
"""Milliseconds: connection 2's own link, in place of 1 ms."""
LONG_ROUND_TRIP = ROUND_TRIP + 2 * (LONG_ACCESS - 1)
PUBLISHED = ((1844.0, 1869.0), (1882.0, 1993.0))
"""Milliseconds: optimum and completion of the short and the long connection."""
LIMIT = 0.10
"""The ledger's."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return common(
        Parameter("primary connections", "2 MB each, from 0", "stated", "§9.4.4"),
        Parameter(
            "connection 2's round trip",
            f"{LONG_ROUND_TRIP} ms by an access link of {LONG_ACCESS} ms",
            "inferred",
            "the optimum of 1882 ms is 1800 ms of service and 82 ms",
        ),
        Parameter("cross traffic", "as in table 7", "stated", "§9.4.4"),
    )


def scenario() -> Scenario:
    """Two primary connections and ten cross streams, every source behind a link of its own."""
    import tailback as tb

    flows = [
        transfer("1", PRIMARY, from_="h1", to="d"),
        transfer("2", PRIMARY, from_="h2", to="d"),
        *(
            stream.model_copy(update={"name": f"{3 + index}", "from_": f"h{3 + index}", "to": "d"})
            for index, stream in enumerate(cross_streams(ROUND_TRIP))
        ),
    ]
    links = [
        {**ACCESS, "from": f"h{index}", "to": "s1", "delay": f"{LONG_ACCESS if index == 2 else 1} ms"}
        for index in range(1, len(flows) + 1)
    ]
    bottleneck = {
        "from": "s1", "to": "s2", "rate": f"{RATE} bit/s", "delay": f"{DELAY} ms", "buffer": f"{BDP} packets", "queue": QUEUE,
    }  # fmt: skip
    return tb.graph(
        *links,
        bottleneck,
        {**ACCESS, "from": "s2", "to": "d"},
        name="two connections of different length",
        duration="4 s",
        flows=flows,
        record={"flows": "none", "links": "none"},
    )


def simulate(_: int) -> list[transfers.Row]:
    """The run: both primary connections."""
    result = scenario().run()
    packets = 2 * PRIMARY + 10 * CROSS
    return [
        transfers.row(result, name, optimal(packets, round_trip), *PUBLISHED[index], flow=f"{index + 1}")
        for index, (name, round_trip) in enumerate(
            (("connection 1, short", float(ROUND_TRIP)), ("connection 2, long", float(LONG_ROUND_TRIP)))
        )
    ]


def measure(lab: Lab) -> Outcome:
    """Runs it once: nothing in it is random."""
    return transfers.judged(lab.map(simulate, [0])[0], LIMIT, scenario=scenario().to_toml())


def draw(outcome: Outcome) -> Figure:
    """Optimum, ours and the paper's."""
    return transfers.bars(outcome)
