"""Section VI: flows with larger target accumulations get proportionally larger shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from tailback.analysis import columns
from tailback.papers.accumulation import network
from tailback.papers.item import Check, Fidelity, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

WEIGHTS = (1, 2, 4)
PER_CLASS = 2
RATE = 42e6
WARM_UP = 20.0
SECONDS = {"quick": 20.0, "full": 60.0}


class Run(NamedTuple):
    """One simulation."""

    seconds: float


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *network.COMMON,
        Parameter("targets", "3, 6 and 12 packets", "inferred", "§VI and the ledger: 1 : 2 : 4 times Table I's"),
        Parameter("flows", f"{PER_CLASS} per target", "inferred", "not given"),
        Parameter(
            "bottleneck", "42 Mbit/s, 10 ms, unlimited buffer", "inferred", "not given; shares of 3, 6, 12 Mbit/s"
        ),
        Parameter("access", "100 Mbit/s, 1 ms", "inferred", "not given"),
        Parameter("measured", f"{SECONDS[fidelity]:g} s from {WARM_UP:g} s on", "inferred", "at rest"),
    )


def measure(lab: Lab) -> Outcome:
    """One run."""
    (shares,) = lab.map(simulate, [Run(SECONDS[lab.fidelity])])
    data = pl.DataFrame(
        [{"flow": name, "weight": int(name.split("-")[0][1:]), "goodput": rate * 1e6} for name, rate in shares.items()]
    )
    total = data["goodput"].sum() / sum(data["weight"])
    data = data.with_columns((pl.col("goodput") / total).alias("ratio"))
    ratios = [columns.mean(data.filter(pl.col("weight") == weight)["ratio"]) for weight in WEIGHTS]
    worst = columns.greatest((data["ratio"] / data["weight"] - 1).abs())
    checks = (
        Check(
            "shares are as the target accumulations",
            " : ".join(f"{ratio:.2f}" for ratio in ratios) + f"; the farthest flow is {100 * worst:.1f} % off",
            "1 : 2 : 4 within 10 %",
            worst <= 0.1,
        ),
    )
    return Outcome(
        measured={"share_ratio": ratios},
        checks=checks,
        data=data,
        units={"goodput": "bit/s"},
        why="",
        scenario=scenario(Run(20.0)).to_toml(),
    )


def simulate(run: Run) -> dict[str, float]:
    """Mbit/s per flow at rest."""
    return network.goodputs(scenario(run).run(), WARM_UP, WARM_UP + run.seconds)


def scenario(run: Run) -> Scenario:
    """Flows of three classes on one bottleneck."""
    ends = [
        network.Ends(
            f"w{weight}-{index}",
            "r0",
            "r1",
            {"name": "monaco", "target": network.packets(weight * network.TARGET)},
            fields={"start": {"from": "0 s", "to": "1 s"}},
        )
        for weight in WEIGHTS
        for index in range(PER_CLASS)
    ]
    return network.scenario(
        "Target accumulations 1 : 2 : 4",
        [network.link("r0", "r1", RATE, 10e-3)],
        ends,
        access=100e6,
        seconds=WARM_UP + run.seconds,
        record={"links": "none", "bin": "1 s"},
    )


def draw(outcome: Outcome) -> Figure:
    """Throughput per flow against its fair share."""
    from tailback.plot.style import COLOURS, FAINT, figure, style

    data = outcome.data
    unit = float(data["goodput"].sum()) / float(data["weight"].sum()) / 1e6
    with style():
        made, (axis,) = figure(height=3.2)
        axis.bar(data["flow"], data["goodput"] / 1e6, color=COLOURS[0], width=0.6)
        for place, weight in enumerate(data["weight"]):
            axis.plot([place - 0.4, place + 0.4], [weight * unit] * 2, color=FAINT, linestyle="-", linewidth=1.2)
        axis.set_ylabel("throughput [Mbit/s]")
        axis.set_xlabel("flow (line: its share by weight)")
    return made
