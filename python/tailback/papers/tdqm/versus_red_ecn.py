"""The comparison that the paper leaves open: TCP Newark over TDQM, RED with ECN-capable TCP, and today's queue management
with CUBIC, on the network of Figure 5. Each is run over a range of its own knob, so that all can be put beside each other at
equal utilization and at equal delay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from tailback import units
from tailback.analysis import columns, mean_interval
from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.tdqm import network

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

SECONDS = 60.0
WARM_UP = 20.0
SEEDS = {"quick": 2, "full": 5}
TARGETS = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0)
"""Milliseconds: the knob of CoDel, PIE, DualPI2 and FQ-CoDel."""
ECN = {"ecn": "ect0"}


class Entry(NamedTuple):
    """One way to run the link, with its knob."""

    scheme: str
    knob: str
    """What is varied, in words."""
    values: Sequence[float]
    usual: float
    """The value that is published as default, or the paper's."""


ENTRIES = {
    "newark + tdqm": Entry("newark", "lower ρ threshold", (0.7, 0.8, 0.85, 0.9, 0.95), 0.9),
    "newark + tdqm, no η loop": Entry("newark", "lower ρ threshold", (0.7, 0.8, 0.85, 0.9, 0.95), 0.9),
    "sack + red": Entry("sack", "lower threshold, packets", (2, 5, 10, 20, 40, 60), 20),
    "cubic + codel": Entry("cubic", "target, ms", TARGETS, 5.0),
    "cubic + pie": Entry("cubic", "target, ms", TARGETS, 10.0),
    "cubic + dualpi2": Entry("cubic", "target, ms", TARGETS, 10.0),
    "cubic + fq-codel": Entry("cubic", "target, ms", TARGETS, 5.0),
}


class Run(NamedTuple):
    """One simulation."""

    entry: str
    value: float
    seed: int


class Seen(NamedTuple):
    """What is kept of it."""

    utilization: float
    queue: float
    """Packets."""
    delay: float
    """Milliseconds: the mean queueing delay of what the link carries."""
    delay_p99: float
    """Milliseconds: of round trips that users with endless files see, above an empty network's."""
    loss: float
    impulse_p50: float
    """Seconds from an impulse's beginning to its last acknowledgement, median and 99th percentile."""
    impulse_p99: float


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *network.COMMON,
        Parameter(
            "RED", "thresholds m and 3 m, max_p 0.1, weight 0.002, gentle, ECN", "inferred", "Floyd's advice of 2000"
        ),
        Parameter("TCP under RED", "SACK (RFC 6675), ECN by RFC 3168", "inferred", "the paper's “ECN-TCP”"),
        Parameter("CoDel, PIE, DualPI2, FQ-CoDel", "RFC 8289, 8033, 9332, 8290; ECN; CUBIC", "inferred", "today's"),
        Parameter(
            "knobs",
            "; ".join(f"{name}: {e.knob} {_list(e.values)}" for name, e in ENTRIES.items()),
            "inferred",
            "each wide enough to reach the utilizations and delays of the others",
        ),
        Parameter(
            "runs",
            f"{SEEDS[fidelity]} of each, {SECONDS:g} s of which {WARM_UP:g} s do not count",
            "inferred",
            "long against the time that averages take to settle",
        ),
    )


