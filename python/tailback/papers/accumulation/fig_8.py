"""Figure 8: as figure 7, but the bottleneck adds virtual delay: the queue is short, nothing is lost, and throughput settles
as with enough buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailback.analysis import mean_interval
from tailback.papers.accumulation import demands, fig_7, network
from tailback.papers.item import Check, Fidelity, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

BUFFER = fig_7.BUFFER
SEEDS = {"quick": 2, "full": 5}
RUN = demands.Run("Demands come and go, adaptive virtual delay", BUFFER, network.avd())


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    runs = Parameter("runs", f"{SEEDS[fidelity]}, with different seeds", "inferred", "not given")
    return (*demands.parameters(BUFFER), *network.AVD, runs)


def measure(lab: Lab) -> Outcome:
    """Runs with several seeds; the first is drawn."""
    seen = lab.map(demands.simulate, [RUN._replace(seed=seed) for seed in range(1, SEEDS[lab.fidelity] + 1)])
    lost = [sum(run.losses) for run in seen]
    used = mean_interval([run.whole for run in seen])
    queue = max(run.queue_p90 for run in seen)
    checks = (
        Check(
            "the queue is short",
            f"90th percentile at most {queue:.0f} packets, over the whole run",
            "under 20 packets (published: below 20 most of the time)",
            queue < 20,
        ),
        Check(
            "utilization is the one aimed at",
            f"{used} from beginning to end",
            "0.96 to 0.99 (published: around 0.98)",
            0.96 <= used.mean <= 0.99,
        ),
        Check("no packet is lost", ", ".join(map(str, lost)) + " lost, by run", "none in any run", sum(lost) == 0),
    )
    return Outcome(
        measured={"queue_p90": queue, "utilization": used.mean, "losses": sum(lost)},
        checks=checks,
        data=demands.data(seen[0]),
        units=demands.UNITS,
        why="" if not sum(lost) else _why(seen),
        scenario=demands.scenario(RUN).to_toml(),
        notes=(
            "Throughput per flow by interval: "
            + ", ".join(f"{rate:.2f}" for rate in seen[0].throughput)
            + f" Mbit/s; the flow farthest from its share is {100 * max(seen[0].spread):.0f} % off.",
            "When ten flows leave at 30 s the others double within a few round trips, and for a second the virtual queue is "
            "also a real one, until the virtual capacity has found its value: the queue then peaks at some 40 packets. With "
            "slow start, of which the paper says nothing, 10 to 16 packets are lost in the first tenth of a second.",
        ),
    )


def _why(seen: Sequence[demands.Seen]) -> str:
    by_interval = [sum(run.losses[number] for run in seen) for number in range(len(demands.INTERVALS))]
    return (
        f"By interval {', '.join(map(str, by_interval))} are lost, all within a second of a change of demand: when flows "
        "grow, the virtual queue shows it no sooner than a real one would, and the real one is not held back by a window "
        "that waits in it."
    )


def draw(outcome: Outcome) -> Figure:
    """Utilization, queue and throughput over time."""
    return demands.draw(outcome, BUFFER)
