"""Table 8, benchmark 2: ten cross streams come up within a round trip, 4 ms apart. Networks are in ``benchmarks.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailback.papers.item import Fidelity, Outcome, Parameter
from tailback.papers.packet_pair import transfers
from tailback.papers.packet_pair.benchmarks import (
    CROSS,
    PRIMARY,
    cross_streams,
    optimal,
    shared,
    transfer,
)  # fmt: skip
from tailback.papers.packet_pair.benchmarks import (
    parameters as common,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

PUBLISHED = 1599.0
SPACING = 4.0
"""Milliseconds between starts."""
LIMIT = 0.14
"""The ledger's."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return common(Parameter("cross traffic", "10 × 500 kB, from 100 ms, 4 ms apart", "stated", "§9.4.2"))


def scenario() -> Scenario:
    """Connection 1 and its cross traffic."""
    flows = [transfer("1", PRIMARY), *cross_streams(SPACING)]
    return shared(flows, name="sudden jumps in cross traffic")


def simulate(_: int) -> transfers.Row:
    """The run."""
    return transfers.run(scenario(), "connection 1", optimal(PRIMARY + 10 * CROSS), 1444.0, PUBLISHED)


def measure(lab: Lab) -> Outcome:
    """Runs it once: nothing in it is random."""
    return transfers.judged(lab.map(simulate, [0]), LIMIT, scenario=scenario().to_toml())


def draw(outcome: Outcome) -> Figure:
    """Optimum, ours and the paper's."""
    return transfers.bars(outcome)
