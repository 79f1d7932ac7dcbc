"""Figure 10: three bottlenecks, long and short flows, and web traffic that arrives later. Shares are proportionally fair,
and the bottleneck with adaptive virtual delay keeps its queue short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import polars as pl

from tailback.analysis import mean_interval
from tailback.papers.accumulation import network
from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.analysis.confidence import Interval
    from tailback.papers.lab import Lab
    from tailback.scenario import Flow, Scenario

RATE = 100e6
END = 50.0
INTERVALS = {"0-20": (10.0, 20.0, 1), "20-30": (24.0, 30.0, 2), "30-40": (34.0, 40.0, 2), "40-50": (44.0, 50.0, 1)}
"""Begin, end, long flows; the first seconds after each change do not count."""
ROUTERS = ("R1", "R2", "R3")
WEB_LINKS = 25
"""Access links of each of the two sets of web connections."""
PER_LINK = 2
"""Users on each."""
Above: TypeAlias = tuple[int, str, str]
"""A seed, an interval and a router whose queue was not longer there than R1's."""
SEEDS = {"quick": 2, "full": 5}


class Seen(NamedTuple):
    """What is kept of a run."""

    long: dict[str, list[float]]
    """Mbit/s by interval, per long flow that is there."""
    short: dict[str, list[float]]
    queues: dict[str, dict[str, float]]
    """Waiting packets, by interval and router."""
    connections: int
    """Web connections that were made."""
    times: list[float]
    series: dict[str, list[float]]


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *network.COMMON,
        *network.AVD,
        Parameter("bottlenecks", "three, 100 Mbit/s; the first AVD, the others drop-tail", "stated", "§V-B, Fig. 10"),
        Parameter("access", "1 Gbit/s", "stated", "§V-B"),
        Parameter(
            "delays",
            "bottlenecks 4 ms, access 1 ms",
            "inferred",
            "those of “the former multiple bottleneck network”, to which §V-B adds web traffic; “unlabelled links have 1 ms”",
        ),
        Parameter("long flows", "0-50 s and 20-40 s", "stated", "§V-B"),
        Parameter("short flows", "two per bottleneck, starts in 0-3 s", "stated", "§V-B"),
        Parameter("web", "1000 connections over 50 links of 1 to 100 ms, from 30 s", "stated", "§V-B"),
        Parameter(
            "web's users",
            f"{2 * WEB_LINKS * PER_LINK} of SURGE, with all its parameters as published, a TCP Reno connection per file",
            "inferred",
            "§V-B names Barford and Crovella's model and “totally” 1000 connections: so many does a hundred users make in 20 s",
        ),
        Parameter(
            "web's way", "half over the first bottleneck, half over the second", "inferred", "§V-B names these two"
        ),
        Parameter("buffers", "2000 packets", "inferred", "“enough”"),
        Parameter("runs", f"{SEEDS[fidelity]}, with different seeds", "inferred", "not given"),
    )


