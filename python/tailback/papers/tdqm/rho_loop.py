"""What the utilization loop prevents: the network of Figure 5 with and without it, and the overflows of its buffer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tailback.analysis import Interval, mean_interval
from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter
from tailback.papers.tdqm import network

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

SECONDS = 100.0
WARM_UP = 20.0
BIN = 0.02
SEEDS = {"quick": 4, "full": 20}
QUIET = 4 * network.ROUND_TRIP
"""Seconds without a loss that end an overflow event: more than the round trips in which one loss is repaired."""
NAMES = {True: "on", False: "off"}


class Run(NamedTuple):
    """One simulation."""

    rho_loop: bool
    impulses: bool
    seed: int


class Seen(NamedTuple):
    """What is kept of it."""

    events: list[float]
    """When overflows began, in seconds."""
    dropped: int
    """Packets."""
    queue: list[float]
    """Packets, bin by bin; of the first seed only."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *network.COMMON,
        Parameter("η thresholds", "0.1 and 0.2", "stated", "§IV-B"),
        Parameter(
            "without the ρ loop", "its thresholds at 1 and 1", "inferred", "as the paper switches the η loop off"
        ),
        Parameter("steady state", f"from {WARM_UP:g} s to {SECONDS:g} s", "inferred", "not given"),
        Parameter("an overflow event", f"losses with less than {QUIET:.2f} s between them", "inferred", "not defined"),
        Parameter("runs", f"{SEEDS[fidelity]} of each", "inferred", "not given"),
    )


def measure(lab: Lab) -> Outcome:
    """With and without the loop, with impulse users and with endless files alone."""
    runs = [
        Run(loop, impulses, seed)
        for impulses in (True, False)
        for loop in NAMES
        for seed in range(1, SEEDS[lab.fidelity] + 1)
    ]
    return _judged(dict(zip(runs, lab.map(simulate, runs), strict=True)))


def simulate(run: Run) -> Seen:
    """One run."""
    result = scenario(run).run(seed=run.seed)
    series = result.series(link=network.LINK, after_warm_up=True)
    lost = series.filter(pl.col("dropped_packets") > 0)["time"].to_list()
    events = [after for before, after in pairwise([0.0, *lost]) if after - before > QUIET]
    queue = series["mean_queue"].to_list() if run.seed == 1 else []
    return Seen(events, int(series["dropped_packets"].sum()), queue)


def scenario(run: Run) -> Scenario:
    """The network of Figure 5."""
    return network.scenario(
        network.tdqm(rho=run.rho_loop),
        users=(network.USERS, network.USERS if run.impulses else 0),
        seconds=SECONDS,
        warm_up=WARM_UP,
        name=f"Figure 5's network, ρ loop {NAMES[run.rho_loop]}",
        record={"bin": f"{1000 * BIN:g} ms"},
    )


class Regularity(NamedTuple):
    """Times between overflows."""

    mean: float
    """Seconds."""
    variation: float
    """Standard deviation over mean: 1 where they come at random, well below where they are periodic."""


def _regularity(seen: Sequence[Seen]) -> Regularity:
    gaps = [after - before for found in seen for before, after in pairwise(found.events)]
    if len(gaps) < 3:
        return Regularity(float("nan"), float("nan"))
    return Regularity(float(np.mean(gaps)), float(np.std(gaps, ddof=1) / np.mean(gaps)))


def _judged(seen: dict[Run, Seen]) -> Outcome:
    def of(loop: bool, impulses: bool) -> list[Seen]:
        return [found for run, found in seen.items() if run[:2] == (loop, impulses)]

    def rate(loop: bool, impulses: bool) -> Interval:
        return mean_interval([len(found.events) / (SECONDS - WARM_UP) for found in of(loop, impulses)])

    on, off = rate(True, True), rate(False, True)
    period = _regularity(of(False, True))
    alone_on, alone_off, alone = rate(True, False), rate(False, False), _regularity(of(False, False))
    left = [found.dropped for found in of(True, True)]
    rows = [
        {"rho_loop": NAMES[run.rho_loop], "time": WARM_UP + (index + 0.5) * BIN, "queue": queue}
        for run, found in seen.items()
        if run.impulses and run.seed == 1
        for index, queue in enumerate(found.queue)
    ]
    return Outcome(
        measured={
            "overflow_events_per_s": {"on": on.mean, "off": off.mean},
            "period_s": period.mean,
            "variation_of_period": period.variation,
            "files_alone": {"on": alone_on.mean, "off": alone_off.mean, "period_s": alone.mean},
        },
        checks=(
            Check(
                "without the ρ loop the buffer overflows periodically",
                f"{off} times per second, every {period.mean:.2f} s with a variation of {period.variation:.2f}",
                "more than one event in each run, and times between them that vary by less than chance (1)",
                all(len(found.events) > 1 for found in of(False, True)) and period.variation < 1.0,
            ),
            Check("with it never in steady state", f"{on} times per second", "none", on.mean == 0.0),
        ),
        data=pl.DataFrame(rows),
        units={"time": "s", "queue": "packets"},
        why=""
        if on.mean == 0.0
        else (
            f"With the loop {np.mean(left):.0f} packets of {np.mean([f.dropped for f in of(False, True)]):.0f} are still lost "
            f"in {SECONDS - WARM_UP:g} s: an impulse of up to 240 packets comes at 100 Mbit/s, twice the link's rate, faster than "
            "any echo, and several at once do not fit a buffer of 240. The paper does not print how large its impulses were: with "
            "a mean of 10 packets or fewer the claim holds, and with 20 nearly (the table of impulses on the page). "
            f"Without impulses there are {alone_on.mean:.2g} overflows per second with the loop; with them there are "
            f"{on.mean:.2g}, against {off.mean:.2g} without the loop."
        ),
        scenario=scenario(Run(True, True, 1)).to_toml(),
        changed=ChangedTest(
            checks=(
                Check(
                    "endless files alone, without the ρ loop: periodic overflow",
                    f"{alone_off} times per second, every {alone.mean:.2f} s with a variation of {alone.variation:.2f}",
                    "above none; variation below 1",
                    alone_off.low > 0 and alone.variation < 1.0,
                ),
                Check("with it none", f"{alone_on} times per second", "none", alone_on.mean == 0.0),
                Check(
                    "with impulses: the ρ loop leaves a tenth of the overflows or less",
                    f"{on} of {off} times per second",
                    "at most 0.1 of them",
                    on.mean <= 0.1 * off.mean,
                ),
            ),
            why="If users may send more at once than the buffer holds, no loop prevents every overflow.",
        ),
    )


def draw(outcome: Outcome) -> Figure:
    """The queue over some seconds, with and without the loop."""
    from tailback.plot.style import COLOURS, FAINT, figure, style

    with style():
        made, axes = figure(2, 1, height=4.2, sharex=True)
        for index, (axis, loop, label) in enumerate(
            zip(axes, ("off", "on"), ("without the ρ loop", "with it"), strict=True)
        ):
            rows = outcome.data.filter((pl.col("rho_loop") == loop) & (pl.col("time") < WARM_UP + 20))
            axis.plot(rows["time"], rows["queue"], color=COLOURS[1 - index], linewidth=0.9)
            axis.axhline(network.BUFFER, color=FAINT, linewidth=0.8)
            axis.set_title(label)
            axis.set_ylabel("queue (packets)")
            axis.set_ylim(0, 1.05 * network.BUFFER)
        axes[-1].set_xlabel("time (s)")
    return made
