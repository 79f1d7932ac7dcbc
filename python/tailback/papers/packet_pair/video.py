"""§9.5: packet video. Eight MPEG-like coders under packet-pair, whose quantiser follows the control's rate while they run, and
the same films sent open loop through a leaky bucket, over a bottleneck whose capacity changes suddenly. What frames are worth
is in ``coder.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.packet_pair.coder import ANCHOR, CONCEALED, GROUP, PATTERN, REFERENCE, SLOPE, quality, seen
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
PLAYOUT = 0.5
"""Seconds from a frame's coding to its display."""
GROUPS = int((END - PLAYOUT - 0.3) / GROUP)
"""Groups that all sources have shown by the end: the last starts 0.26 s after the first."""
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
            f"the source `video`: groups {PATTERN} of {GROUP} s, complexity of frames 5 : 2 : 1 and lognormal (0.25), scenes; "
            f"{MEAN * RATE / SOURCES / 1e6:g} Mbit/s at quantiser {REFERENCE:g}",
            "inferred",
            "the codec data of the paper are not at hand",
        ),
        Parameter(
            "quality",
            f"{ANCHOR:g} dB at quantiser {REFERENCE:g}, {SLOPE:g} dB less per doubling, "
            f"{CONCEALED:g} dB for a frame not whole {PLAYOUT:g} s after its coding, those predicted from it, and skipped ones",
            "inferred",
            "an objective measure in place of the paper's viewers",
        ),
        Parameter(
            "coder under feedback",
            "MPEG-2 Test Model 5's rate control on 95 % of the rate that packet-pair directs at each frame; "
            "a retransmission counts where it comes in time",
            "inferred",
            "§9.5 has the coder informed and the data rate decreased",
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


def _flow(run: Run, source: int) -> Any:
    import tailback as tb

    mean = MEAN * RATE / SOURCES
    follows = {"name": "rate"} if run.control == "feedback" else {"name": "fixed", "quantiser": REFERENCE}
    film = {"name": "video", "rate": f"{mean:.0f} bit/s", "reference": REFERENCE, "control": follows}
    named = {"name": f"{source}", "start": f"{37 * source} ms"}
    if run.control == "feedback":
        return tb.flows(1, packet_pair(setpoint=fixed(SETPOINT)), film, transport=transport(), **named)
    bucket = {"name": "fixed-rate", "rate": f"{BUCKET * mean:.0f} bit/s", "burst": f"{DEPTH} packets"}
    return tb.flows(1, bucket, film, datagram={"segment_size": f"{PACKET} B", "header": f"{HEADER} B"}, **named)


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
        flows=[_flow(run, source) for source in range(SOURCES)],
        record={"bin": f"{GROUP} s", "flows": "all", "links": ["r0->r1"], "packets": True, "state": True},
    )


class Film(NamedTuple):
    """What a source offered, per frame that it coded."""

    frame: NDArray[np.int64]
    quantiser: NDArray[np.float64]
    offered: NDArray[np.float64]
    """Seconds."""
    first: NDArray[np.int64]
    """The number of its first packet."""
    end: NDArray[np.int64]
    """One beyond that of its last."""


def film(state: pl.DataFrame) -> Film:
    """From what the source published. Packets never carry parts of two frames."""

    def column(name: str) -> pl.Series:
        return state.filter(pl.col("name") == name)["value"]

    packets = np.ceil(column("frame_size").to_numpy() / PAYLOAD).astype(np.int64)
    end = np.cumsum(packets)
    return Film(
        column("frame").to_numpy().astype(np.int64),
        column("quantiser").to_numpy(),
        state.filter(pl.col("name") == "frame")["time"].to_numpy(),
        end - packets,
        end,
    )


def shown(one: Film, delivered: pl.DataFrame) -> NDArray[np.float64]:
    """dB of all frames, groups × frames of a group, as a viewer sees them.

    A frame is hit where not all of its packets have arrived ``PLAYOUT`` after it was offered, whether they were lost, waited or
    were retransmitted too late.
    """
    arrival = np.full(int(one.end[-1]), np.inf)
    first = delivered.group_by("number", maintain_order=True).agg(pl.col("time").min())
    numbers = first["number"].to_numpy().astype(np.int64)
    known = numbers < len(arrival)
    arrival[numbers[known]] = first["time"].to_numpy()[known]
    hit = np.maximum.reduceat(arrival, one.first) > one.offered + PLAYOUT
    coded = np.full(GROUPS * len(PATTERN), np.nan)
    spoilt = np.zeros(len(coded), dtype=bool)
    inside = one.frame < len(coded)
    coded[one.frame[inside]] = quality(one.quantiser[inside])
    spoilt[one.frame[inside]] = hit[inside]
    shape = (GROUPS, len(PATTERN))
    return seen(coded.reshape(shape), spoilt.reshape(shape))


def simulate(run: Run) -> Watched:
    """One run, as it is seen by eight viewers."""
    result = scenario(run).run(seed=run.seed)
    data = result.packets.filter(pl.col("kind") == "data")
    drops, delivered = (data.filter(pl.col("event") == event) for event in ("dropped", "delivered"))
    viewers = []
    for source in range(SOURCES):
        own = pl.col("flow") == f"{source}"
        viewers.append(shown(film(result.state.filter(own)), delivered.filter(own))[WARM:])
    all_seen = np.stack(viewers)
    sent = data.filter(pl.col("event") == "sent").height
    groups = all_seen.mean(axis=(0, 2)).tolist()
    return Watched(drops.height / sent, float(all_seen.mean()), float(np.percentile(all_seen, 5)), groups)


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
            "The coder runs inside the simulation: it knows the rate in force and what waits to be sent when it codes a frame, and "
            "the network decides what the next frame may be. Both controls show the same films, drawn from the same seeds.",
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
