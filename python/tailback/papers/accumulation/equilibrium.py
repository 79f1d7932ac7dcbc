"""The appendix: at rest, accumulation-based control divides capacity as the concave programme of weighted proportional
fairness does, and its queueing delays are that programme's prices. Random networks, simulated and solved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tailback.analysis import columns
from tailback.analysis.utility import Allocation, proportional
from tailback.papers.accumulation import network
from tailback.papers.item import Check, Fidelity, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

NETWORKS = {"quick": 8, "full": 20}
LINKS = (2, 8)
FLOWS = (3, 12)
RATES = (8.0, 40.0)
"""Mbit/s."""
DELAYS = (2.0, 15.0)
"""Milliseconds."""
WEIGHTS = (1, 2, 4)
LEAST = 0.8
"""Mbit/s: networks where somebody's share is smaller are drawn again; his window would be a packet or two."""
WARM_UP = 40.0
SECONDS = {"quick": 30.0, "full": 60.0}


class Network(NamedTuple):
    """A random tree of links, each in one direction, with flows along them."""

    seed: int
    links: list[tuple[int, int]]
    """The routers that each link leads from and to."""
    rates: list[float]
    """Bit/s, per link."""
    delays: list[float]
    """Seconds, per link."""
    routes: list[list[int]]
    """The links of every flow."""
    weights: list[int]
    seconds: float


class Seen(NamedTuple):
    """What is kept of a run."""

    goodputs: list[float]
    """Bit/s."""
    waits: list[float]
    """Seconds, per link."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *network.COMMON,
        Parameter(
            "networks",
            f"{NETWORKS[fidelity]} trees of {LINKS[0]} to {LINKS[1]} links and {FLOWS[0]} to {FLOWS[1]} flows",
            "inferred",
            "the ledger asks for random topologies; every router joins one of the last two by a link of random direction, flows "
            "take random paths along the links, of all lengths alike, and the way back is ample",
        ),
        Parameter("rates", f"{RATES[0]:g} to {RATES[1]:g} Mbit/s, uniformly", "inferred", "as in the paper's figures"),
        Parameter(
            "delays",
            f"{DELAYS[0]:g} to {DELAYS[1]:g} ms per link; access 1 Gbit/s, 1 ms",
            "inferred",
            "as in the paper's figures",
        ),
        Parameter("weights", "1, 2 or 4 times the target accumulation of 3 packets", "inferred", "§VI"),
        Parameter(
            "least share",
            f"{LEAST:g} Mbit/s",
            "inferred",
            "networks with smaller shares are drawn again: windows of a packet or two are not a fluid",
        ),
        Parameter(
            "start here",
            "slow start",
            "inferred",
            "the rest point does not depend on it; by equation 10 alone long, fast flows would take minutes",
        ),
        Parameter("buffers", "unlimited", "inferred", "the appendix knows no loss"),
        Parameter("measured", f"{SECONDS[fidelity]:g} s from {WARM_UP:g} s on", "inferred", "at rest"),
    )


def measure(lab: Lab) -> Outcome:
    """Simulates and solves every network."""
    drawn = [draw_network(seed, SECONDS[lab.fidelity]) for seed in range(1, NETWORKS[lab.fidelity] + 1)]
    found = lab.map(simulate, drawn)
    solved = [solve(one) for one in drawn]
    residual = max(one.kkt_residual for one in solved)
    data = _shares(drawn, found, solved)
    errors = data["relative_error"].abs()
    mean, worst = columns.mean(errors), columns.greatest(errors)
    row = data.sort(errors).row(-1, named=True)
    return Outcome(
        measured={
            "relative_error_max": worst,
            "relative_error_mean": mean,
            "kkt_residual": residual,
        },
        checks=(
            Check("shares agree on average", f"{100 * mean:.1f} % off", "at most 5 %", mean <= 0.05),
            Check(
                "every flow's share agrees",
                f"at most {100 * worst:.1f} % off (network {row['network']}, flow {row['flow']})",
                "at most 15 %",
                worst <= 0.15,
            ),
            Check("the programme is solved", f"KKT residual {residual:.1e}", "under 1e-6", residual < 1e-6),
        ),
        data=data,
        units={"share": "bit/s", "goodput": "bit/s", "relative_error": "fraction"},
        why="" if worst <= 0.15 else "See the notes.",
        scenario=scenario(drawn[0]).to_toml(),
        notes=(
            _prices(found, solved),
            "Control packets take a part of the links that the programme does not know: 40 B per flow and round trip.",
        ),
    )


def _shares(drawn: Sequence[Network], found: Sequence[Seen], solved: Sequence[Allocation]) -> pl.DataFrame:
    """A row per flow: what the programme gives it, and what it got."""
    return pl.DataFrame(
        [
            {
                "network": one.seed,
                "flow": flow,
                "links": len(route),
                "weight": weight,
                "share": share,
                "goodput": good,
            }
            for one, seen, best in zip(drawn, found, solved, strict=True)
            for flow, (route, weight, share, good) in enumerate(
                zip(one.routes, one.weights, best.rates, seen.goodputs, strict=True)
            )
        ]
    ).with_columns((pl.col("goodput") / pl.col("share") - 1).alias("relative_error"))


def _prices(found: Sequence[Seen], solved: Sequence[Allocation]) -> str:
    """A weight is an accumulation in bits, so a price is a delay in seconds."""
    delays = pl.DataFrame(
        [
            {"price": price, "queueing_delay": wait}
            for seen, best in zip(found, solved, strict=True)
            for price, wait in zip(best.prices, seen.waits, strict=True)
        ]
    )
    dear = delays.filter(pl.col("price") > 1e-4)
    ratio = columns.median(dear["queueing_delay"] / dear["price"])
    return (
        f"Prices are queueing delays (Proposition 1): over {dear.height} congested links the measured delay is "
        f"{ratio:.2f} of the price in the median."
    )


def draw_network(seed: int, seconds: float) -> Network:
    """A random tree, the same for the same seed."""
    rng = np.random.default_rng(seed)
    while True:
        count, flows = int(rng.integers(LINKS[0], LINKS[1] + 1)), int(rng.integers(FLOWS[0], FLOWS[1] + 1))
        # One of the last two routers, so that some paths are long; a few links lead back, so that flows merge.
        joined = [(int(rng.integers(max(0, router - 2), router)), router) for router in range(1, count + 1)]
        links = [(last, first) if rng.random() < 0.2 else (first, last) for first, last in joined]
        rates = [float(round(rate, 1)) * 1e6 for rate in rng.uniform(*RATES, count)]
        delays = [float(round(delay, 1)) * 1e-3 for delay in rng.uniform(*DELAYS, count)]
        ways = paths(links)
        lengths = rng.integers(1, len(ways[-1]) + 1, flows)
        routes = [_one_of([way for way in ways if len(way) == length], rng) for length in lengths]
        weights = rng.choice(WEIGHTS, flows).tolist()
        one = Network(seed, links, rates, delays, routes, weights, seconds)
        if solve(one).rates.min() >= LEAST * 1e6:
            return one


def paths(links: list[tuple[int, int]]) -> list[list[int]]:
    """All directed paths of a tree, as lists of its links, the shortest first."""
    found = [[index] for index in range(len(links))]
    for path in found:
        end = links[path[-1]][1]
        found += [[*path, index] for index, (first, _) in enumerate(links) if first == end]
    return found


def _one_of(ways: list[list[int]], rng: np.random.Generator) -> list[int]:
    return ways[int(rng.integers(0, len(ways)))]


def solve(one: Network) -> Allocation:
    """The concave programme's answer."""
    weights = [weight * network.TARGET * network.PACKET * 8.0 for weight in one.weights]
    return proportional(one.routes, one.rates, weights)


