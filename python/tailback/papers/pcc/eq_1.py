"""Equation (1) of Widmer, Mauve and Damm, the TCP throughput model, against simulated TCP SACK under independent loss.
The formula itself lives in ``tailback.analysis.tcp``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tailback.analysis import columns, mean_interval, pftk, tcp_friendly_rate
from tailback.papers.item import Check, Fidelity, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

LOSSES = (0.001, 0.005, 0.01, 0.02, 0.05)
FLOWS = 10
RTT = 0.1
"""Seconds, propagation; queues stay empty."""
PACKET = 1000
"""Bytes on the wire."""
MIN_RTO = 0.2
WARM_UP = 20
ALLOWED = (0.75, 1.35)


class Run(NamedTuple):
    """One simulation."""

    loss: float
    seconds: int
    seed: int


class Seen(NamedTuple):
    """What is kept of it."""

    goodput: float
    """Bit/s per flow, mean."""
    throughput: float
    """Bit/s per flow that reached the receivers, mean."""
    loss: float
    """Data packets lost over data packets offered."""
    rtt: float
    """Seconds, smoothed, at the end, mean over flows."""
    utilization: float


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    seconds, seeds = _effort(fidelity)
    return (
        Parameter(
            "model", "Eq. (1), with packet size s, round trip time t_RTT and loss event rate l", "stated", "§3.3"
        ),
        Parameter("TCP", "SACK", "stated", "§5: the flows that PCC competes with; RFC 6675 here"),
        Parameter(
            "loss",
            ", ".join(f"{100 * loss:g} %" for loss in LOSSES),
            "inferred",
            "the range in which §5 operates and below",
        ),
        Parameter(
            "l",
            "probability of the loss of a packet",
            "inferred",
            "under independent loss nearly every loss is an event of its own until several fall into one round trip",
        ),
        Parameter("flows", str(FLOWS), "inferred", "the ns-2 reference rows have as many"),
        Parameter("round trip time", "100 ms", "inferred", "propagation; as the ns-2 reference rows"),
        Parameter("packets", f"{PACKET} B on the wire, 40 B of it header", "inferred", "as the ns-2 reference rows"),
        Parameter(
            "bottleneck",
            "100 Mbit/s, 10 000 packets of buffer",
            "inferred",
            "never a bottleneck: loss comes from the loss model alone",
        ),
        Parameter("acknowledgements", "one per packet", "inferred", "Eq. (1) has b = 1 packets per acknowledgement"),
        Parameter(
            "least retransmission timeout",
            "200 ms",
            "inferred",
            "common practice; Eq. (1) takes four round trip times, 400 ms",
        ),
        Parameter(
            "duration",
            f"{seconds} s after {WARM_UP} s",
            "inferred",
            "so long that the interval is far narrower than the claim",
        ),
        Parameter("seeds", str(seeds), "inferred", "independent runs per loss rate, for the intervals"),
    )


def measure(lab: Lab) -> Outcome:
    """Runs every loss rate with every seed and divides the model by the simulation."""
    seconds, seeds = _effort(lab.fidelity)
    runs = [Run(loss, seconds, seed) for loss in LOSSES for seed in range(1, seeds + 1)]
    seen = dict(zip(runs, lab.map(simulate, runs), strict=True))
    data = pl.DataFrame([_row(loss, [seen[run] for run in runs if run.loss == loss]) for loss in LOSSES])
    return _judged(data, scenario(runs[0]).to_toml())


def simulate(run: Run) -> Seen:
    """Ten flows over one lossy, uncongested link."""
    result = scenario(run).run(seed=run.seed)
    link = result.links.filter(pl.col("link") == "r0->r1").row(0, named=True)
    flows = result.flows
    return Seen(
        columns.mean(flows["goodput"]),
        columns.mean(flows["throughput"]),
        link["loss_rate"],
        columns.mean(flows["smoothed_rtt"]),
        link["utilization"],
    )


def scenario(run: Run) -> Scenario:
    """The set-up of one run."""
    import tailback as tb

    transport = {"segment_size": f"{PACKET} B", "header": "40 B", "rto": {"min": "200 ms"}}
    return tb.dumbbell(
        name=f"TCP SACK under {100 * run.loss:g} % of independent loss",
        rate="100 Mbit/s",
        delay="40 ms",
        buffer="10000 packets",
        loss={"name": "independent", "probability": run.loss},
        access={"rate": "1 Gbit/s", "delay": "5 ms"},
        duration=f"{WARM_UP + run.seconds} s",
        warm_up=f"{WARM_UP} s",
        flows=[tb.flows(FLOWS, "sack", start={"from": "0 s", "to": "5 s"}, transport=transport)],
        record={"flows": "none", "links": "none"},
    )


def draw(outcome: Outcome) -> Figure:
    """Throughput against loss, and the ratio below."""
    from tailback.plot.style import COLOURS, INK, figure, style

    fine = np.geomspace(LOSSES[0] * 0.8, LOSSES[-1] * 1.25, 200)
    data = outcome.data
    percent = data["loss"].to_numpy() * 100
    with style():
        made, (top, bottom) = figure(2, 1, height=4.6, sharex=True, height_ratios=[2.2, 1])
        top.plot(
            100 * fine, tcp_friendly_rate(fine, RTT, PACKET) / 1e6, color=COLOURS[0], linestyle="-", label="Eq. (1)"
        )
        full = pftk(fine, RTT, PACKET, rto=MIN_RTO) / 1e6
        top.plot(
            100 * fine, full, color=INK, linewidth=0.9, linestyle=(0, (1, 1.5)), label="full model of Padhye et al."
        )
        top.errorbar(
            percent,
            data["goodput"] / 1e6,
            data["goodput_ci95"] / 1e6,
            color=COLOURS[1],
            linestyle="none",
            marker="o",
            markerfacecolor="none",
            capsize=2,
            label="simulated TCP SACK",
        )
        top.set_xscale("log")
        top.set_yscale("log")
        top.set_ylabel("goodput per flow (Mbit/s)")
        top.set_yticks([0.3, 1.0, 3.0], ["0.3", "1", "3"])
        top.minorticks_off()
        top.legend()
        bottom.axhspan(*ALLOWED, color=COLOURS[0], alpha=0.12, linewidth=0)
        bottom.axhline(1.0, color=INK, linewidth=0.7)
        bottom.errorbar(
            percent,
            data["ratio"],
            data["ratio_ci95"],
            color=COLOURS[1],
            linestyle="-",
            linewidth=0.9,
            marker="o",
            markerfacecolor="none",
            capsize=2,
        )
        bottom.set_ylabel("model / simulation")
        bottom.set_ylim(0.6, 1.5)
        bottom.set_xlabel("packet loss (%)")
        ticks = [100 * loss for loss in LOSSES]
        bottom.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        bottom.minorticks_off()
        top.annotate("shaded below: the claim's band", (0.02, 0.04), xycoords="axes fraction", fontsize=8)
    return made


def _effort(fidelity: Fidelity) -> tuple[int, int]:
    """Seconds after the warm-up, and seeds."""
    return (150, 5) if fidelity == "full" else (100, 4)


def _row(loss: float, seen: Sequence[Seen]) -> dict[str, float]:
    model = float(tcp_friendly_rate(loss, RTT, PACKET))
    goodput = mean_interval([run.goodput for run in seen])
    ratio = mean_interval([model / run.goodput for run in seen])
    return {
        "loss": loss,
        "model": model,
        "full_model": float(pftk(loss, RTT, PACKET, rto=MIN_RTO)),
        "goodput": goodput.mean,
        "goodput_ci95": goodput.half_width,
        "throughput": float(np.mean([run.throughput for run in seen])),
        "ratio": ratio.mean,
        "ratio_ci95": ratio.half_width,
        "loss_seen": float(np.mean([run.loss for run in seen])),
        "rtt": float(np.mean([run.rtt for run in seen])),
        "utilization": float(np.mean([run.utilization for run in seen])),
    }


def _judged(data: pl.DataFrame, toml: str) -> Outcome:
    low, high = ALLOWED
    checks = [
        Check(
            f"model over simulation at {100 * row['loss']:g} % loss",
            f"{row['ratio']:.3f} ± {row['ratio_ci95']:.3f}",
            f"{low} to {high}",
            low <= row["ratio"] <= high,
        )
        for row in data.iter_rows(named=True)
    ]
    busiest = columns.greatest(data["utilization"])
    checks.append(
        Check("the link is never a bottleneck", f"utilization at most {busiest:.2f}", "below 0.8", busiest < 0.8)
    )
    ratio = data["ratio"]
    full = data["full_model"][-1] / data["goodput"][-1]
    return Outcome(
        measured={
            "ratio": {f"{row['loss']:g}": row["ratio"] for row in data.iter_rows(named=True)},
            "ratio_ci95": {f"{row['loss']:g}": row["ratio_ci95"] for row in data.iter_rows(named=True)},
        },
        checks=tuple(checks),
        data=data,
        units={
            "loss": "fraction",
            "loss_seen": "fraction",
            "model": "bit/s",
            "full_model": "bit/s",
            "goodput": "bit/s",
            "goodput_ci95": "bit/s",
            "throughput": "bit/s",
            "rtt": "s",
            "utilization": "fraction",
        },
        why=(
            f"At 0.1 % the model gives {ratio[0]:.2f} of the simulation: its square-root term has the constant "
            "√(3/2) = 1.22 of evenly spaced losses, where independent ones give nearly 1.31 (Mathis et al. 1997). "
            f"At 5 % it gives {ratio[-1]:.2f}: in Eq. (1) TCP waits four round trip times (400 ms) for a timeout, the "
            "simulated TCP at least 200 ms. The full model of Padhye et al. with 200 ms, drawn beside it, gives "
            f"{full:.2f} of the simulation there."
        ),
        scenario=toml,
        notes=(
            "Goodput counts wire bytes of packets delivered once, headers included, as the model's packet size does.",
        ),
    )
