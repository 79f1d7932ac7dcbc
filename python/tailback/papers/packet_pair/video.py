"""§9.5: packet video. Eight MPEG-like sources under packet-pair, whose quantiser follows the control's rate, and the same films
sent open loop through a leaky bucket, over a bottleneck whose capacity changes suddenly. The coder is in ``coder.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.packet_pair.coder import (
    ANCHOR,
    CONCEALED,
    GROUP,
    JITTER,
    PATTERN,
    SLOPE,
    Film,
    film,
    quality,
    with_losses,
)  # fmt: skip
from tailback.papers.packet_pair.scenes import HEADER, PACKET, PAYLOAD, fixed, packet_pair, transport

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

SOURCES = 8
RATE = 16_000_000
"""Bit/s of the bottleneck at its best."""
CAPACITY = ((10.0, 0.5), (20.0, 1.0), (30.0, 0.35), (35.0, 1.0))
"""Seconds at which the capacity changes, and to which part of its best."""
END = 45.0
GROUPS = int(END / GROUP)
MEAN = 0.75
"""Mean rate of the films at the anchor's quality, as a part of a source's share of the best capacity."""
BUCKET, DEPTH = 1.5, 100
"""The leaky bucket's rate relative to the mean, and its depth in packets."""
BUFFER = 100
SETPOINT = 5
WARM = 2
"""Groups that are not judged: the rise from rest."""
CONTROLS = ("feedback", "open loop")


class Run(NamedTuple):
    """One control with one set of films."""

    control: str
    seed: int


class Watched(NamedTuple):
    """What is kept of a run."""

    loss: float
    """Packets lost at the bottleneck, as a part of those sent."""
    mean: float
    """dB over all frames."""
    worst: float
    """The fifth percentile."""
    groups: list[float]
    """Mean dB per group, over all sources."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    changes = ", ".join(f"to {100 * part:g} % at {at:g} s" for at, part in CAPACITY)
    return (
        Parameter("sources", f"{SOURCES} MPEG-like", "stated", "§9.5"),
        Parameter(
            "buffers", f"{BUFFER} packets of {PACKET} B", "inferred", "'limited'; half a round trip's worth and more"
        ),
        Parameter("bottleneck", f"{RATE / 1e6:g} Mbit/s, fair queueing, 40 ms round trip", "inferred", "not printed"),
        Parameter("capacity", changes, "inferred", "'sudden changes in available bandwidth'"),
        Parameter(
            "films",
            f"groups {PATTERN} of {GROUP} s, frames' sizes 5 : 2 : 1 and lognormal ({JITTER}), scenes",
            "inferred",
            "the codec data of the paper are not at hand",
        ),
        Parameter(
            "quality",
            f"{ANCHOR:g} dB at the bits needed, {SLOPE:g} dB per doubling, "
            f"{CONCEALED:g} dB for a frame hit by a loss and those predicted from it",
            "inferred",
            "an objective measure in place of the paper's viewers",
        ),
        Parameter(
            "coder under feedback",
            "fills the directed rate; a group's quantiser is what fits the bits delivered in its time; "
            "no retransmission comes in time",
            "inferred",
            "a source that always has data stands for it",
        ),
        Parameter(
            "open loop",
            f"fixed quantiser, leaky bucket of {BUCKET:g} times the mean rate and {DEPTH} packets",
            "inferred",
            "§9.5 names the leaky bucket only",
        ),
        Parameter("setpoint", f"{SETPOINT} packets, fixed", "inferred", "risk-averse, §7"),
        Parameter("seeds", str(_seeds(fidelity)), "inferred", "sets of films"),
    )


def films(seed: int) -> list[Film]:
    """The same for both controls."""
    return [film(GROUPS, np.random.default_rng([seed, source])) for source in range(SOURCES)]


def needed(one: Film) -> NDArray[np.float64]:
    """Bits per group for the anchor's quality."""
    return one.complexity * MEAN * RATE / SOURCES * GROUP


def packets(one: Film) -> NDArray[np.int64]:
    """Whole packets per group and frame at the fixed quantiser."""
    bits = needed(one)[:, None] * one.frames
    return np.maximum(np.rint(bits / (8 * PACKET)), 1).astype(np.int64)


def _flow(run: Run, source: int, one: Film) -> Any:
    import tailback as tb

    start = f"{37 * source} ms"
    if run.control == "feedback":
        scheme = packet_pair(setpoint=fixed(SETPOINT))
        return tb.flows(1, scheme, name=f"{source}", start=start, transport=transport())
    times = GROUP / len(PATTERN) * np.arange(GROUPS * len(PATTERN))
    entries = [
        {"at": f"{1e6 * time:.0f} us", "size": f"{PAYLOAD * count} B"}
        for time, count in zip(times, packets(one).ravel().tolist(), strict=True)
    ]
    bucket = {"name": "fixed-rate", "rate": f"{BUCKET * MEAN * RATE / SOURCES:.0f} bit/s", "burst": f"{DEPTH} packets"}
    sizes = {"segment_size": f"{PACKET} B", "header": f"{HEADER} B"}
    return tb.flows(1, bucket, {"name": "replay", "entries": entries}, name=f"{source}", start=start, datagram=sizes)


