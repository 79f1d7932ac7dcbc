"""Table 8, benchmark 2: ten cross streams come up within a round trip, 4 ms apart. Networks are in ``benchmarks.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailback.papers.item import Fidelity, Outcome, Parameter
from tailback.papers.packet_pair import transfers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

CROSSING = transfers.Crossing("sudden jumps in cross traffic", "§9.4.2", 4.0, 1599.0)
LIMIT = 0.14
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
