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


class Overflows(NamedTuple):
    """What the runs of one setting came to."""

    rate: Interval
    """Overflow events per second."""
    between: Regularity
    dropped: list[int]
    """Packets, run by run."""
    in_each: bool
    """Whether each run had more than one event."""


def _overflows(seen: dict[Run, Seen], *, rho_loop: bool, impulses: bool) -> Overflows:
    these = [found for run, found in seen.items() if run[:2] == (rho_loop, impulses)]
    return Overflows(
        mean_interval([len(found.events) / (SECONDS - WARM_UP) for found in these]),
        _regularity(these),
        [found.dropped for found in these],
        all(len(found.events) > 1 for found in these),
    )


def _judged(seen: dict[Run, Seen]) -> Outcome:
    on, off = (_overflows(seen, rho_loop=loop, impulses=True) for loop in (True, False))
    alone_on, alone_off = (_overflows(seen, rho_loop=loop, impulses=False) for loop in (True, False))
    return Outcome(
        measured={
            "overflow_events_per_s": {"on": on.rate.mean, "off": off.rate.mean},
            "period_s": off.between.mean,
            "variation_of_period": off.between.variation,
            "files_alone": {
                "on": alone_on.rate.mean,
                "off": alone_off.rate.mean,
                "period_s": alone_off.between.mean,
            },
        },
        checks=(
            Check(
                "without the ρ loop the buffer overflows periodically",
                _said(off),
                "more than one event in each run, and times between them that vary by less than chance (1)",
                off.in_each and off.between.variation < 1.0,
            ),
            Check("with it never in steady state", f"{on.rate} times per second", "none", on.rate.mean == 0.0),
        ),
        data=_queues(seen),
        units={"time": "s", "queue": "packets"},
        why="" if on.rate.mean == 0.0 else _why(on, off, alone_on),
        scenario=scenario(Run(True, True, 1)).to_toml(),
        changed=_changed(on, off, alone_on, alone_off),
    )


def _said(found: Overflows) -> str:
    period = found.between
    return f"{found.rate} times per second, every {period.mean:.2f} s with a variation of {period.variation:.2f}"


def _queues(seen: dict[Run, Seen]) -> pl.DataFrame:
    """The queue with impulse users, of the first seed."""
    return pl.DataFrame(
        [
            {"rho_loop": NAMES[run.rho_loop], "time": WARM_UP + (index + 0.5) * BIN, "queue": queue}
            for run, found in seen.items()
            if run.impulses and run.seed == 1
            for index, queue in enumerate(found.queue)
        ]
    )


def _why(on: Overflows, off: Overflows, alone: Overflows) -> str:
    """Why overflows are left with the loop; ``alone`` is with it and without impulses."""
    return (
        f"With the loop {np.mean(on.dropped):.0f} packets of {np.mean(off.dropped):.0f} are still lost "
        f"in {SECONDS - WARM_UP:g} s: an impulse of up to 240 packets comes at 100 Mbit/s, twice the link's rate, faster than "
        "any echo, and several at once do not fit a buffer of 240. The paper does not print how large its impulses were: with "
        "a mean of 10 packets or fewer the claim holds, and with 20 nearly (the table of impulses on the page). "
        f"Without impulses there are {alone.rate.mean:.2g} overflows per second with the loop; with them there are "
        f"{on.rate.mean:.2g}, against {off.rate.mean:.2g} without the loop."
    )


def _changed(on: Overflows, off: Overflows, alone_on: Overflows, alone_off: Overflows) -> ChangedTest:
    """What a loop can do: no overflow without impulses, and few with them."""
    return ChangedTest(
        checks=(
            Check(
                "endless files alone, without the ρ loop: periodic overflow",
                _said(alone_off),
                "above none; variation below 1",
                alone_off.rate.low > 0 and alone_off.between.variation < 1.0,
            ),
            Check("with it none", f"{alone_on.rate} times per second", "none", alone_on.rate.mean == 0.0),
            Check(
                "with impulses: the ρ loop leaves a tenth of the overflows or less",
                f"{on.rate} of {off.rate} times per second",
                "at most 0.1 of them",
                on.rate.mean <= 0.1 * off.rate.mean,
            ),
        ),
        why="If users may send more at once than the buffer holds, no loop prevents every overflow.",
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
