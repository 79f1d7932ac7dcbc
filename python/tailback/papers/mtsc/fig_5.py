"""Figure 5 of Tuan and Park: throughput penalised for loss, gamma_k = (1 - c)^k nu, of an M/M/1/n queue against its
load, in closed form and simulated. The queue's formulas live in ``tailback.analysis.queueing``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tailback import units
from tailback.analysis import mean_interval, mm1n, penalised_throughput
from tailback.papers.item import Check, Fidelity, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

EXPONENTS = (1, 2, 4, 8)
PLACES = 10
"""n: packets in the system, the one in service included."""
LOADS = tuple(round(0.1 * step, 1) for step in range(1, 17))
MEAN_SIZE = 3000
"""Bytes: the mean packet; datagrams have no header here."""
RATE = 24_000_000
"""Bit/s: a mean packet takes 1 ms."""
HEAVY = 0.7
"""Above this load losses matter, and more packets are needed."""
TOLERANCE = 0.02
"""The ledger's."""


class Run(NamedTuple):
    """One simulation."""

    load: float
    packets: int
    seed: int


class Counted(NamedTuple):
    """What is kept of it."""

    offered: int
    dropped: int
    busy: float
    """Part of the time that the server transmitted."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    packets, seeds = _effort(fidelity)
    return (
        Parameter("queue", "M/M/1/n", "stated", "Fig. 5 and §3.1.2"),
        Parameter("k", ", ".join(map(str, EXPONENTS)), "stated", "Fig. 5"),
        Parameter("penalty", "γₖ = (1 − c)ᵏ ν", "stated", "Eq. (4)"),
        Parameter("n", f"{PLACES} packets", "inferred", f"not printed; {PLACES - 1} wait and one is in service"),
        Parameter(
            "loads",
            f"{LOADS[0]} to {LOADS[-1]}",
            "inferred",
            "the printed axis has no numbers; enough to hold every maximum",
        ),
        Parameter(
            "packet size",
            f"exponential, mean {MEAN_SIZE} B, without header",
            "inferred",
            "makes service exponential on a link of constant rate. Sizes are whole bytes from 1 to 65535: rounding "
            "moves the mean by less than 0.001 %, and 3 datagrams in 10^10 would be cut in two",
        ),
        Parameter(
            "link",
            f"{units.rate(RATE)}, no propagation delay",
            "inferred",
            "a mean packet takes 1 ms; the results do not depend on it",
        ),
        Parameter(
            "arrivals",
            f"Poisson, {packets:,} expected per load above {HEAVY} and a quarter of that below",
            "inferred",
            "so many that the 2 % are several confidence intervals",
        ),
        Parameter("seeds", str(seeds), "inferred", "independent runs per load, for the intervals"),
    )


def measure(lab: Lab) -> Outcome:
    """Runs every load with every seed and compares each gamma_k with theory."""
    packets, seeds = _effort(lab.fidelity)
    runs = [
        Run(load, (packets if load > HEAVY else packets // 4) // seeds, seed)
        for load in LOADS
        for seed in range(1, seeds + 1)
    ]
    counted = dict(zip(runs, lab.map(simulate, runs), strict=True))
    rows = [row for load in LOADS for row in _rows(load, [counted[run] for run in runs if run.load == load])]
    return _judged(pl.DataFrame(rows), scenario(runs[-1]).to_toml())


def simulate(run: Run) -> Counted:
    """One M/M/1/n queue."""
    link = scenario(run).run(seed=run.seed).links.filter(pl.col("link") == "a->b").row(0, named=True)
    return Counted(link["arrived_packets"], link["dropped_packets"], link["utilization"])


def scenario(run: Run) -> Scenario:
    """A Poisson source of exponentially sized datagrams straight on one link."""
    import tailback as tb

    service = 8.0 * MEAN_SIZE / RATE
    interval = service / run.load
    source = {
        "name": "datagrams",
        "arrivals": "poisson",
        "rate": units.rate(8.0 * MEAN_SIZE / interval),
        "size": {"name": "exponential", "mean": units.size(MEAN_SIZE)},
    }
    # Unresponsive: a rate and a bucket so large that they never hold a datagram back.
    scheme = {"name": "fixed-rate", "rate": "1000 Gbit/s", "burst": "1000 packets"}
    endpoint = {"header": "0 B", "segment_size": "65535 B"}
    link = {"from": "a", "to": "b", "rate": units.rate(RATE), "delay": "0 s", "buffer": units.packets(PLACES - 1)}
    return tb.graph(
        link,
        name=f"M/M/1/{PLACES} at load {run.load}",
        duration=units.time(run.packets * interval),
        flows=[tb.flows(1, scheme, source, name="poisson", from_="a", to="b", datagram=endpoint)],
        record={"flows": "none", "links": "none"},
    )


def draw(outcome: Outcome) -> Figure:
    """Theory as lines, simulation as marks with error bars."""
    from tailback.plot.style import COLOURS, DASHES, INK, MARKERS, figure, style

    fine = np.linspace(0.02, LOADS[-1] + 0.1, 400)
    theory = mm1n(fine, PLACES)
    with style():
        made, (axis,) = figure(height=3.8)
        raw = penalised_throughput(theory.throughput, theory.loss, 0)
        axis.plot(fine, raw, color=INK, linewidth=0.8, linestyle=(0, (1, 2)), label="$k=0$ (raw)")
        for index, k in enumerate(EXPONENTS):
            gamma = penalised_throughput(theory.throughput, theory.loss, k)
            colour = COLOURS[index]
            axis.plot(fine, gamma, color=colour, linestyle=DASHES[index])
            points = outcome.data.filter(pl.col("k") == k)
            axis.errorbar(
                points["load"],
                points["gamma"],
                points["gamma_ci95"],
                color=colour,
                linestyle="none",
                marker=MARKERS[index],
                markerfacecolor="none",
                elinewidth=0.9,
                capsize=2,
                label=f"$k={k}$",
            )
            best = int(np.argmax(gamma))
            axis.plot(fine[best], gamma[best], marker="|", markersize=11, color=colour, markeredgewidth=1.6)
        axis.set_xlabel("offered load $\\lambda/\\mu$")
        axis.set_ylabel("throughput $\\gamma_k/\\mu$")
        axis.set_xlim(0, LOADS[-1] + 0.1)
        axis.set_ylim(0, 1.02)
        axis.legend(loc="upper left", title="marks: simulation\nlines: theory", title_fontsize=8, alignment="left")
    return made


def _effort(fidelity: Fidelity) -> tuple[int, int]:
    """Expected packets per heavy load, and seeds."""
    return (40_000_000, 10) if fidelity == "full" else (4_000_000, 5)


def _rows(load: float, counted: Sequence[Counted]) -> list[dict[str, float]]:
    """One row per k: the mean over seeds, its interval, and theory."""
    exact = mm1n(load, PLACES)
    loss = np.array([run.dropped / run.offered for run in counted])
    rows = []
    for k in EXPONENTS:
        expected = float(penalised_throughput(exact.throughput, exact.loss, k)[0])
        # Raw throughput is the server's utilization: departures per mean service time.
        found = mean_interval(penalised_throughput([run.busy for run in counted], loss, k))
        rows.append(
            {
                "load": load,
                "k": k,
                "gamma": found.mean,
                "gamma_ci95": found.half_width,
                "theory": expected,
                "relative_gap": abs(found.mean / expected - 1.0),
                "relative_ci95": found.half_width / expected,
                "loss": float(loss.mean()),
                "loss_theory": float(exact.loss[0]),
                "packets": float(sum(run.offered for run in counted)),
            }
        )
    return rows


def _judged(data: pl.DataFrame, toml: str) -> Outcome:
    best = {k: _best_load(k) for k in EXPONENTS}
    simulated = {k: float(_curve(data, k).sort("gamma")["load"][-1]) for k in EXPONENTS}
    worst = data.sort("relative_gap").row(-1, named=True)
    gap = float(worst["relative_gap"])
    falling = all(best[a] > best[b] for a, b in pairwise(EXPONENTS))
    step = LOADS[1] - LOADS[0]
    near = all(abs(simulated[k] - best[k]) <= step for k in EXPONENTS)
    checks = (
        Check("each curve has one maximum (theory)", "all" if _unimodal() else "not all", "all four", _unimodal()),
        Check(
            "the maximising load falls as k grows",
            ", ".join(f"k={k}: {best[k]:.3f}" for k in EXPONENTS),
            "strictly falling",
            falling,
        ),
        Check(
            "the simulated maxima lie at the same loads",
            ", ".join(f"k={k}: {simulated[k]:.1f}" for k in EXPONENTS),
            f"within one step of the loads, {step:.1f}",
            near,
        ),
        Check(
            "simulation agrees with theory at every load and k",
            f"largest gap {100 * gap:.2f} % (load {worst['load']}, k = {worst['k']}, "
            f"95 % interval ±{100 * worst['relative_ci95']:.2f} %)",
            f"within {100 * TOLERANCE:.0f} %",
            gap <= TOLERANCE,
        ),
    )
    return Outcome(
        measured={
            "argmax_load": {str(k): round(best[k], 4) for k in EXPONENTS},
            "max_gap_sim_vs_theory": gap,
        },
        checks=checks,
        data=data,
        units={"loss": "fraction", "loss_theory": "fraction", "load": "1/service time", "packets": "packets"},
        why="" if gap <= TOLERANCE else "the simulated queue is not the M/M/1/n queue of theory: see the worst row",
        scenario=toml,
        notes=(
            "Throughput is in mean packets per mean service time, so that 1 is the link's rate. The paper prints no "
            "numbers for this figure; n is ours.",
        ),
    )


def _curve(data: pl.DataFrame, k: int) -> pl.DataFrame:
    return data.filter(pl.col("k") == k)


def _best_load(k: int) -> float:
    """The load that maximises gamma_k in theory."""
    from scipy.optimize import minimize_scalar

    def lost(load: float) -> float:
        exact = mm1n(load, PLACES)
        return -float(penalised_throughput(exact.throughput, exact.loss, k)[0])

    return float(minimize_scalar(lost, bounds=(0.01, 4.0), method="bounded", options={"xatol": 1e-8}).x)


def _unimodal() -> bool:
    """Whether every curve of theory rises to one maximum and then falls, on a fine grid far beyond the maxima."""
    fine = np.linspace(0.01, 8.0, 8000)
    exact = mm1n(fine, PLACES)
    slopes = [np.sign(np.diff(penalised_throughput(exact.throughput, exact.loss, k))) for k in EXPONENTS]
    return all(np.count_nonzero(np.diff(slope)) == 1 and slope[0] > 0 for slope in slopes)
