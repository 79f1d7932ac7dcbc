"""Table 14, benchmark 8: as table 7 with a tenth of the buffer. Networks are in ``benchmarks.py``."""

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
    slowdown,
    transfer,
)  # fmt: skip
from tailback.papers.packet_pair.benchmarks import (
    parameters as common,
)
from tailback.papers.packet_pair.scenes import WINDOW, transport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

PUBLISHED = 1686.0
BUFFER = 44
"""Packets: a tenth of a round trip."""
OTHER_WINDOWS = (500, 700, 1500, 4000)
"""Packets of receiver's window, for comparison."""
LIMIT = 0.20
"""The ledger's."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return common(
        Parameter("cross traffic", "10 × 500 kB, from 100 ms, 44 ms apart", "stated", "§9.4.1"),
        buffer="44 packets: a tenth of a round trip",
    )


def scenario(window: int) -> Scenario:
    """Connection 1 and its cross traffic, with a receiver's window of so many packets."""
    sized = transport(window)
    flows = [transfer("1", PRIMARY, transport=sized), *cross_streams(ROUND_TRIP, transport=sized)]
    return shared(flows, buffer=BUFFER, name="fewer buffers")


def simulate(window: int) -> transfers.Row:
    """One run."""
    return transfers.run(scenario(window), "connection 1", optimal(PRIMARY + 10 * CROSS), 1444.0, PUBLISHED)


def measure(lab: Lab) -> Outcome:
    """Runs it once, and with other windows for comparison: nothing in it is random."""
    rows = lab.map(simulate, [WINDOW, *OTHER_WINDOWS])
    others = zip(OTHER_WINDOWS, rows[1:], strict=True)
    shown = ", ".join(f"{100 * slowdown(row.completion, row.optimal):.1f} % with {window}" for window, row in others)
    notes = (
        f"The setpoints of eleven sources begin at 5 packets each, over a buffer of {BUFFER}: {rows[0].losses} packets are lost. "
        "A retransmission that is lost too waits for soft time-outs, one in four round trips, or until the receiver's window "
        "is full and the timer repairs all holes at once. So the receiver's window, which the paper does not print, decides: "
        f"the slowdown is {shown} packets.",
    )
    return transfers.judged(rows[:1], LIMIT, scenario=scenario(WINDOW).to_toml(), notes=notes)


def draw(outcome: Outcome) -> Figure:
    """Optimum, ours and the paper's."""
    return transfers.bars(outcome)
