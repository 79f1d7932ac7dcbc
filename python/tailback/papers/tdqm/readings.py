"""Why ρ rests below its lower threshold, and settles late: other readings of what the paper does not print, impulses of other
sizes, and a buffer in which nothing is lost. ``make tdqm`` writes the tables; nothing is judged here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from tailback.analysis import mean_interval, tdqm
from tailback.papers.tdqm import metrics, network, rho_loop, settling

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

SECONDS, WARM_UP = 60.0, 20.0
LARGE = 10 * network.BUFFER
"""Packets: a buffer that impulses do not fill."""
METER_PACKETS = 400_000
"""Of a run of the meters alone."""


class Run(NamedTuple):
    """One simulation of the network of Figure 5."""

    queue: tuple[tuple[str, Any], ...] = ()
    buffer: int = network.BUFFER
    impulse: float = network.IMPULSE
    """Packets of a mean impulse."""
    seed: int = 1


class Seen(NamedTuple):
    """What is kept of it."""

    utilization: float
    eta: float
    queue: float
    """Packets."""
    loss: float
    overflows: float
    """Per second."""


def simulate(run: Run) -> Seen:
    """One run. The meters' w and b stay those of the paper's buffer, whatever the buffer is."""
    import tailback as tb

    times: dict[str, Any] = {
        "window": f"{1e3 * network.DRAIN / 2:.6f} ms",
        "shortest_busy_period": f"{25.0 * network.DRAIN / 2:.6f} ms",
    }
    data = network.scenario(
        network.tdqm(**dict(run.queue), **times),
        impulse=network.impulses(run.impulse),
        seconds=SECONDS,
        warm_up=WARM_UP,
        record={"bin": f"{1000 * rho_loop.BIN:g} ms"},
    ).to_dict()
    data["topology"]["links"][0]["buffer"] = f"{run.buffer} packets"
    result = tb.Scenario.of(data).run(seed=run.seed)
    link = result.links.filter(pl.col("link") == network.LINK).row(0, named=True)
    series = result.series(link=network.LINK, after_warm_up=True)
    lost = series.filter(pl.col("dropped_packets") > 0)["time"].to_list()
    events = sum(after - before > rho_loop.QUIET for before, after in pairwise([0.0, *lost]))
    eta = float(series["eta"].mean())  # type: ignore[arg-type]
    return Seen(link["utilization"], eta, link["mean_queue"], link["loss_rate"], events / (SECONDS - WARM_UP))


def _lines(lab: Lab, cases: Sequence[tuple[str, Run]], seeds: int, columns: Sequence[str]) -> list[list[str]]:
    seen = lab.map(simulate, [run._replace(seed=seed) for _, run in cases for seed in range(1, seeds + 1)])
    lines = []
    for index, (name, _) in enumerate(cases):
        found = seen[index * seeds : (index + 1) * seeds]
        lines.append([name, *(str(mean_interval([getattr(one, column) for one in found])) for column in columns)])
    return lines


def buffers(lab: Lab, seeds: int) -> list[list[str]]:
    """The η loop's thresholds moved in the paper's buffer, and in one ten times as large, which never overflows."""
    thresholds: tuple[tuple[str, dict[str, float] | bool], ...] = (
        ("η 0.14 to 0.18", {"min": 0.14, "max": 0.18}),
        ("η 0.1 to 0.2", {}),
        ("η 0.15 to 0.25", {"min": 0.15, "max": 0.25}),
        ("η 0.2 to 0.4", {"min": 0.2, "max": 0.4}),
        ("without the η loop", False),
    )
    cases = [
        (f"{buffer} packets, {name}", Run((("eta", eta),), buffer))
        for buffer in (network.BUFFER, LARGE)
        for name, eta in thresholds
    ]
    return _lines(lab, cases, seeds, ("utilization", "eta", "queue", "overflows"))


def overflows(lab: Lab, seeds: int) -> list[list[str]]:
    """How often the buffer overflows with and without the ρ loop, by the size of impulses."""
    sizes = (5.0, 10.0, 20.0, 30.0, 60.0)
    halves = [
        _lines(
            lab,
            [(f"{size:g} packets", Run((("rho", loop),), impulse=size)) for size in sizes],
            seeds,
            ("overflows", "utilization"),
        )
        for loop in (True, False)
    ]
    return [[*on, *off[1:]] for on, off in zip(*halves, strict=True)]


class Start(NamedTuple):
    """A start of all users at once."""

    rho: tuple[tuple[str, Any], ...] = ()
    initial: float = 10.0
    """Packets, the first W_p."""
    impulses: bool = True
    buffer: int = network.BUFFER
    seed: int = 1


READINGS: Sequence[tuple[str, Start]] = (
    ("as in the item", Start()),
    ("W_p begins at 1 packet, as in the ns-2 of its time", Start(initial=1.0)),
    ("ρ: no filter (weight 1)", Start((("weight", 1.0),))),
    ("ρ: max_p 0.02", Start((("max_p", 0.02),))),
    ("ρ as λ/μ, above 1 in overload", Start((("load", "offered"),))),
    ("endless files alone", Start(impulses=False)),
    (f"a buffer of {LARGE} packets", Start(buffer=LARGE)),
)
"""Other readings of what decides how ρ settles."""


def course(start: Start) -> list[float]:
    """The router's average of ρ, bin by bin."""
    return list(from_start(start).run(seed=start.seed).series(link=network.LINK)["rho"])