def simulate(one: Network) -> Seen:
    """The packets' answer."""
    result = scenario(one).run()
    shares = network.goodputs(result, WARM_UP, WARM_UP + one.seconds)
    waits = []
    for (first, last), rate in zip(one.links, one.rates, strict=True):
        series = network.between(result.series(link=f"r{first}->r{last}"), WARM_UP, WARM_UP + one.seconds)
        waits.append(columns.mean(series["queue_bytes"]) * 8.0 / rate)
    return Seen([shares[f"flow-{flow}"] * 1e6 for flow in range(len(one.routes))], waits)


def scenario(one: Network) -> Scenario:
    """The network and its flows."""
    tree = [
        network.link(f"r{first}", f"r{last}", rate, delay, reverse={"rate": "1 Gbit/s"})
        for (first, last), rate, delay in zip(one.links, one.rates, one.delays, strict=True)
    ]
    ends = [
        network.Ends(
            f"flow-{flow}",
            f"r{one.links[route[0]][0]}",
            f"r{one.links[route[-1]][1]}",
            {"name": "monaco", "target": network.packets(weight * network.TARGET)},
            fields={"start": {"from": "0 s", "to": "1 s"}, "transport": network.SLOW_START},
        )
        for flow, (route, weight) in enumerate(zip(one.routes, one.weights, strict=True))
    ]
    return network.scenario(
        f"random network {one.seed}",
        tree,
        ends,
        access=1e9,
        seconds=WARM_UP + one.seconds,
        record={"links": [f"r{first}->r{last}" for first, last in one.links], "bin": "100 ms"},
    )


def draw(outcome: Outcome) -> Figure:
    """Measured against predicted shares."""
    from tailback.plot.style import COLOURS, FAINT, MARKERS, figure, style

    data = outcome.data
    with style():
        made, (axis,) = figure(height=4.0)
        low, high = columns.least(data["share"]) / 1.3e6, columns.greatest(data["share"]) * 1.3e-6
        axis.plot([low, high], [low, high], color=FAINT, linewidth=0.8)
        for index, weight in enumerate(WEIGHTS):
            rows = data.filter(pl.col("weight") == weight)
            axis.plot(
                rows["share"] / 1e6,
                rows["goodput"] / 1e6,
                linestyle="none",
                marker=MARKERS[index],
                color=COLOURS[index],
                markerfacecolor="none",
                label=f"weight {weight}",
            )
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("share by the concave programme [Mbit/s]")
        axis.set_ylabel("simulated goodput [Mbit/s]")
        axis.legend(loc="upper left")
    return made
