"""Figure 2: three laws on a chain of two bottlenecks. They share one equilibrium, the proportionally fair one, and reach it
differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tailback.analysis import Interval, fluid, mean_interval
from tailback.analysis.fluid import Law
from tailback.analysis.utility import proportional
from tailback.papers.accumulation import network
from tailback.papers.item import Check, Fidelity, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

LAWS: tuple[Law, ...] = ("aiad", "mw", "p")
RATE = 9e6
END = 60.0
FLUID = 10.0
"""Seconds of the fluid model."""
LATE = 30.0
"""From here on flows are at rest."""
BAND = 0.1
"""The flows have settled when the rates of all, averaged over half a second, are so near to their shares."""
TOLERANCE = 0.08
SEEDS = {"quick": 3, "full": 10}
FLOWS = ("long", "short-0", "short-1")


class Run(NamedTuple):
    """One law with one seed, by which control packets leave at other instants."""

    law: Law
    seed: int = 1


class Seen(NamedTuple):
    """What is kept of a run."""

    shares: dict[str, float]
    """Mbit/s at rest."""
    settled: float
    """Seconds."""
    times: list[float]
    rates: dict[str, list[float]]
    """Mbit/s."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *network.COMMON,
        Parameter("topology", "two 9 Mbit/s bottlenecks in line, one long and two short flows", "stated", "§III-C"),
        Parameter("estimator", "Monaco's", "stated", "§III-C: “the scheme developed in Section IV-B”"),
        Parameter("κ of AIAD", "0.5 packets", "stated", "Table I"),
        Parameter("κ of MW", "100 packets/s", "inferred", "Table I's 0.5 has no unit; equation 5 wants a rate"),
        Parameter("delays", "10 ms per bottleneck, access 100 Mbit/s and 1 ms", "inferred", "not given"),
        Parameter("buffers", "unlimited", "inferred", "“enough”"),
        Parameter("starts", "all at 0 s", "inferred", "as Fig. 2 shows"),
        Parameter("runs", f"{SEEDS[fidelity]} per law, with different seeds", "inferred", "not given"),
    )


def measure(lab: Lab) -> Outcome:
    """Runs the three laws with several seeds; the first of each is drawn."""
    seeds = range(1, SEEDS[lab.fidelity] + 1)
    runs = [Run(law, seed) for law in LAWS for seed in seeds]
    found = list(zip(runs, lab.map(simulate, runs), strict=True))
    seen = {law: [made for run, made in found if run.law == law] for law in LAWS}
    shares = {
        law: {flow: network.mean_of(run.shares[flow] for run in made) for flow in FLOWS} for law, made in seen.items()
    }
    worst = {law: _worst(each) for law, each in shares.items()}
    settle = {law: mean_interval([run.settled for run in made]) for law, made in seen.items()}
    return Outcome(
        measured={
            "long_mbps": {law: shares[law]["long"] for law in LAWS},
            "short_mbps": {law: [shares[law]["short-0"], shares[law]["short-1"]] for law in LAWS},
            "settle_s": {law: interval.mean for law, interval in settle.items()},
        },
        checks=(*(_fair(law, shares[law], worst[law]) for law in LAWS), _apart(settle)),
        data=_beside_fluid({law: made[0] for law, made in seen.items()}),
        units={"time": "s", "goodput": "bit/s", "fluid": "bit/s"},
        why=_why(worst),
        scenario=scenario("p").to_toml(),
        notes=(
            f"Thin, the first {0.6 * FLUID:g} s of the fluid model with delays, equations 3, 5 and 6: it knows no packets, "
            "control periods or pacing.",
            "Control packets take 40 B per round trip and flow from the link: shares lie that much below.",
            "AIAD's rest depends on how it is reached: after a start with slow start the long flow rests 8 % below its "
            "share. The sign of the error (equation 4) holds the median of the measured accumulation at the target, "
            "not its mean, and the law cycles around it; footnote 4 sees small differences, too.",
            "Settling is known to a tenth of a second, so of single runs a few have two laws alike: means are compared.",
        ),
    )


def _worst(shares: Mapping[str, float]) -> float:
    """How far the flow that is farthest from its proportionally fair share is off, as a part of it."""
    fair = proportional([[0, 1], [0], [1]], [RATE / 1e6] * 2).rates
    return max(abs(shares[flow] / float(expected) - 1) for flow, expected in zip(FLOWS, fair, strict=True))


def _fair(law: str, shares: Mapping[str, float], worst: float) -> Check:
    return Check(
        f"{law.upper()} comes to the proportionally fair shares",
        ", ".join(f"{flow} {shares[flow]:.2f}" for flow in FLOWS) + f" Mbit/s; {100 * worst:.1f} % off",
        f"3, 6, 6 Mbit/s within {100 * TOLERANCE:.0f} %, mean over runs",
        worst <= TOLERANCE,
    )


