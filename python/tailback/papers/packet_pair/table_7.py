"""Table 7, benchmark 1: ten cross streams come up one round trip apart. Networks are in ``benchmarks.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailback.papers.item import Fidelity, Outcome, Parameter
from tailback.papers.packet_pair import transfers
from tailback.papers.packet_pair.benchmarks import ROUND_TRIP

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

CROSSING = transfers.Crossing("slow changes in cross traffic", "§9.4.1", ROUND_TRIP, 1576.0)
LIMIT = 0.12
"""The ledger's."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return CROSSING.parameters()


def measure(lab: Lab) -> Outcome:
    """Runs it once: nothing in it is random."""
    return transfers.judged(
        lab.map(transfers.Crossing.simulate, [CROSSING]), LIMIT, scenario=CROSSING.scenario().to_toml()
    )


def draw(outcome: Outcome) -> Figure:
    """Optimum, ours and the paper's."""
    return transfers.bars(outcome)
