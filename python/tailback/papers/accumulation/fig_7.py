"""Figure 7: as figure 6 with too little buffer for 20 flows of three packets: losses, and unsteadier flows, but the link
stays busy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailback.papers.accumulation import demands, fig_6, network
from tailback.papers.item import Check, Fidelity, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

BUFFER = 55
RUN = demands.Run("Demands come and go, too little buffer", BUFFER, network.LANES)


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return demands.parameters(BUFFER)


def measure(lab: Lab) -> Outcome:
    """This figure's run and figure 6's, for comparison."""
    seen, ample = lab.map(demands.simulate, [RUN, fig_6.RUN])
    checks = (
        Check(
            "packets are lost while 20 flows are there",
            f"{seen.losses[2]} lost from 20 to 30 s, {sum(seen.losses)} in all",
            "at least one from 20 to 30 s",
            seen.losses[2] > 0,
        ),
        Check(
            "throughput varies more than with enough buffer",
            f"coefficient of variation {seen.cov:.3f} against {ample.cov:.3f}",
            "larger than in figure 6",
            seen.cov > ample.cov,
        ),
        Check(
            "the link is still used",
            f"{seen.whole:.4f} from beginning to end",
            "at least 0.95",
            seen.whole >= 0.95,
        ),
    )
    return Outcome(
        measured={"losses_20_30s": seen.losses[2], "utilization": seen.whole, "throughput_cov": seen.cov},
        checks=checks,
        data=demands.data(seen),
        units=demands.UNITS,
        why="",
        scenario=demands.scenario(RUN).to_toml(),
        notes=("In the paper losses begin at 20 s; here 15 flows fill 55 packets now and then, and lose some before.",)
        if seen.losses[1]
        else (),
    )


def draw(outcome: Outcome) -> Figure:
    """Utilization, queue and throughput over time."""
    return demands.draw(outcome, BUFFER)