def measure(lab: Lab) -> Outcome:
    """Runs with several seeds; the first is drawn."""
    seen = lab.map(simulate, range(1, SEEDS[lab.fidelity] + 1))
    long = {name: mean_interval([network.mean_of(run.long[name]) for run in seen]) for name in INTERVALS}
    short = {name: mean_interval([network.mean_of(run.short[name]) for run in seen]) for name in INTERVALS}
    queues = {
        router: {name: mean_interval([run.queues[name][router] for run in seen]) for name in INTERVALS}
        for router in ROUTERS
    }
    connections = mean_interval([float(run.connections) for run in seen])
    above = [
        (seed, name, other)
        for seed, run in enumerate(seen, start=1)
        for name in INTERVALS
        for other in ("R2", "R3")
        if run.queues[name]["R1"] >= run.queues[name][other]
    ]
    checks = (
        _shares("long flows get their shares before the web traffic", long, ("14.3", "12.5"), _worst(seen, "long", 1)),
        _shares("so do short flows", short, ("42.9", "37.5"), _worst(seen, "short", 3)),
        _lower(seen, queues, above),
    )
    why = "" if not above else _why(above, queues)
    return Outcome(
        measured={
            "long_mbps": {name: found.mean for name, found in long.items()},
            "short_mbps": {name: found.mean for name, found in short.items()},
            "queue_mean": {
                router: network.mean_of(found.mean for found in by.values()) for router, by in queues.items()
            },
        },
        checks=checks,
        data=pl.DataFrame({"time": seen[0].times, **seen[0].series}),
        units={"time": "s"} | {name: "packets" if name in ROUTERS else "bit/s" for name in seen[0].series},
        why=why,
        changed=_with_the_same_load(len(seen), queues, above),
        scenario=scenario().to_toml(),
        notes=(
            f"With the web traffic long flows get {long['30-40']} Mbit/s, and {long['40-50']} when the second has left; the paper: "
            f"“drops a little”, “then goes up to about 13”. Users make {connections} connections.",
            "The load matters: with a thousand of SURGE's users instead of a thousand connections, long flows fall to 6 Mbit/s, "
            "and which queue is longer depends on where the largest files are fetched, since TCP Reno fills whatever it finds.",
        ),
    )


def _worst(seen: Sequence[Seen], rates: str, weight: float) -> float:
    """How far the farthest flow of any run is off before the web traffic."""
    found: list[float] = [
        abs(rate * (6 + INTERVALS[name][2]) / (100 * weight) - 1)
        for run in seen
        for name in ("0-20", "20-30")
        for rate in getattr(run, rates)[name]
    ]
    return max(found)


def _shares(claim: str, found: Mapping[str, Interval], due: tuple[str, str], worst: float) -> Check:
    return Check(
        claim,
        f"{found['0-20']} and {found['20-30']} Mbit/s; the farthest flow {100 * worst:.1f} % off",
        f"{due[0]} and {due[1]} Mbit/s within 10 %",
        worst <= 0.1,
    )


def _lower(seen: Sequence[Seen], queues: Mapping[str, Mapping[str, Interval]], above: Sequence[Above]) -> Check:
    told = "; ".join(
        f"{name} s: {queues['R1'][name]} against {queues['R2'][name]} and {queues['R3'][name]}" for name in INTERVALS
    )
    return Check(
        "the AVD router's queue is lower throughout",
        f"{told}; not lower in {len(above)} of {len(seen) * len(INTERVALS) * 2} comparisons",
        "lower than those of R2 and R3, in every interval of every run",
        not above,
    )


def _with_the_same_load(runs: int, queues: Mapping[str, Mapping[str, Interval]], above: Sequence[Above]) -> ChangedTest:
    by_mean = all(queues["R1"][name].mean < queues[other][name].mean for name in INTERVALS for other in ("R2", "R3"))
    beside = sum(other == "R2" for _, _, other in above)
    return ChangedTest(
        [
            Check(
                "R1's queue against R2's, which has the same traffic",
                f"lower in {runs * len(INTERVALS) - beside} of {runs * len(INTERVALS)} comparisons",
                "all",
                not beside,
            ),
            Check(
                "R1's queue against both others, means over runs",
                "lower in every interval" if by_mean else "not lower in every interval",
                "lower in every interval",
                by_mean,
            ),
        ],
        "R3 carries no web traffic, R1 and R2 do. Fig. 10(e) compares routers with the same load.",
    )


def _why(above: Sequence[Above], queues: Mapping[str, Mapping[str, Interval]]) -> str:
    listed = ", ".join(f"seed {seed}, {name} s: {other}" for seed, name, other in above)
    last = list(INTERVALS)[-1]
    return (
        f"R1's queue is not the lowest in {listed}. R3 has no web traffic at all, and TCP Reno's bursts fill R1 for moments "
        f"whatever its discipline: {queues['R1'][last]} packets at R1 from {last} s, {queues['R2'][last]} at R2 with the same "
        f"traffic, {queues['R3'][last]} at R3 without."
    )


