"""Figure 5: the propagation delay jumps while one flow runs. Vegas takes the longer route for a queue and starves, Vegas
with a bounded memory takes its own queue for the route and fills the buffer, Monaco settles again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from tailback.papers.accumulation import network
from tailback.papers.item import Check, Fidelity, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

SCHEMES = ("vegas", "vegas-k", "monaco")
RATE = 10e6
BUFFER = 100
JUMP = 10.0
SETTLED = JUMP + 3.0
END = 80.0
LINK = "r0->r1"


class Seen(NamedTuple):
    """What is kept of a run."""

    utilization: float
    queue_end: float
    losses: int
    late_losses: int
    """From three seconds after the jump on."""
    times: list[float]
    queue: list[float]
    throughput: list[float]
    truth: list[float]
    """Packets: the flow's accumulation (equation 1), means of bins."""
    believed: list[float | None]
    """Packets: the mean of its scheme's estimates; none where there was no estimate."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return (
        *network.COMMON,
        Parameter("bottleneck", "10 Mbit/s, 12 ms", "stated", "§IV-C"),
        Parameter("jump", "the delay becomes 52 ms at 10 s", "stated", "§IV-C"),
        Parameter(
            "direction of the jump",
            "forward",
            "inferred",
            "the paper's Monaco needs three seconds: 1.5 packets per round trip over 50 packets, not 100",
        ),
        Parameter("access", "100 Mbit/s, 1 ms on both sides", "inferred", "not given"),
        Parameter("buffer", f"{BUFFER} packets", "inferred", "not given"),
        Parameter("duration", f"{END:g} s", "inferred", "so long that Vegas-k's queue reaches the buffer's end"),
        Parameter("Vegas", "ε1 = 1, ε2 = 3 packets", "stated", "§IV-A"),
        Parameter("Vegas's start", "with its slow start", "inferred", "as in its paper"),
        Parameter("k of Vegas-k", "10 round trips", "inferred", "not given"),
    )


def measure(lab: Lab) -> Outcome:
    """Runs the three schemes."""
    seen = dict(zip(SCHEMES, lab.map(simulate, SCHEMES), strict=True))
    data = _data(seen)
    rest = network.between(data, SETTLED, END)
    means = rest.group_by("scheme", maintain_order=True).agg(pl.col("accumulation", "estimate").mean()).rows()
    return Outcome(
        measured={
            "utilization_after": {scheme: run.utilization for scheme, run in seen.items()},
            "queue_end": {scheme: run.queue_end for scheme, run in seen.items()},
            "losses": {scheme: run.losses for scheme, run in seen.items()},
            "bias": {scheme: believed - truth for scheme, truth, believed in means},
        },
        checks=_checks(*(seen[scheme] for scheme in SCHEMES)),
        data=data,
        units={
            "time": "s",
            "queue": "packets",
            "throughput": "bit/s",
            "accumulation": "packets",
            "estimate": "packets",
        },
        why="",
        scenario=scenario("monaco").to_toml(),
        notes=(
            f"Believed and true accumulation in packets, from {SETTLED:g} s on: "
            + "; ".join(f"{scheme} {believed:.2f} and {truth:.2f}" for scheme, truth, believed in means)
            + ".",
        ),
    )


def _checks(vegas: Seen, bounded: Seen, monaco: Seen) -> tuple[Check, ...]:
    grows = bounded.queue[int(2 * SETTLED) :]
    climb = max(grows) - grows[0]
    return (
        Check(
            "Vegas starves after the jump",
            f"utilization {vegas.utilization:.3f}",
            "at most 0.2 (published: less than 0.1)",
            vegas.utilization <= 0.2,
        ),
        Check(
            "Vegas-k's queue grows until loss",
            f"grows by {climb:.0f} packets, {bounded.late_losses} losses after {SETTLED:g} s",
            "grows, and at least one loss",
            climb > 0 and bounded.late_losses > 0,
        ),
        Check(
            "Monaco settles within three seconds",
            f"utilization {monaco.utilization:.4f}, {monaco.late_losses} losses",
            "at least 0.97, no loss",
            monaco.utilization >= 0.97 and monaco.late_losses == 0,
        ),
    )


def _data(seen: Mapping[str, Seen]) -> pl.DataFrame:
    """What each scheme's run shows over time."""
    return pl.concat(
        pl.DataFrame(
            {
                "scheme": scheme,
                "time": run.times,
                "queue": run.queue,
                "throughput": run.throughput,
                "accumulation": run.truth,
                "estimate": run.believed,
            }
        )
        for scheme, run in seen.items()
    )


def simulate(scheme: str) -> Seen:
    """One run of one scheme."""
    result = scenario(scheme).run()
    series, flow = result.series(link=LINK), result.series(flow="flow")
    return Seen(
        network.utilization(result, LINK, SETTLED, END),
        network.queue(result, LINK, END - 1.0, END),
        network.drops(result, LINK, 0.0, END),
        network.drops(result, LINK, SETTLED, END),
        series["time"].to_list(),
        series["mean_queue"].to_list(),
        series["throughput"].to_list(),
        (flow["mean_accumulation"] / network.PACKET).to_list(),
        (flow["estimated_accumulation"].fill_nan(None) / network.PACKET).to_list(),
    )


def scenario(scheme: str) -> Scenario:
    """One flow over one bottleneck whose delay jumps."""
    import tailback as tb

    start = network.TRANSPORT if scheme == "monaco" else network.SLOW_START
    jump = {"schedule": [{"at": f"{JUMP:g} s", "delay": "52 ms"}], "reverse": {"buffer": "unlimited"}}
    return tb.graph(
        network.link("s", "r0", 100e6, 1e-3),
        network.link("r0", "r1", RATE, 12e-3, buffer=f"{BUFFER} packets", **jump),
        network.link("r1", "d", 100e6, 1e-3),
        name=f"{scheme} when the route becomes longer",
        duration=f"{END:g} s",
        flows=[network.flow("flow", scheme, "s", "d", transport=start)],
        record={"links": [LINK], "accumulation": True, "bin": "500 ms"},
    )


def draw(outcome: Outcome) -> Figure:
    """Throughput, queue, and accumulation true and believed, over time, one column per scheme."""
    from tailback.plot.style import COLOURS, FAINT, figure, style

    with style():
        made, axes = figure(3, 3, height=5.2, sharex=True, sharey="row")
        for column, scheme in enumerate(SCHEMES):
            rows = outcome.data.filter(pl.col("scheme") == scheme)
            top, middle, bottom = axes[column], axes[3 + column], axes[6 + column]
            top.plot(rows["time"], rows["throughput"] / RATE, color=COLOURS[0])
            middle.plot(rows["time"], rows["queue"], color=COLOURS[1], linestyle="-")
            bottom.plot(rows["time"], rows["accumulation"], color=COLOURS[0], label="true")
            bottom.plot(rows["time"], rows["estimate"], color=COLOURS[1], linestyle="--", label="believed")
            bottom.set_yscale("symlog", linthresh=1.0)
            top.set_title(scheme)
            bottom.set_xlabel("time [s]")
            for axis in (top, middle, bottom):
                axis.axvline(JUMP, color=FAINT, linewidth=0.8)
        axes[0].set_ylabel("utilization")
        axes[3].set_ylabel("queue [packets]")
        axes[0].set_ylim(0, 1.05)
        axes[3].set_ylim(0, None)
        axes[6].set_ylabel("accumulation [packets]")
        axes[6].set_ylim(0, None)
        axes[6].legend(loc="upper right")
    return made