def _list(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def measure(lab: Lab) -> Outcome:
    """Every entry at every value of its knob."""
    runs = [
        Run(name, value, seed)
        for name, entry in ENTRIES.items()
        for value in entry.values
        for seed in range(1, SEEDS[lab.fidelity] + 1)
    ]
    seen = zip(runs, lab.map(simulate, runs), strict=True)
    return _judged(pl.DataFrame([{**run._asdict(), **found._asdict()} for run, found in seen]))


def simulate(run: Run) -> Seen:
    """One run."""
    result = scenario(run).run(seed=run.seed)
    link = result.links.filter(pl.col("link") == network.LINK).row(0, named=True)
    rtt = result.flow_series.filter(pl.col("time") > WARM_UP)["rtt"].drop_nulls().drop_nans()
    base = network.ROUND_TRIP + network.SERVICE
    messages = result.messages.filter(pl.col("began") > WARM_UP)
    took = (messages["ended"] - messages["began"]) if messages.height else pl.Series([float("nan")])
    return Seen(
        link["utilization"],
        link["mean_queue"],
        1e3 * (link["queueing_delay"] or 0.0),
        1e3 * (columns.quantile(rtt, 0.99) - base),
        link["loss_rate"],
        columns.quantile(took, 0.5),
        columns.quantile(took, 0.99),
    )


def queue(run: Run) -> dict[str, Any]:
    """The link's queue."""
    kind, value = run.entry.split(" + ")[1], run.value
    if kind.startswith("tdqm"):
        return network.tdqm(rho={"min": value}, eta=kind == "tdqm")
    if kind == "red":
        low, high = (f"{factor * value:g} packets" for factor in (1, 3))
        return {"name": "red", "min": low, "max": high, "max_p": 0.1, "weight": 0.002, "ecn": True}
    ecn = {} if kind == "dualpi2" else {"ecn": True}
    return {"name": kind, "target": units.time(1e-3 * value), **ecn}


def scenario(run: Run) -> Scenario:
    """The network of Figure 5 under one entry."""
    scheme = ENTRIES[run.entry].scheme
    return network.scenario(
        queue(run),
        scheme=scheme,
        seconds=SECONDS,
        warm_up=WARM_UP,
        with_transport={} if scheme == "newark" else ECN,
        name=f"Figure 5's network, {run.entry}",
        record={"flows": [f"ftp {index}" for index in range(network.USERS)], "queue_state": False},
    )


def _judged(data: pl.DataFrame) -> Outcome:
    means = data.group_by("entry", "value", maintain_order=True).agg(
        pl.col(Seen._fields).mean(), (pl.col("delay_p99").std() / pl.len().sqrt()).alias("delay_p99_se")
    )
    usual = {
        name: data.filter((pl.col("entry") == name) & (pl.col("value") == entry.usual))
        for name, entry in ENTRIES.items()
    }
    own = means.filter((pl.col("entry") == "newark + tdqm") & (pl.col("value") == 0.9)).row(0, named=True)
    at_utilization = {name: _at(means, name, "utilization", own["utilization"], "delay_p99") for name in ENTRIES}
    at_delay = {name: _at(means, name, "delay_p99", own["delay_p99"], "utilization") for name in ENTRIES}
    at_utilization["newark + tdqm"] = own["delay_p99"]  # Its line passes this utilization more than once.

    def of(column: str) -> dict[str, float]:
        return {name: mean_interval(rows[column]).mean for name, rows in usual.items()}

    return Outcome(
        measured={
            "utilization": of("utilization"),
            "queue_mean": of("queue"),
            "delay_p99_ms": of("delay_p99"),
            "loss": of("loss"),
            "impulse_p50_s": of("impulse_p50"),
            "impulse_p99_s": of("impulse_p99"),
            "delay_p99_ms_at_equal_utilization": at_utilization,
            "utilization_at_equal_delay_p99": at_delay,
        },
        checks=(
            Check(
                "reported as measured, whoever wins",
                f"{len(ENTRIES)} ways to run the link, {means.height} settings",
                "every one of them has run",
                means.height == sum(len(entry.values) for entry in ENTRIES.values()),
            ),
        ),
        data=data,
        units={"queue": "packets", "delay": "ms", "delay_p99": "ms", "impulse_p50": "s", "impulse_p99": "s"},
        why="",
        scenario=scenario(Run("newark + tdqm", 0.9, 1)).to_toml(),
        notes=(
            f"At the utilization of Newark over TDQM, {own['utilization']:.3f}, the 99th percentile of queueing is, in ms: "
            f"{_told(at_utilization, '.1f')}. At its 99th percentile, {own['delay_p99']:.1f} ms, utilization is: "
            f"{_told(at_delay, '.3f')}. Between settings of a knob is interpolated; a dash is where no setting gets there.",
            f"An impulse takes, median and 99th percentile at usual settings: {_impulses(of('impulse_p50'), of('impulse_p99'))}.",
            "FQ-CoDel serves each user from a queue of his own: what users with endless files see is what they queue themselves.",
        ),
    )


def _impulses(half: Mapping[str, float], most: Mapping[str, float]) -> str:
    return "; ".join(f"{name} {half[name]:.2f} s and {most[name]:.2f} s" for name in ENTRIES)


def _told(values: Mapping[str, float], form: str) -> str:
    return ", ".join(f"{name} {format(value, form) if np.isfinite(value) else '–'}" for name, value in values.items())


def _at(means: pl.DataFrame, name: str, over: str, where: float, column: str) -> float:
    """A column where another has a value, linearly between the settings of the knob in their order; not a number where no
    setting gets there. Of several places the best counts for the entry."""
    rows = means.filter(pl.col("entry") == name).sort("value")
    xs, ys = rows[over].to_numpy(), rows[column].to_numpy()
    found = [
        y0 + (y1 - y0) * (where - x0) / (x1 - x0) if x1 != x0 else y0
        for x0, x1, y0, y1 in zip(xs, xs[1:], ys, ys[1:], strict=False)
        if min(x0, x1) <= where <= max(x0, x1)
    ]
    if not found:
        return float("nan")
    return float(max(found) if column == "utilization" else min(found))


def draw(outcome: Outcome) -> Figure:
    """Utilization against the 99th percentile of queueing, a line per entry, its usual setting filled."""
    from tailback.plot.style import COLOURS, DASHES, MARKERS, figure, style

    with style():
        made, (axis,) = figure(height=4.0)
        for index, (name, entry) in enumerate(ENTRIES.items()):
            rows = (
                outcome.data.filter(pl.col("entry") == name)
                .group_by("value", maintain_order=True)
                .agg(pl.col("utilization", "delay_p99").mean())
                .sort("value")
            )
            colour = COLOURS[index % len(COLOURS)]
            marker = MARKERS[index % len(MARKERS)]
            axis.plot(
                rows["delay_p99"],
                rows["utilization"],
                color=colour,
                linestyle=DASHES[index % len(DASHES)],
                marker=marker,
                markerfacecolor="none",
                label=name,
            )
            point = rows.filter(pl.col("value") == entry.usual)
            axis.plot(point["delay_p99"], point["utilization"], linestyle="none", marker=marker, color=colour)
        axis.set_xlabel("99th percentile of queueing delay (ms)")
        axis.set_ylabel("utilization")
        axis.set_xlim(0, None)
        made.legend(loc="outside lower center", ncols=2)
    return made
