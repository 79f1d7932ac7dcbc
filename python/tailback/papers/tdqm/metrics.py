"""Equations 1 and 2 of Li and Mills: the utilization rho and the burstiness eta that a router measures, on arrivals made
for the purpose. What both are by definition is computed in ``definition.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import polars as pl

from tailback import units
from tailback.analysis import mean_interval
from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.tdqm import definition

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

RATE = 45_000_000
"""Bit/s."""
PACKET = 1000
"""Bytes; datagrams have no header here."""
SERVICE = 8.0 * PACKET / RATE
WINDOW = 120
"""w in packets: half the time in which the paper's buffer of 240 packets drains."""
PAPERS_B = 3
"""b in packets: 0.025 w."""
LONG_B = 60
"""b in packets, long beside the bursts."""
LOADS = (0.3, 0.6, 0.9)
BURSTS = (1, 2, 4, 8, 16, 32)
PERIOD = 100
"""Packets of a whole busy period, at once or evenly spread."""
WARM_UP = 10.0
"""Seconds, in which the router's averages forget that they began at 0."""
LINK = "a->b"
RHO_WEIGHT, ETA_WEIGHT = 0.25, 0.05
TOLERANCE = 0.02
"""The ledger's."""

Arrivals = Literal["poisson", "periodic", "even"]


class Run(NamedTuple):
    """One simulation."""

    arrivals: Arrivals
    """Bursts at Poisson times; bursts at equal intervals; or the same bursts, each spread evenly over the time that it
    takes to serve."""
    load: float
    burst: int
    shortest: int
    """b in packets."""
    packets: int
    seed: int
    delay: str = "waiting"
    """What V counts: as the queue's ``eta.delay``."""


class Seen(NamedTuple):
    """What is kept of it."""

    rho: float
    eta: float


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    packets, seeds = _effort(fidelity)
    return (
        Parameter("link", f"{units.rate(RATE)}, packets of {PACKET} B", "stated", "§IV-A; the meters have no unit"),
        Parameter("buffer", "unlimited", "inferred", "nothing may be lost: the meters are looked at, not the queue"),
        Parameter(
            "w", f"{WINDOW} packets' service", "stated", "§IV-B: half the time in which a buffer of 240 packets drains"
        ),
        Parameter("b", f"{PAPERS_B} packets' service, 0.025 w", "stated", "§IV-B"),
        Parameter(
            "b, second setting",
            f"{LONG_B} packets' service, w/2",
            "inferred",
            "so that all bursts are shorter: beyond b a burst's size cannot be seen, whatever the meter",
        ),
        Parameter(
            "averages",
            f"exponential, weights {RHO_WEIGHT} per window and {ETA_WEIGHT} per busy period",
            "inferred",
            "§II-C: “very similar to that used in RED”, not printed; means do not depend on them",
        ),
        Parameter(
            "whole busy periods",
            f"{PERIOD} packets, at once or spread evenly (0.1 % faster than served), at load 0.6",
            "inferred",
            "§II-B describes both cases without numbers",
        ),
        Parameter("loads", ", ".join(map(str, LOADS)), "inferred", "the ledger's; the paper prints no such test"),
        Parameter("bursts", ", ".join(map(str, BURSTS)) + " packets at Poisson times", "inferred", "doublings"),
        Parameter(
            "length", f"{packets:,} packets, {seeds} seeds", "inferred", "so many that the 2 % are several intervals"
        ),
    )


def measure(lab: Lab) -> Outcome:
    """Runs all arrivals with every seed, and one run beside the definition."""
    packets, seeds = _effort(lab.fidelity)
    data = table(lab, packets, seeds)
    off = lab.map(difference, [Run("poisson", 0.6, 4, PAPERS_B, 40_000, 1)])[0]
    return _judged(data, off, scenario(Run("poisson", 0.6, 4, PAPERS_B, packets, 1)).to_toml())


def table(lab: Lab, packets: int, seeds: int, delay: str = "waiting") -> pl.DataFrame:
    """Means of both metrics for all arrivals."""
    cases: list[tuple[Arrivals, float, int, int]] = [
        ("periodic", 0.6, PERIOD, PAPERS_B),
        ("even", 0.6, PERIOD, PAPERS_B),
        *(("periodic", load, 1, shortest) for shortest in (PAPERS_B, LONG_B) for load in LOADS),
        *(("poisson", load, burst, b) for b in (PAPERS_B, LONG_B) for load in LOADS for burst in BURSTS),
    ]
    # Arrivals at equal intervals know no chance: one short run tells all.
    runs = [
        Run(arrivals, load, burst, b, packets if arrivals == "poisson" else 100_000, seed, delay)
        for arrivals, load, burst, b in cases
        for seed in range(1, (seeds if arrivals == "poisson" else 1) + 1)
    ]
    seen = dict(zip(runs, lab.map(simulate, runs), strict=True))
    return pl.DataFrame([_row(case, [seen[run] for run in runs if run[:4] == case]) for case in cases])


