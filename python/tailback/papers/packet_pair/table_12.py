"""Table 12, benchmark 6: table 7 in both directions at once, so that acknowledgements share links and queues with data.
Networks are in ``benchmarks.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailback.papers.item import Fidelity, Outcome, Parameter
from tailback.papers.packet_pair import transfers
from tailback.papers.packet_pair.benchmarks import (
    CROSS,
    PRIMARY,
    ROUND_TRIP,
    cross_streams,
    optimal,
    shared,
    transfer,
)  # fmt: skip
from tailback.papers.packet_pair.benchmarks import (
    parameters as common,
)
from tailback.papers.packet_pair.scenes import HEADER, PACKET

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

OPTIMAL, PUBLISHED = 1556.0, 1677.0
LIMIT = 0.12
"""The ledger's."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return common(
        Parameter("traffic", "table 7's, and the same in the other direction", "stated", "§9.4.6"),
        Parameter(
            "acknowledgements",
            f"{HEADER} B, in fair queueing like data, each direction of a connection a conversation of its own",
            "inferred",
            "with them a packet takes 540 B of a link: 1400 ms become 1512 ms, and 1556 ms with the round trip",
        ),
    )


def scenario() -> Scenario:
    """Table 7 mirrored."""
    forward = [transfer("1", PRIMARY), *cross_streams(ROUND_TRIP)]
    backward = [flow.model_copy(update={"name": f"{flow.name} back", "from_": "r1", "to": "r0"}) for flow in forward]
    return shared([*forward, *backward], name="two-way traffic")


def simulate(_: int) -> list[transfers.Row]:
    """The run: the primary connection of each direction."""
    result = scenario().run()
    best = ROUND_TRIP + (optimal(PRIMARY + 10 * CROSS) - ROUND_TRIP) * (PACKET + HEADER) / PACKET
    return [
        transfers.row(result, label, best, OPTIMAL, PUBLISHED, flow=flow)
        for label, flow in (("connection 1, forward", "1"), ("connection 2, backward", "1 back"))
    ]


def measure(lab: Lab) -> Outcome:
    """Runs it once: nothing in it is random."""
    return transfers.judged(lab.map(simulate, [0])[0], LIMIT, scenario=scenario().to_toml())


def draw(outcome: Outcome) -> Figure:
    """Optimum, ours and the paper's."""
    return transfers.bars(outcome)
