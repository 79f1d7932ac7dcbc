"""Figure 11, the paper's Linux experiment, in the simulator and with real packets: two slow bottlenecks, two short flows, and
two long ones that come and go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from tailback.analysis.utility import proportional
from tailback.papers.accumulation import network
from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.real import attempt

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.results import Result
    from tailback.scenario import Scenario

RATE = 1e6
END = 80.0
FLOWS = ("short-0", "short-1", "long-0", "long-1")
INTERVALS = {
    "0-20": (8.0, 20.0, ("short-0", "short-1")),
    "20-40": (28.0, 40.0, ("short-0", "short-1", "long-0")),
    "40-60": (48.0, 60.0, FLOWS),
    "60-80": (68.0, 80.0, ("short-0", "short-1", "long-1")),
}
"""Begin, end, flows; the first seconds after each change do not count."""
TOLERANCE = 0.12
REAL_TOLERANCE = 0.20
BUDGET = "0.8 ms, 8 ms"
"""How late a run with real packets may be: a tenth of a packet's transmission at the median, one at 99 %."""


class Seen(NamedTuple):
    """What is kept of the run."""

    shares: dict[str, dict[str, float]]
    """Mbit/s by interval and flow."""
    times: list[float]
    series: dict[str, list[float]]


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return (
        *network.COMMON,
        Parameter(
            "real world",
            f"endpoints over UDP, a router process with the simulator's links; late by at most {BUDGET} (median, 99 %)",
            "inferred",
            "the paper's was Linux 2.2.18 with Click",
        ),
        Parameter("bottlenecks", "two, 1 Mbit/s, 20 ms, drop-tail", "stated", "§V-C"),
        Parameter("other links", "10 Mbit/s", "stated", "Fig. 11"),
        Parameter("other delays", "1 ms", "inferred", "not given"),
        Parameter("buffers", "100 packets", "inferred", "not given"),
        Parameter("flows", "short all the time, long at 20-60 and 40-80 s", "stated", "§V-C"),
        Parameter("measured", "from 8 s after each change on", "inferred", "“after a brief transient period”"),
    )


def measure(lab: Lab) -> Outcome:
    """One run in each world."""
    from tailback.lab.run import Setup

    (seen,) = lab.map(simulate, ["simulator"])
    real, missing = attempt(Setup(scenario().to_json()), lab, BUDGET)
    worlds = {"simulator": seen} if real is None else {"simulator": seen, "real": _seen(real)}
    simulated, said = _worst(seen)
    checks = [
        Check(
            "every flow gets its proportionally fair share in every interval",
            said,
            f"within {100 * TOLERANCE:.0f} %",
            simulated <= TOLERANCE,
        )
    ]
    measured, said = _worst(worlds["real"]) if real else (None, missing)
    checks.append(
        Check(
            "the same over real sockets and a real router process",
            said,
            f"within {100 * REAL_TOLERANCE:.0f} %",
            None if measured is None else measured <= REAL_TOLERANCE,
        )
    )
    data = pl.concat(
        pl.DataFrame({"world": world, "flow": flow, "time": one.times, "goodput": one.series[flow]})
        for world, one in worlds.items()
        for flow in FLOWS
    )
    return Outcome(
        measured={"throughput_mbps": {world: _table(one) for world, one in worlds.items()}},
        checks=checks,
        data=data,
        units={"time": "s", "goodput": "bit/s"},
        why="" if real else f"Half of the claim is about real sockets: {missing}. The half in the simulator holds.",
        scenario=scenario().to_toml(),
    )


def _table(seen: Seen) -> dict[str, dict[str, float]]:
    """Mbit/s by flow and interval."""
    return {
        flow: {name: seen.shares[name][flow] for name, (_, _, flows) in INTERVALS.items() if flow in flows}
        for flow in FLOWS
    }


def _worst(seen: Seen) -> tuple[float, str]:
    """The share that is furthest from the proportionally fair one, and where."""
    worst = (0.0, "", "")
    for interval, (_, _, flows) in INTERVALS.items():
        fair = proportional([_route(flow) for flow in flows], [RATE / 1e6] * 2).rates
        for flow, share in zip(flows, fair, strict=True):
            worst = max(worst, (abs(seen.shares[interval][flow] / float(share) - 1), flow, interval))
    return worst[0], f"at most {100 * worst[0]:.1f} % off ({worst[1]}, {worst[2]} s)"


def _route(flow: str) -> list[int]:
    return {"short-0": [0], "short-1": [1]}.get(flow, [0, 1])


def simulate(_: str) -> Seen:
    """The run in the simulator."""
    return _seen(scenario().run())


def _seen(result: Result) -> Seen:
    shares = {name: network.goodputs(result, begin, end) for name, (begin, end, _) in INTERVALS.items()}
    series = {flow: result.series(flow=flow)["goodput"].to_list() for flow in FLOWS}
    return Seen(shares, result.series(flow="long-0")["time"].to_list(), series)


def scenario() -> Scenario:
    """Two bottlenecks, four flows."""
    ends = [
        network.Ends("short-0", "r0", "r1"),
        network.Ends("short-1", "r1", "r2"),
        network.Ends("long-0", "r0", "r2", fields={"start": "20 s", "stop": "60 s"}),
        network.Ends("long-1", "r0", "r2", fields={"start": "40 s"}),
    ]
    return network.scenario(
        "The paper's Linux experiment",
        network.chain(RATE, 20e-3, [network.LANES] * 2, buffer="100 packets"),
        ends,
        access=10e6,
        seconds=END,
        record={"links": "none", "bin": "500 ms"},
    )


def draw(outcome: Outcome) -> Figure:
    """Throughput over time, one world below the other."""
    from tailback.plot.style import FAINT, figure, line, style

    worlds = outcome.data["world"].unique(maintain_order=True).to_list()
    with style():
        made, axes = figure(len(worlds), height=3.4 * len(worlds))
        for axis, world in zip(axes, worlds, strict=True):
            for index, flow in enumerate(FLOWS):
                rows = outcome.data.filter((pl.col("world") == world) & (pl.col("flow") == flow))
                smooth = rows["goodput"].rolling_mean(4, min_samples=1) / 1e6
                axis.plot(rows["time"], smooth, label=flow, **line(index))
            for level in (0.25, 1 / 3, 0.5, 2 / 3):
                axis.axhline(level, color=FAINT, linewidth=0.6)
            axis.set_ylabel("throughput [Mbit/s]")
            axis.set_title("simulated" if world == "simulator" else "real packets", loc="left")
        axes[-1].set_xlabel("time [s]")
        axes[0].legend(loc="upper right", ncols=2)
    return made