def cell(data: pl.DataFrame, column: str, arrivals: Arrivals, load: float, burst: int) -> float:
    """One mean of the table, with the paper's b."""
    at = (pl.col("arrivals") == arrivals) & (pl.col("load") == load) & (pl.col("burst") == burst)
    row = data.filter(at & (pl.col("b_packets") == PAPERS_B))
    return float(row[column][0])


def simulate(run: Run) -> Seen:
    """The means of what the router told, time after time."""
    series = scenario(run).run(seed=run.seed).series(link=LINK, after_warm_up=True)
    return Seen(float(series["rho"].to_numpy().mean()), float(series["eta"].to_numpy().mean()))


def difference(run: Run) -> tuple[float, float]:
    """The largest differences between what the router told at any time and the averages of Eqs. 1 and 2 from the log of
    its packets."""
    result = scenario(run, log=True).run(seed=run.seed)
    series = result.series(link=LINK)
    offered = result.packets.filter((pl.col("event") == "offered") & (pl.col("link") == LINK))
    periods = definition.busy_periods(offered["time"].to_list(), SERVICE)
    # The last busy period may be cut off by the end of the run.
    series = series.filter(pl.col("time") < periods[-1][0])
    times = series["time"].to_numpy()
    window, shortest = (_rounded(packets * SERVICE) for packets in (WINDOW, run.shortest))
    ends = window * np.arange(1.0, int(times[-1] / window) + 1, dtype=np.float64)
    utilization = definition.utilization(periods, ends)
    known, burstiness = zip(*definition.burstiness(periods, shortest), strict=True)
    rho = _held(definition.average(utilization, RHO_WEIGHT), ends, times)
    eta = _held(definition.average(burstiness, ETA_WEIGHT), np.array(known), times)
    return float(np.abs(series["rho"].to_numpy() - rho).max()), float(np.abs(series["eta"].to_numpy() - eta).max())


