"""The scenario that figures 6, 7 and 8 share: three sets of flows that join and leave one bottleneck. What each figure
claims is in its own file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from tailback.analysis import columns
from tailback.papers.accumulation import network
from tailback.papers.item import Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.scenario import Scenario

RATE = 30e6
END = 50.0
LINK = "r0->r1"
SETS = ((10, 0.0, 30.0, 4e-3), (5, 10.0, 40.0, 9e-3), (5, 20.0, 50.0, 14e-3))
"""Flows, start, stop, one-way propagation delay."""
INTERVALS = ((0.0, 10.0, 10), (10.0, 20.0, 15), (20.0, 30.0, 20), (30.0, 40.0, 10), (40.0, 50.0, 5))
"""Begin, end, flows."""
SETTLE = 3.0
"""Seconds after a change of demand that do not count: §IV-C's transient."""
PUBLISHED = (3.0, 2.0, 1.5, 3.0, 6.0)


class Run(NamedTuple):
    """One simulation."""

    name: str
    buffer: int
    queue: Mapping[str, Any]
    seed: int = 1


class Seen(NamedTuple):
    """What is kept of a run."""

    throughput: list[float]
    """Mbit/s per flow, mean over flows, per interval after it has settled."""
    spread: list[float]
    """The largest deviation of one flow from its fair share, relative, per interval."""
    queue: list[float]
    """Waiting bytes per flow over the packet size, per interval."""
    utilization: list[float]
    """Per interval."""
    used: float
    """From the first settled second on, without the settling after the two drops of demand."""
    whole: float
    """Utilization of the whole run, rise and drops of demand included."""
    queue_p90: float
    """Waiting packets, over the whole run."""
    losses: list[int]
    """Per interval, transients included."""
    cov: float
    """Standard deviation over mean of flows' throughput in bins of half a second, mean over flows, 20 to 30 s."""
    times: list[float]
    series: dict[str, list[float]]
    """Waiting packets, utilization, and the throughput of one flow of each set."""


def parameters(buffer: int) -> Sequence[Parameter]:
    """What the three figures have in common."""
    return (
        *network.COMMON,
        Parameter("bottleneck", "30 Mbit/s, 2 ms", "stated", "§V-A"),
        Parameter("buffer", f"{buffer} packets", "stated", "Figs. 6 to 8"),
        Parameter("access", "10 Mbit/s, 1 ms", "stated", "§V-A"),
        Parameter(
            "one-way delays",
            "4, 9, 14 ms: the receivers' access makes up the difference",
            "inferred",
            "§V-A says that access links have 1 ms, and gives these delays",
        ),
        Parameter("flows", "10, 5, 5 at 0-30, 10-40, 20-50 s", "stated", "§V-A"),
        Parameter(
            "intervals", f"from {SETTLE:g} s after each change", "inferred", "the paper's transients take so long"
        ),
    )


def simulate(run: Run) -> Seen:
    """One run."""
    result = scenario(run).run(seed=run.seed)
    link = result.series(link=LINK)
    rate, spread, queue, used, losses = [], [], [], [], []
    for (begin, end, count), fair in zip(INTERVALS, PUBLISHED, strict=True):
        active = [
            f"set{number}-{index}"
            for number, (size, start, stop, _) in enumerate(SETS, 1)
            if start <= begin and end <= stop
            for index in range(size)
        ]
        shares = network.goodputs(result, begin + SETTLE, end)
        settled = network.between(link, begin + SETTLE, end)
        rate.append(network.mean_of(shares[name] for name in active))
        spread.append(max(abs(shares[name] / fair - 1.0) for name in active))
        queue.append(columns.mean(settled["queue_bytes"]) / network.PACKET / count)
        used.append(network.utilization(result, LINK, begin + SETTLE, end))
        losses.append(network.drops(result, LINK, begin, end))
    steady = pl.concat(
        [network.between(link, SETTLE, 30.0), *(network.between(link, b + SETTLE, e) for b, e, _ in INTERVALS[3:])]
    )
    series = {"queue": link["queue_packets"].to_list(), "utilization": (link["throughput"] / RATE).to_list()}
    for number in (1, 2, 3):
        series[f"set {number}"] = result.series(flow=f"set{number}-0")["goodput"].to_list()
    return Seen(
        rate,
        spread,
        queue,
        used,
        columns.mean(steady["throughput"]) / RATE,
        network.utilization(result, LINK, 0.0, END),
        columns.quantile(link["queue_packets"], 0.9),
        losses,
        _variation(result),
        link["time"].to_list(),
        series,
    )


def _variation(result: Any) -> float:
    """How unsteady flows are from 23 to 30 s."""
    found = []
    for number, (size, *_) in enumerate(SETS, 1):
        for index in range(size):
            rates = network.between(result.series(flow=f"set{number}-{index}"), 20.0 + SETTLE, 30.0)["goodput"]
            means = rates.to_numpy()[: rates.len() // 5 * 5].reshape(-1, 5).mean(axis=1)
            found.append(means.std(ddof=1) / means.mean())
    return float(network.mean_of(found))


def scenario(run: Run) -> Scenario:
    """Three sets of flows over one bottleneck."""
    bottleneck = network.link("r0", "r1", RATE, 2e-3, buffer=f"{run.buffer} packets", queue=run.queue)
    back = {"reverse": {"buffer": "unlimited", "queue": network.LANES}}
    ends = []
    for number, (size, start, stop, delay) in enumerate(SETS, 1):
        when = {"start": f"{start:g} s"} | ({} if stop >= END else {"stop": f"{stop:g} s"})
        ends += [
            network.Ends(f"set{number}-{index}", "r0", "r1", far=delay - 3e-3, fields=when) for index in range(size)
        ]
    record = {"links": [LINK], "bin": "100 ms"}
    return network.scenario(run.name, [bottleneck | back], ends, access=10e6, seconds=END, record=record)


def data(seen: Seen) -> pl.DataFrame:
    """The figure's data."""
    return pl.DataFrame({"time": seen.times, **seen.series})


UNITS = {"time": "s", "queue": "packets", "utilization": "fraction"} | {f"set {n}": "bit/s" for n in (1, 2, 3)}


def draw(outcome: Outcome, buffer: int) -> Figure:
    """Utilization, queue, and one flow of each set, over time."""
    from tailback.plot.style import COLOURS, FAINT, figure, line, style

    rows = outcome.data
    with style():
        made, (top, middle, bottom) = figure(3, 1, height=5.2, sharex=True)
        top.plot(rows["time"], rows["utilization"], color=COLOURS[0], linewidth=0.9)
        top.set_ylabel("utilization")
        top.set_ylim(0, 1.05)
        middle.plot(rows["time"], rows["queue"], color=COLOURS[1], linestyle="-", linewidth=0.9)
        middle.axhline(buffer, color=FAINT, linewidth=0.8)
        middle.set_ylabel("queue [packets]")
        for number in (1, 2, 3):
            smooth = rows[f"set {number}"].rolling_mean(5, min_samples=1) / 1e6
            bottom.plot(rows["time"], smooth, label=f"a flow of set {number}", **line(number - 1))
        bottom.set_ylabel("throughput [Mbit/s]")
        bottom.set_xlabel("time [s]")
        bottom.legend(loc="upper left")
    return made
