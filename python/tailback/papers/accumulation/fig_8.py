"""Figure 8: as figure 7, but the bottleneck adds virtual delay: the queue is short, nothing is lost, and throughput settles
as with enough buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailback.papers.accumulation import demands, fig_7, network
from tailback.papers.item import Check, Fidelity, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

BUFFER = fig_7.BUFFER
RUN = demands.Run("Demands come and go, adaptive virtual delay", BUFFER, network.avd())


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return (*demands.parameters(BUFFER), *network.AVD)


def measure(lab: Lab) -> Outcome:
    """One run."""
    (seen,) = lab.map(demands.simulate, [RUN])
    checks = (
        Check(
            "the queue is short",
            f"90th percentile {seen.queue_p90:.0f} packets",
            "under 20 packets (published: below 20 most of the time)",
            seen.queue_p90 < 20,
        ),
        Check(
            "utilization is the one aimed at",
            f"{seen.used:.4f}",
            "0.96 to 0.99 (published: around 0.98)",
            0.96 <= seen.used <= 0.99,
        ),
        Check("no packet is lost", f"{sum(seen.losses)} lost", "none", sum(seen.losses) == 0),
    )
    return Outcome(
        measured={"queue_p90": seen.queue_p90, "utilization": seen.used, "losses": sum(seen.losses)},
        checks=checks,
        data=demands.data(seen),
        units=demands.UNITS,
        why=""
        if not sum(seen.losses)
        else (
            f"{seen.losses[0]} of them while ten flows start together in slow start, {seen.losses[3]} after ten flows "
            "have left at 30 s, of 180 000 packets in all: when flows grow, the virtual queue shows it no sooner than a "
            "real one would, and the real one is not held back by a window that waits in it. The paper does not say "
            "how its flows start."
        ),
        scenario=demands.scenario(RUN).to_toml(),
        notes=(
            "Throughput per flow by interval: " + ", ".join(f"{rate:.2f}" for rate in seen.throughput) + " Mbit/s; the "
            f"flow farthest from its share is {100 * max(seen.spread):.0f} % off.",
        ),
    )


def draw(outcome: Outcome) -> Figure:
    """Utilization, queue and throughput over time."""
    return demands.draw(outcome, BUFFER)
