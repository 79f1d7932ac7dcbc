"""Figure 9: a chain of many bottlenecks, some drop-tail and some with adaptive virtual delay. Three long flows of very
different round trip times get equal, proportionally fair shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tailback.analysis import mean_interval
from tailback.papers.accumulation import network
from tailback.papers.item import Check, Fidelity, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

HOPS = {"quick": (2, 5, 9), "full": (2, 3, 4, 5, 6, 7, 8, 9)}
SEEDS = {"quick": 1, "full": 3}
RATE = 100e6
DELAY = 4e-3
ACCESS = (1e-3, 7.5e-3, 14e-3)
"""Seconds: access links of the long flows, on both sides."""
END = 50.0
LATE = 40.0
LONG = tuple(f"long-{index}" for index in range(3))


class Run(NamedTuple):
    """One simulation."""

    hops: int
    seed: int


class Seen(NamedTuple):
    """What is kept of a run."""

    long: list[float]
    """Mbit/s per long flow."""
    short: list[float]
    queues: list[float]
    """Waiting packets, per bottleneck."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *network.COMMON,
        *network.AVD,
        Parameter("bottlenecks", ", ".join(map(str, HOPS[fidelity])) + "; 100 Mbit/s, 4 ms", "stated", "§V-B: 2 to 9"),
        Parameter("kinds", "drop-tail or AVD by a fair coin, both at least once", "stated", "§V-B: “randomly”"),
        Parameter("flows", "three long flows, one short flow per bottleneck", "stated", "§V-B and 100/(3+N)"),
        Parameter(
            "delays of the long flows' access",
            "1, 7.5, 14 ms on both sides",
            "inferred",
            "“very different RTTs”; by 1.5 packets per round trip the flow of Fig. 9(f) comes to 12 Mbit/s in about 10 s only "
            "with a round trip of at most 98 ms",
        ),
        Parameter("access rates", "1 Gbit/s; 1 ms for short flows", "inferred", "not given"),
        Parameter("buffers", "unlimited", "stated", "“enough”"),
        Parameter("duration", f"{END:g} s", "stated", "§V-B"),
        Parameter("runs", f"{SEEDS[fidelity]} of each, with different seeds", "inferred", "not given"),
        Parameter("measured", f"from {LATE:g} s on", "inferred", "“steady state”; shares still converge before"),
    )


def kinds(hops: int) -> list[str]:
    """Which bottlenecks are AVD, the same for the same number."""
    rng = np.random.default_rng(hops)
    while True:
        drawn = ["avd" if coin else "drop-tail" for coin in rng.integers(0, 2, hops)]
        if len(set(drawn)) == 2:
            return drawn


def measure(lab: Lab) -> Outcome:
    """Every number of bottlenecks with several seeds."""
    counts, seeds = HOPS[lab.fidelity], range(1, SEEDS[lab.fidelity] + 1)
    runs = [Run(hops, seed) for hops in counts for seed in seeds]
    seen = dict(zip(runs, lab.map(simulate, runs), strict=True))
    data = _shares(seen)
    cov = {
        hops: network.mean_of(_variation(found.long) for run, found in seen.items() if run.hops == hops)
        for hops in counts
    }
    queues = _queues(seen)
    fair = _fair(data)
    return Outcome(
        measured={
            "long_mbps": {
                hops: network.mean_of(rate for run, found in seen.items() if run.hops == hops for rate in found.long)
                for hops in counts
            },
            "cov_long": cov,
            "queue_mean": queues,
        },
        checks=(fair, _alike(cov), _shorter(queues)),
        data=data,
        units={"goodput": "bit/s", "fair": "bit/s"},
        why="" if fair.holds else CONVERGENCE,
        scenario=scenario(counts[0]).to_toml(),
        notes=(CONVERGENCE,),
    )


def _shares(seen: Mapping[Run, Seen]) -> pl.DataFrame:
    """What each long flow got in each run, beside its proportionally fair share."""
    return pl.DataFrame(
        [
            {"hops": run.hops, "seed": run.seed, "flow": name, "goodput": rate * 1e6, "fair": 1e8 / (3 + run.hops)}
            for run, found in seen.items()
            for name, rate in zip(LONG, found.long, strict=True)
        ]
    )