def _held(values: NDArray[np.float64], since: NDArray[np.float64], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """At each of ``times`` the newest of ``values``, 0 before the first."""
    return np.concatenate([[0.0], values])[np.searchsorted(since, times, "right")]


def _rounded(seconds: float) -> float:
    """As the scenario says it: to the nanosecond."""
    return units.number(units.time(seconds))


def scenario(run: Run, *, log: bool = False) -> Scenario:
    """Bursts straight on one link with a TDQM queue, whose state is recorded."""
    import tailback as tb

    interval = run.burst * SERVICE / run.load
    if run.arrivals == "even":
        rate, on = 1.001 * RATE, run.burst * SERVICE / 1.001
    else:
        # As good as at once: a nanosecond or so for the whole burst.
        rate, on = 1e12, run.burst * 8e-12 * PACKET
    pause = {"name": "exponential", "mean": units.time(interval - on)}
    if run.arrivals != "poisson":
        pause = {"name": "constant", "value": units.time(interval - on)}
    source = {
        "name": "on-off",
        "rate": units.rate(rate),
        "on": {"name": "constant", "value": units.time(on)},
        "off": pause,
        "chunk": units.size(PACKET),
        "at_once": run.arrivals != "even",
        "pause_first": True,
    }
    # Unresponsive: a rate and a bucket so large that they never hold a datagram back.
    scheme = {"name": "fixed-rate", "rate": "1000 Gbit/s", "burst": "1000 packets"}
    window = units.time(WINDOW * SERVICE)
    queue = {
        "name": "tdqm",
        "window": window,
        "shortest_busy_period": units.time(run.shortest * SERVICE),
        "rho": {"weight": RHO_WEIGHT},
        "eta": {"weight": ETA_WEIGHT, "delay": run.delay},
    }
    link = {"from": "a", "to": "b", "rate": units.rate(RATE), "delay": "0 s", "buffer": "unlimited", "queue": queue}
    return tb.graph(
        link,
        name=f"bursts of {run.burst} packets at load {run.load}, {run.arrivals}",
        duration=units.time(WARM_UP + run.packets * SERVICE / run.load),
        warm_up=units.time(WARM_UP),
        flows=[
            tb.flows(
                1,
                scheme,
                source,
                name="bursts",
                from_="a",
                to="b",
                datagram={"header": "0 B", "segment_size": units.size(PACKET)},
            )
        ],
        # Bins of 0.7 w, so that no bin ends where a window does, and the newest window is known.
        record={
            "flows": "none",
            "links": [LINK],
            "bin": units.time(0.7 * WINDOW * SERVICE),
            "queue_state": True,
            "packets": log,
        },
    )


def draw(outcome: Outcome) -> Figure:
    """Both metrics against the size of bursts at equal load."""
    from tailback.plot.style import COLOURS, DASHES, FAINT, MARKERS, figure, style

    poisson = outcome.data.filter(pl.col("arrivals") == "poisson")
    with style():
        made, axes = figure(1, 2, height=3.4)
        for column, axis in zip(("eta", "rho"), axes, strict=True):
            for index, load in enumerate(LOADS):
                for line, shortest in enumerate((PAPERS_B, LONG_B)):
                    rows = poisson.filter((pl.col("load") == load) & (pl.col("b_packets") == shortest))
                    axis.errorbar(
                        rows["burst"],
                        rows[column],
                        rows[f"{column}_ci95"],
                        color=COLOURS[index],
                        linestyle=DASHES[line],
                        marker=MARKERS[index],
                        markerfacecolor=COLOURS[index] if line == 0 else "none",
                        elinewidth=0.9,
                        label=f"load {load}, $b$ = {shortest}" if column == "eta" else None,
                    )
            axis.set_xscale("log", base=2)
            axis.set_xticks(BURSTS, [str(burst) for burst in BURSTS])
            axis.set_xlabel("burst (packets, all at once)")
            axis.set_ylim(0, 1.02)
        for load in LOADS:
            axes[1].axhline(load, color=FAINT, linewidth=0.6)
        axes[0].set_ylabel(r"burstiness $\eta$")
        axes[1].set_ylabel(r"utilization $\rho$")
        made.legend(loc="outside lower center", ncols=3)
    return made


def _effort(fidelity: Fidelity) -> tuple[int, int]:
    """Expected packets per run, and seeds."""
    return (2_000_000, 10) if fidelity == "full" else (400_000, 5)


def _row(case: tuple[Arrivals, float, int, int], seen: Sequence[Seen]) -> dict[str, float | str]:
    arrivals, load, burst, shortest = case
    rho, eta = mean_interval([run.rho for run in seen]), mean_interval([run.eta for run in seen])
    alone = len(seen) == 1
    return {
        "arrivals": arrivals,
        "load": load,
        "burst": burst,
        "b_packets": shortest,
        "rho": rho.mean,
        "rho_ci95": 0.0 if alone else rho.half_width,
        "eta": eta.mean,
        "eta_ci95": 0.0 if alone else eta.half_width,
        "seeds": len(seen),
    }


class Doubled(NamedTuple):
    """What doubling the bursts does at one load."""

    load: float
    burst: int
    ratio: float
    """eta after, over eta before."""
    clear: bool
    """Whether the two intervals of eta are apart."""
    rho: float
    """The relative change of rho."""


def doublings(data: pl.DataFrame, shortest: int, largest: int) -> list[Doubled]:
    """What each doubling of bursts does, up to the largest."""
    found = []
    for load in LOADS:
        rows = data.filter(
            (pl.col("arrivals") == "poisson")
            & (pl.col("load") == load)
            & (pl.col("b_packets") == shortest)
            & (pl.col("burst") <= largest)
        ).sort("burst")
        for before, after in pairwise(rows.iter_rows(named=True)):
            apart = after["eta"] - after["eta_ci95"] > before["eta"] + before["eta_ci95"]
            ratio, moved = after["eta"] / before["eta"], after["rho"] / before["rho"] - 1.0
            found.append(Doubled(load, before["burst"], ratio, apart, moved))
    return found


def _moves(doubled: Sequence[Doubled]) -> tuple[str, bool]:
    """How doubling moves both, in words, and whether it moves eta and not rho."""
    least = min(doubled, key=lambda step: step.ratio)
    most = max(doubled, key=lambda step: abs(step.rho))
    words = (
        f"eta × {least.ratio:.2f} at least (load {least.load}, {least.burst} → {2 * least.burst} packets), "
        f"rho {100 * most.rho:+.2f} % at most"
    )
    return words, all(step.clear and abs(step.rho) <= TOLERANCE for step in doubled)


def _judged(data: pl.DataFrame, off: tuple[float, float], toml: str) -> Outcome:
    batch, smooth = cell(data, "eta", "periodic", 0.6, PERIOD), cell(data, "eta", "even", 0.6, PERIOD)
    errors = {load: cell(data, "rho", "poisson", load, 1) / load - 1.0 for load in LOADS}
    etas = {str(load): round(cell(data, "eta", "poisson", load, 1), 4) for load in LOADS}
    long = data.filter((pl.col("arrivals") == "periodic") & (pl.col("load") == 0.6) & (pl.col("b_packets") == LONG_B))
    stream = {PAPERS_B: cell(data, "eta", "periodic", 0.6, 1), LONG_B: float(long["eta"][0])}
    beyond = [step.ratio for step in doublings(data, PAPERS_B, BURSTS[-1]) if step.burst > PAPERS_B]
    return Outcome(
        measured={
            "eta_batch": round(batch, 6),
            "eta_smooth": round(smooth, 6),
            "rho_error": {str(load): round(error, 6) for load, error in errors.items()},
            "eta": etas,
            "eta_stream": {f"b = {b} packets": round(value, 6) for b, value in stream.items()},
            "largest_difference_from_definition": {"rho": off[0], "eta": off[1]},
        },
        checks=(
            Check("a whole busy period at once has eta near 1", f"{batch:.4f}", "at least 0.95", batch >= 0.95),
            Check("the same busy period evenly spread has eta near 0", f"{smooth:.4f}", "at most 0.05", smooth <= 0.05),
            _rho_is_load(errors),
            *_moved_by_bursts(data),
            _as_defined(*off),
        ),
        data=data,
        units={"burst": "packets", "b_packets": "packets"},
        why=(
            "Eq. 2 has no scale of its own: bursts twice as large at half the frequency are the same picture at half "
            "the speed, so a burst's size shows in eta only against b, where shorter busy periods are merged. With the "
            f"paper's b of {PAPERS_B} packets every doubling beyond 4 packets leaves eta where it was (× "
            f"{min(beyond):.2f} to {max(beyond):.2f}); with b = {LONG_B} packets it grows with every doubling."
        ),
        scenario=toml,
        notes=_notes(stream[PAPERS_B], etas),
    )


def _rho_is_load(errors: Mapping[float, float]) -> Check:
    return Check(
        "rho is the load (Poisson arrivals)",
        _listed({load: f"{100 * error:+.2f} %" for load, error in errors.items()}),
        f"within {100 * TOLERANCE:.0f} %",
        all(abs(error) <= TOLERANCE for error in errors.values()),
    )


def _moved_by_bursts(data: pl.DataFrame) -> tuple[Check, Check]:
    short, papers = _moves(doublings(data, LONG_B, BURSTS[-1])), _moves(doublings(data, PAPERS_B, 4))
    return (
        Check(
            f"bursts of twice the size move eta and not rho (1 to {BURSTS[-1]} packets, b = {LONG_B} packets)",
            short[0],
            "every doubling: eta up by more than its 95 % intervals, rho within 2 %",
            short[1],
        ),
        Check(
            f"the same with the paper's b of {PAPERS_B} packets, for bursts up to that length (1 → 2 → 4 packets)",
            papers[0],
            "as above",
            papers[1],
        ),
    )


def _as_defined(rho: float, eta: float) -> Check:
    """Whether the router is right, by the largest differences from both definitions."""
    return Check(
        "the router's averages are those of Eqs. 1 and 2 at all times, computed from the log of its packets",
        f"at most {rho:.1e} apart for rho, {eta:.1e} for eta",
        "1e-6",
        max(rho, eta) <= 1e-6,
    )


def _notes(stream: float, etas: Mapping[str, float]) -> tuple[str, ...]:
    """What both metrics are taken to count, with eta of an even stream and of Poisson arrivals by load."""
    return (
        "The queueing delay V of Eq. 2 is taken as what waits, without the packet in transmission, as queues are "
        "measured in ns-2. A perfectly even stream then has an eta of "
        f"{stream:.3f}, and Poisson arrivals, the smoothest that the paper's senders can make, "
        f"{_listed(etas)} with the paper's b of {PAPERS_B} packets: inside the thresholds 0.1 and 0.2 of §IV-B at the "
        'loads that it holds. With the packet in transmission in it (eta.delay = "work") an even stream reads 1/4 and '
        "Poisson arrivals 0.32 to 0.37, above the upper threshold whatever the senders do: every packet would be marked "
        "for ever, and the network of §IV would carry a fifteenth of what it does.",
        "§II-B does not say whether the idle times between merged busy periods count. Here they do not, since Eq. 2 "
        "integrates over busy time. Counted in, they would make eta smaller and dependent on low loads, against §II-B.",
        "eta and rho are not independent as §II-B has it: at equal bursts eta moves with the load, since busy "
        "periods of several bursts become common; see the left panel.",
    )


def _listed(values: Mapping[float, str] | Mapping[str, float]) -> str:
    return ", ".join(f"{value} at {load}" for load, value in values.items())
