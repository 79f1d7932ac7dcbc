"""Figure 6: flows join and leave a drop-tail bottleneck with enough buffer. Everyone gets a fair share at once, three
packets per flow wait, none is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailback.papers.accumulation import demands, network
from tailback.papers.item import Check, Fidelity, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

BUFFER = 90
RUN = demands.Run("Demands come and go, enough buffer", BUFFER, network.LANES)


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return demands.parameters(BUFFER)


def measure(lab: Lab) -> Outcome:
    """One run."""
    (seen,) = lab.map(demands.simulate, [RUN])
    gaps = [abs(rate / fair - 1) for rate, fair in zip(seen.throughput, demands.PUBLISHED, strict=True)]
    checks = (
        Check(
            "throughput is fair in every interval",
            ", ".join(f"{rate:.2f}" for rate in seen.throughput)
            + f" Mbit/s, at most {100 * max(gaps):.1f} % off; single flows at most {100 * max(seen.spread):.1f} %",
            "3, 2, 1.5, 3, 6 Mbit/s within 8 %",
            max(gaps) <= 0.08,
        ),
        Check("no packet is lost", f"{sum(seen.losses)} lost", "none", sum(seen.losses) == 0),
        Check(
            "about three packets wait per flow",
            ", ".join(f"{queue:.2f}" for queue in seen.queue),
            "2 to 4 in every interval (target 3)",
            all(2 <= queue <= 4 for queue in seen.queue),
        ),
        Check(
            "the link is used",
            f"{seen.used:.4f} outside the two drops of demand",
            "at least 0.97",
            seen.used >= 0.97,
        ),
    )
    return Outcome(
        measured={
            "throughput_mbps": seen.throughput,
            "queue_per_flow": network.mean_of(seen.queue),
            "utilization": seen.used,
            "losses": sum(seen.losses),
        },
        checks=checks,
        data=demands.data(seen),
        units=demands.UNITS,
        why="",
        scenario=demands.scenario(RUN).to_toml(),
    )


def draw(outcome: Outcome) -> Figure:
    """Utilization, queue and throughput over time."""
    return demands.draw(outcome, BUFFER)