def _queues(seen: Mapping[Run, Seen]) -> dict[str, float]:
    """Waiting packets, the mean over all bottlenecks of a kind."""
    return {
        kind: network.mean_of(
            queue
            for run, found in seen.items()
            for queue, of in zip(found.queues, kinds(run.hops), strict=True)
            if of == kind
        )
        for kind in ("drop-tail", "avd")
    }


def _fair(data: pl.DataFrame) -> Check:
    shares = {
        (hops, name): mean_interval(rows["goodput"] / rows["fair"])
        for (hops, name), rows in data.group_by("hops", "flow", maintain_order=True)
    }
    (hops, name), worst = max(shares.items(), key=lambda pair: abs(pair[1].mean - 1))
    return Check(
        "each long flow gets its proportionally fair share",
        f"farthest off is {name} at N={hops}, with {worst} of it",
        "within 10 % of 100/(3+N) Mbit/s, mean over runs",
        abs(worst.mean - 1) <= 0.1,
    )


def _alike(cov: Mapping[int, float]) -> Check:
    return Check(
        "long flows are equal whatever their round trip times",
        ", ".join(f"N={hops}: {value:.3f}" for hops, value in cov.items()),
        "coefficient of variation at most 0.06 (published: 0.02 to 0.05)",
        max(cov.values()) <= 0.06,
    )


def _shorter(queues: Mapping[str, float]) -> Check:
    return Check(
        "queues with virtual delay are shorter",
        f"{queues['avd']:.1f} packets against {queues['drop-tail']:.1f}",
        "shorter than drop-tail's",
        queues["avd"] < queues["drop-tail"],
    )


CONVERGENCE = (
    "AVD routers aim at 0.98 of their link, and control packets take 40 B per flow and round trip: shares lie 2 to 3 % below "
    "100/(3+N) for that alone. The rest is convergence: by equation 6 differences between flows shrink with the time "
    "constant rtt² / (κ t_q), t_q being the queueing of a round trip, 10 s for the longest; with access links of 25 ms it "
    "would be 20 s, and the longest flow 12 to 16 % below its share at 50 s."
)


def _variation(rates: list[float]) -> float:
    return float(np.std(rates, ddof=1) / np.mean(rates))


def simulate(run: Run) -> Seen:
    """One chain."""
    hops = run.hops
    result = scenario(hops).run(seed=run.seed)
    shares = network.goodputs(result, LATE, END)
    return Seen(
        [shares[name] for name in LONG],
        [shares[f"short-{hop}"] for hop in range(hops)],
        [network.queue(result, link, LATE, END) for link in network.hops(hops)],
    )


def scenario(hops: int) -> Scenario:
    """A chain of bottlenecks."""
    queues = [network.avd() if kind == "avd" else network.LANES for kind in kinds(hops)]
    chain = network.chain(RATE, DELAY, queues, reverse={"queue": network.LANES})
    when = {"start": {"from": "0 s", "to": "1 s"}}
    long = [
        network.Ends(name, "r0", f"r{hops}", near=delay, far=delay, fields=when)
        for name, delay in zip(LONG, ACCESS, strict=True)
    ]
    short = [network.Ends(f"short-{hop}", f"r{hop}", f"r{hop + 1}", fields=when) for hop in range(hops)]
    return network.scenario(
        f"{hops} bottlenecks, drop-tail and AVD",
        chain,
        [*long, *short],
        access=1e9,
        seconds=END,
        record={"links": network.hops(hops), "bin": "500 ms"},
    )


def draw(outcome: Outcome) -> Figure:
    """Shares of the long flows against the number of bottlenecks."""
    from tailback.plot.style import COLOURS, FAINT, MARKERS, figure, style

    data = outcome.data
    with style():
        made, (axis,) = figure(height=3.4)
        hops = data["hops"].unique().sort()
        axis.plot(hops, 100 / (3 + hops), color=FAINT, label="100/(3+N)")
        for index, name in enumerate(LONG):
            rows = data.filter(pl.col("flow") == name)
            axis.plot(
                rows["hops"],
                rows["goodput"] / 1e6,
                linestyle="none",
                marker=MARKERS[index],
                color=COLOURS[index],
                markerfacecolor="none",
                label=name,
            )
        axis.set_xlabel("bottlenecks N")
        axis.set_ylabel("throughput [Mbit/s]")
        axis.set_ylim(0, None)
        axis.legend(loc="upper right")
    return made