def simulate(seed: int) -> Seen:
    """One run."""
    result = scenario().run(seed=seed)
    long: dict[str, list[float]] = {}
    short: dict[str, list[float]] = {}
    queues: dict[str, dict[str, float]] = {}
    for name, (begin, end, count) in INTERVALS.items():
        shares = network.goodputs(result, begin, end)
        long[name] = [shares[f"long-{index}"] for index in range(count)]
        short[name] = [shares[f"short-{hop}-{index}"] for hop in range(3) for index in range(2)]
        queues[name] = {
            router: network.queue(result, link, begin, end)
            for link, router in zip(network.hops(3), ROUTERS, strict=True)
        }
    series = {
        name: result.series(flow=name)["goodput"].to_list() for name in ("long-0", "long-1", "short-0-0", "short-2-0")
    }
    for link, router in zip(network.hops(3), ROUTERS, strict=True):
        series[router] = result.series(link=link)["mean_queue"].to_list()
    times = result.series(link="r0->r1")["time"].to_list()
    return Seen(long, short, queues, result.messages.height, times, series)


def scenario() -> Scenario:
    """Three bottlenecks, long and short flows, web traffic."""
    queues = [network.avd(), network.LANES, network.LANES]
    chain = network.chain(RATE, 4e-3, queues, buffer="2000 packets", reverse={"queue": network.LANES})
    long = [
        network.Ends("long-0", "r0", "r3"),
        network.Ends("long-1", "r0", "r3", fields={"start": "20 s", "stop": "40 s"}),
    ]
    short = [
        network.Ends(f"short-{hop}-{index}", f"r{hop}", f"r{hop + 1}", fields={"start": {"from": "0 s", "to": "3 s"}})
        for hop in range(3)
        for index in range(2)
    ]
    web_links, web_flows = _web()
    return network.scenario(
        "Three bottlenecks and web traffic",
        [*chain, *web_links],
        [*long, *short],
        access=1e9,
        seconds=END,
        record={
            "links": network.hops(3),
            "flows": [end.name for end in (*long, *short)],
            "bin": "200 ms",
        },
        others=web_flows,
    )


def _web() -> tuple[list[dict[str, Any]], list[Flow]]:
    """Web connections over the first two bottlenecks, and their access links."""
    import tailback as tb

    links, flows = [], []
    for hop in range(2):
        links.append(network.link(f"r{hop + 1}", f"web-{hop}-d", 1e9, 1e-3))
        for index in range(WEB_LINKS):
            name, delay = f"web-{hop}-{index}", 1e-3 + 99e-3 * index / (WEB_LINKS - 1)
            links.append(network.link(name, f"r{hop}", 1e9, round(delay, 6)))
            transport = {"segment_size": "1000 B", "initial_window": "2 packets"}
            ends = {"from_": name, "to": f"web-{hop}-d"}
            flows.append(
                tb.flows(PER_LINK, "reno", {"name": "surge"}, name=name, **ends, start="30 s", transport=transport)
            )
    return links, flows


def draw(outcome: Outcome) -> Figure:
    """Throughput and queues over time."""
    from tailback.plot.style import figure, line, style

    data = outcome.data
    with style():
        made, (top, bottom) = figure(2, 1, height=4.6, sharex=True)
        for index, name in enumerate(("long-0", "long-1", "short-0-0", "short-2-0")):
            top.plot(data["time"], data[name].rolling_mean(5, min_samples=1) / 1e6, label=name, **line(index))
        top.set_ylabel("throughput [Mbit/s]")
        top.legend(loc="upper right", ncols=2)
        for index, router in enumerate(ROUTERS):
            kind = "AVD" if index == 0 else "drop-tail"
            bottom.plot(data["time"], data[router], label=f"{router} ({kind})", **{**line(index), "linewidth": 1.0})
        # Single bursts of the web are hundreds of times what waits otherwise.
        bottom.set_yscale("symlog", linthresh=10.0)
        bottom.set_ylim(0, None)
        bottom.set_ylabel("queue [packets]")
        bottom.set_xlabel("time [s]")
        bottom.legend(loc="upper left")
    return made