def _apart(settle: Mapping[Law, Interval]) -> Check:
    ordered = sorted(interval.mean for interval in settle.values())
    return Check(
        "their transients differ",
        ", ".join(f"{law} {interval} s" for law, interval in settle.items()) + " to settle",
        "each takes at least 1.2 times as long as the next faster one, mean over runs",
        min(later / max(sooner, 0.1) for sooner, later in pairwise(ordered)) >= 1.2,
    )


def _beside_fluid(drawn: Mapping[Law, Seen]) -> pl.DataFrame:
    """One run of each law over time, with the fluid model's rates where it is solved."""
    packets = pl.concat(
        pl.DataFrame({"law": law, "flow": flow, "time": run.times, "goodput": np.array(run.rates[flow]) * 1e6})
        for law, run in drawn.items()
        for flow in FLOWS
    )
    return packets.join(pl.concat(map(_fluid, LAWS)), on=["law", "flow", "time"], how="left", maintain_order="left")


def _fluid(law: Law) -> pl.DataFrame:
    """What the fluid model (equations 3, 5 and 6 with delays) makes of the first seconds, in the packets' bins."""
    moved = fluid.solve(
        [[0, 1], [0], [1]],
        [RATE / 8 / network.PACKET] * 2,
        [0.044, 0.024, 0.024],
        law=law,
        kappa=100.0 if law == "mw" else 0.5,
        duration=FLUID,
    )
    count = round(FLUID / 0.1)
    means = moved.rates[:-1].reshape(count, -1, len(FLOWS)).mean(axis=1) * network.PACKET * 8
    times = np.round(0.1 * np.arange(1, count + 1), 9)
    return pl.concat(
        pl.DataFrame({"law": law, "flow": flow, "time": times, "fluid": means[:, index]})
        for index, flow in enumerate(FLOWS)
    )


def _why(worst: dict[Law, float]) -> str:
    if worst["aiad"] <= TOLERANCE:
        return ""
    return (
        "AIAD asks only whether accumulation is above or below the target (equation 4), so it holds the median there, "
        "and the laws that follow the difference hold the mean. Accumulations of short and long flows are skewed "
        "differently. The paper's footnote 4 sees such a difference, too, and lays it to burstiness."
    )


def simulate(run: Run) -> Seen:
    """One run of one law."""
    result = scenario(run.law).run(seed=run.seed)
    series = {flow: result.series(flow=flow) for flow in FLOWS}
    times = series["long"]["time"].to_numpy()
    rates = {flow: table["goodput"].to_numpy() / 1e6 for flow, table in series.items()}
    shares = network.goodputs(result, LATE, END)
    width = round(0.5 / result.bin)
    smooth = {flow: np.convolve(rates[flow], np.ones(width) / width, mode="valid") for flow in FLOWS}
    near = np.all([np.abs(smooth[flow] / shares[flow] - 1.0) <= BAND for flow in FLOWS], axis=0)
    settled = float(times[np.argmax(near)]) if near.any() else END
    return Seen(shares, settled, times.tolist(), {flow: values.tolist() for flow, values in rates.items()})


def scenario(law: str) -> Scenario:
    """One long flow over both bottlenecks, one short flow over each."""
    scheme = f"accumulation-{law}"
    paths = {"long": ("r0", "r2"), "short-0": ("r0", "r1"), "short-1": ("r1", "r2")}
    return network.scenario(
        f"{scheme} on two bottlenecks",
        network.chain(RATE, 10e-3, [network.LANES] * 2),
        [network.Ends(name, first, last, scheme) for name, (first, last) in paths.items()],
        access=100e6,
        seconds=END,
        record={"links": "none", "bin": "100 ms"},
    )


def draw(outcome: Outcome) -> Figure:
    """Throughput over time, one panel per law; thin, the fluid model."""
    from tailback.plot.style import FAINT, INK, figure, line, style

    with style():
        made, axes = figure(1, 3, height=2.9, sharey=True)
        for axis, law in zip(axes, LAWS, strict=True):
            for index, flow in enumerate(FLOWS):
                rows = outcome.data.filter((pl.col("law") == law) & (pl.col("flow") == flow))
                smooth = rows.select(pl.col("goodput", "fluid").rolling_mean(5, min_samples=1) / 1e6)
                axis.plot(rows["time"], smooth["goodput"], label=flow, **line(index))
                label = "fluid" if index == 2 else None
                axis.plot(rows["time"], smooth["fluid"], color=INK, linewidth=0.6, label=label)
            for share in (3, 6):
                axis.axhline(share, color=FAINT, linewidth=0.8)
            axis.set_title(law.upper())
            axis.set_xlabel("time [s]")
            axis.set_xlim(0, 0.6 * FLUID)
            axis.set_ylim(0, 9)
        axes[0].set_ylabel("throughput [Mbit/s]")
        # Between the shares, where no line runs.
        axes[2].legend(loc="center right", bbox_to_anchor=(1.0, 0.5))
    return made
