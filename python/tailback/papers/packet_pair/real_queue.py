"""Beside the paper: packet-pair over a real fair queue, which the memorandum only simulates. Three flows with round trips of
their own share a bottleneck, simulated and with real packets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.real import attempt

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.results import Result
    from tailback.scenario import Scenario

BOTTLENECK = "r0->r1"
NEAR = ("0.5 ms", "10 ms", "25 ms")
"""One-way delays of the senders' links."""
BUDGET = "0.2 ms, 2 ms"
"""Late by at most a packet's transmission at a flow's share of the bottleneck, at 99 %."""
SHARE = 0.10
UTILIZATION = 0.90


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return (
        Parameter("bottleneck", "10 Mbit/s, 4 ms, 100 packets, weighted fair queueing", "inferred", "ours"),
        Parameter("flows", f"three, whose senders' links take {', '.join(NEAR)}", "inferred", "ours"),
        Parameter("packets", "1000 B", "inferred", "longer than the memorandum's, so that headers are a smaller part"),
        Parameter("scheme", "Table 2's parameters", "stated", "Table 2"),
        Parameter("duration", "20 s, the first 5 s not counted", "inferred", "ours"),
        Parameter("real run", f"one, late by at most {BUDGET} (median, 99 %)", "inferred", "ours"),
    )


def scenario() -> Scenario:
    """Three flows at a fair queue."""
    import tailback as tb

    return tb.dumbbell(
        name="packet-pair over a fair queue",
        rate="10 Mbit/s",
        delay="4 ms",
        buffer="100 packets",
        queue="weighted-fair-queueing",
        access={"rate": "100 Mbit/s", "delay": list(NEAR)},
        receiver_access={"rate": "100 Mbit/s", "delay": "0.5 ms"},
        duration="20 s",
        warm_up="5 s",
        flows=[tb.flows(3, "packet-pair", name="flow", transport={"segment_size": "1000 B"})],
    )


def simulate(_: str) -> Result:
    """The run in the simulator."""
    return scenario().run()


def measure(lab: Lab) -> Outcome:
    """One run in each world."""
    from tailback.lab.run import Setup

    (simulated,) = lab.map(simulate, ["simulator"])
    real, missing = attempt(Setup(scenario().to_json()), lab, BUDGET)
    worlds = {"simulator": simulated} if real is None else {"simulator": simulated, "real": real}
    checks = []
    for world in ("simulator", "real"):
        result = worlds.get(world)
        shares = _shares(result) if result else None
        worst = max(abs(3 * share - 1) for share in shares.values()) if shares else None
        used = _used(result) if result else None
        checks += [
            Check(
                f"every flow has a third of what arrives, {world}",
                missing if worst is None else f"at most {100 * worst:.1f} % off",
                f"within {100 * SHARE:.0f} %",
                None if worst is None else worst <= SHARE,
            ),
            Check(
                f"utilization, {world}",
                missing if used is None else f"{used:.3f}",
                f"at least {UTILIZATION:g}",
                None if used is None else used >= UTILIZATION,
            ),
        ]
    data = pl.concat(
        result.flow_series.select(pl.lit(world).alias("world"), "flow", "time", "throughput", "rtt")
        for world, result in worlds.items()
    )
    return Outcome(
        measured={
            "share": {world: _shares(result) for world, result in worlds.items()},
            "utilization": {world: _used(result) for world, result in worlds.items()},
            "queue_mean": {world: _link(result)["mean_queue"].item() for world, result in worlds.items()},
            "loss": {world: _link(result)["loss_rate"].item() for world, result in worlds.items()},
        },
        checks=checks,
        data=data,
        units={"time": "s", "throughput": "bit/s", "rtt": "s"},
        why="" if real else f"Half of the claim is about real packets: {missing}.",
        scenario=scenario().to_toml(),
    )


def _link(result: Result) -> pl.DataFrame:
    return result.links.filter(pl.col("link") == BOTTLENECK)


def _used(result: Result) -> float:
    return float(_link(result)["utilization"].item())


def _shares(result: Result) -> dict[str, float]:
    """Parts of what arrived."""
    whole = float(result.flows["throughput"].sum())
    return {row["flow"]: row["throughput"] / whole for row in result.flows.iter_rows(named=True)}


def draw(outcome: Outcome) -> Figure:
    """Throughput over time, one world below the other."""
    from tailback.plot.style import FAINT, figure, line, style

    worlds = outcome.data["world"].unique(maintain_order=True).to_list()
    with style():
        made, axes = figure(len(worlds), height=3.0 * len(worlds))
        for axis, world in zip(axes, worlds, strict=True):
            rows = outcome.data.filter(pl.col("world") == world)
            for index, flow in enumerate(rows["flow"].unique(maintain_order=True)):
                one = rows.filter(pl.col("flow") == flow)
                smooth = one["throughput"].rolling_mean(5, min_samples=1) / 1e6
                axis.plot(one["time"], smooth, label=f"sender's link {NEAR[index]}", **line(index))
            axis.axhline(10 / 3, color=FAINT, linewidth=0.6)
            axis.set_ylabel("throughput [Mbit/s]")
            axis.set_title("simulated" if world == "simulator" else "real packets", loc="left")
        axes[-1].set_xlabel("time [s]")
        axes[0].legend(loc="upper right")
    return made