def from_start(start: Start) -> Scenario:
    """As in the item on settling, with another reading."""
    import tailback as tb

    data = network.scenario(
        network.tdqm(rho=dict(start.rho), window=f"{1e3 * network.DRAIN / 2:.6f} ms"),
        users=(network.USERS, network.USERS if start.impulses else 0),
        seconds=settling.SECONDS,
        warm_up=0.0,
        start=network.ROUND_TRIP,
        with_transport={"initial_window": f"{start.initial:g} packets"},
        record={"bin": f"{1000 * network.ROUND_TRIP / settling.PER_ROUND:.3f} ms"},
    ).to_dict()
    data["topology"]["links"][0]["buffer"] = f"{start.buffer} packets"
    return tb.Scenario.of(data)


def readings(lab: Lab, seeds: int) -> list[list[str]]:
    """How the start looks under each reading: the mean over runs, and late averages of the runs."""
    found = lab.map(course, [start._replace(seed=seed) for _, start in READINGS for seed in range(1, seeds + 1)])
    lines = []
    for index, (name, _) in enumerate(READINGS):
        runs = np.array(found[index * seeds : (index + 1) * seeds])
        lines.append([name, *_told(runs)])
    return lines


def _told(runs: NDArray[np.float64]) -> list[str]:
    rho = runs.mean(axis=0)
    times = (np.arange(rho.size) + 1.0) / settling.PER_ROUND
    full = int(np.argmax(rho >= settling.RHO[0]))
    dip = rho[full : 120 * settling.PER_ROUND].min()
    late = runs[:, int(settling.LATE / network.ROUND_TRIP * settling.PER_ROUND) :]
    near = tdqm.settling(times, rho, 8.0)
    return [
        f"{times[full]:.1f}",
        f"{dip:.2f}",
        f"{near:.0f}" if np.isfinite(near) else "not",
        str(mean_interval(late.mean(axis=1))),
        f"{100 * (late < settling.RHO[0]).mean():.0f} %",
    ]


def meters(lab: Lab, seeds: int) -> list[list[str]]:
    """Both readings of what the queueing delay V counts, on the arrivals of the item on the metrics."""
    lines = []
    for name, delay in (("what waits", "waiting"), ("also the packet in transmission", "work")):
        data = metrics.table(lab, METER_PACKETS, seeds, delay)
        short = min(step.ratio for step in metrics.doublings(data, metrics.PAPERS_B, 4))
        long = min(step.ratio for step in metrics.doublings(data, metrics.LONG_B, metrics.BURSTS[-1]))
        shown = [
            metrics.cell(data, "eta", "periodic", 0.6, metrics.PERIOD),
            metrics.cell(data, "eta", "even", 0.6, metrics.PERIOD),
            metrics.cell(data, "eta", "periodic", 0.6, 1),
            *(metrics.cell(data, "eta", "poisson", load, 1) for load in metrics.LOADS),
        ]
        lines.append([name, *(f"{value:.3f}" for value in shown), f"× {short:.2f}", f"× {long:.2f}"])
    return lines


def told(lab: Lab, seeds: int) -> Iterable[tuple[str, list[str], list[list[str]]]]:
    """Every table: its mark on the page, its head, its lines."""
    head = ["V counts", "η of a batch of 100", "of these evenly", "of an even stream"]
    head += [f"Poisson at {load}" for load in metrics.LOADS]
    yield "meters", [*head, "doubled bursts to 4, b 3", "to 32, b 60"], meters(lab, seeds)
    yield "buffers", ["", "utilization", "η", "queue, packets", "overflows per second"], buffers(lab, seeds)
    head = ["mean impulse", "with the ρ loop: overflows per second", "utilization", "without: overflows per second"]
    yield "overflows", [*head, "utilization"], overflows(lab, seeds)
    head = ["", "inside after, round trips", "then down to", "within a tenth after, round trips", "late average"]
    yield "readings", [*head, "of the time below 0.9"], readings(lab, seeds)