def scenario(run: Run) -> Scenario:
    """Eight sources over one bottleneck."""
    import tailback as tb

    return tb.dumbbell(
        rate=f"{RATE} bit/s",
        delay="18 ms",
        buffer=f"{BUFFER} packets",
        duration=f"{END} s",
        name=f"packet video, {run.control}",
        queue="weighted-fair-queueing",
        schedule=[{"at": f"{at} s", "rate": f"{part * RATE:.0f} bit/s"} for at, part in CAPACITY],
        reverse={"rate": f"{RATE} bit/s"},
        access={"rate": "100 Mbit/s", "delay": "1 ms"},
        flows=[_flow(run, source, one) for source, one in enumerate(films(run.seed))],
        record={"bin": f"{GROUP} s", "flows": "all", "links": ["r0->r1"], "packets": True},
    )


def simulate(run: Run) -> Watched:
    """One run, as it is seen by eight viewers."""
    result = scenario(run).run(seed=run.seed)
    log = result.packets.filter(pl.col("bits").cast(pl.UInt32) & 3 == 0)
    drops = log.filter(pl.col("event") == "dropped")
    frames = []
    for source, one in enumerate(films(run.seed)):
        lost = drops.filter(pl.col("flow") == f"{source}")
        if run.control == "feedback":
            got = result.series(flow=f"{source}")["received_bytes"].to_numpy()[:GROUPS]
            coded = quality(8.0 * np.resize(got, GROUPS), needed(one))
            hit = _hit_by_time(lost["time"].to_numpy(), one)
        else:
            coded = quality(needed(one), needed(one))
            hit = _hit_by_number(lost["number"].to_numpy(), one)
        frames.append(with_losses(coded, hit)[WARM:])
    seen = np.stack(frames)
    sent = log.filter(pl.col("event") == "sent").height
    return Watched(
        drops.height / sent, float(seen.mean()), float(np.percentile(seen, 5)), seen.mean(axis=(0, 2)).tolist()
    )


def _hit_by_time(times: NDArray[np.float64], one: Film) -> NDArray[np.bool_]:
    """Frames in transmission when packets were lost: a group's frames follow one another within its time."""
    hit = np.zeros((GROUPS, len(PATTERN)), dtype=bool)
    ends = np.cumsum(one.frames, axis=1)
    for time in times:
        group = min(int(time / GROUP), GROUPS - 1)
        hit[group, min(int(np.searchsorted(ends[group], time / GROUP - group)), len(PATTERN) - 1)] = True
    return hit


def _hit_by_number(numbers: NDArray[np.uint64], one: Film) -> NDArray[np.bool_]:
    """Frames whose own packets were lost."""
    hit = np.zeros(GROUPS * len(PATTERN), dtype=bool)
    hit[np.searchsorted(np.cumsum(packets(one).ravel()), numbers.astype(np.int64), side="right")] = True
    return hit.reshape(GROUPS, len(PATTERN))


def measure(lab: Lab) -> Outcome:
    """Both controls with the same films."""
    seeds = range(1, _seeds(lab.fidelity) + 1)
    runs = [Run(control, seed) for control in CONTROLS for seed in seeds]
    found = dict(zip(runs, lab.map(simulate, runs), strict=True))

    def over(control: str, what: str) -> float:
        return float(np.mean([getattr(found[Run(control, seed)], what) for seed in seeds]))

    loss, mean, worst = ({control: over(control, what) for control in CONTROLS} for what in ("loss", "mean", "worst"))
    rows = [
        pl.DataFrame(
            {
                "control": control,
                "time": [GROUP * (WARM + index) for index in range(GROUPS - WARM)],
                "quality": np.mean([found[Run(control, seed)].groups for seed in seeds], axis=0),
            }
        )
        for control in CONTROLS
    ]

    def check(what: str, values: dict[str, float], unit: str, better: bool) -> Check:
        shown = f"{values['feedback']:.4g} {unit} against {values['open loop']:.4g} {unit}"
        return Check(what, shown, "better under feedback", better)

    return Outcome(
        measured={
            "loss": {control: round(value, 5) for control, value in loss.items()},
            "quality": {control: round(value, 2) for control, value in mean.items()},
            "quality_p5": {control: round(value, 2) for control, value in worst.items()},
        },
        checks=(
            check("loss", {key: 100 * value for key, value in loss.items()}, "%", loss["feedback"] < loss["open loop"]),
            check("mean quality", mean, "dB", mean["feedback"] > mean["open loop"]),
            check("5th percentile of quality", worst, "dB", worst["feedback"] > worst["open loop"]),
        ),
        data=pl.concat(rows),
        units={"time": "s", "quality": "dB"},
        why="",
        scenario=scenario(Run("feedback", 1)).to_toml(),
        notes=(
            "The coder is not inside the simulation: under feedback a source that always has data stands for a coder that "
            "fills the rate it is given, and each group is coded afterwards in the bits that were delivered in its time. "
            "Coding delay and the error of a coder's own rate control are so left out, in favour of feedback.",
        ),
    )


def _seeds(fidelity: Fidelity) -> int:
    return 5 if fidelity == "full" else 2


def draw(outcome: Outcome) -> Figure:
    """Quality over time under both controls."""
    from tailback.plot.style import COLOURS, DASHES, figure, style

    with style():
        made, (axis,) = figure(height=3.4)
        for index, control in enumerate(CONTROLS):
            data = outcome.data.filter(pl.col("control") == control)
            axis.plot(data["time"], data["quality"], color=COLOURS[index], linestyle=DASHES[index], label=control)
        for at, _ in CAPACITY:
            axis.axvline(at, linewidth=0.7, color="0.6", linestyle=(0, (2, 2)))
        axis.set_xlabel("time (s)")
        axis.set_ylabel("mean quality (dB)")
        axis.legend(loc="lower right")
    return made
