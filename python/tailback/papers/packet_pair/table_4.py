"""Table 4: N - 1 sources start at once while one has the bottleneck to itself; that one's losses, retransmissions, completion
and peak queue for N = 2 to 10, with 100 packets of buffer. The base scenario is in ``scenes.py``; table 5 takes its runs with a
larger buffer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.packet_pair.scenes import (
    BUFFER,
    PROGRAM,
    TU,
    Source,
    base,
    base_parameters,
    packet_pair,
    watched,
)  # fmt: skip
from tailback.papers.packet_pair.traces import logged, own_queue

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

NUMBERS = tuple(range(2, 11))
FIRST, OTHERS, START = 2000, 500, 1000.0
"""Packets of source 1 and of each other source, and TU at which these start."""
END = 12000.0
COMPLETION = (2761, 3291, 3803, 4435, 4941, 5542, 6519, 6921, 7172)
LOSS_RATE = (0.0, 0.0, 0.0, 0.6, 0.5, 3.7, 9.0, 9.9, 8.9)
PEAK = (83, 31, 35, 40, 44, 76, 35, 38, 41)
TOLERANCE = 0.10
"""The ledger's."""


WAYS: Mapping[str, Mapping[str, Any]] = {
    "text": {},
    "program": {"estimator": dict(PROGRAM)},
    "limited": {"estimator": dict(PROGRAM), "rate_change": "within-round-trip"},
}
"""The fuzzy estimator of §4.5; that of the appendix's program; and the latter with this project's rule that no rate is kept
beyond a round trip, which the text's estimator never needs here."""
EACH_PACKET: Mapping[str, Any] = {
    "name": "probed",
    "initial": 5.0,
    "least": 2.0,
    "increase": 2.0,
    "every": 2,
    "decrease": 0.75,
    "cut": "packet",
}
"""The setpoint of Table 2, cut for every lost packet."""
SETPOINTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "cuts": (
        "the program's estimator and a setpoint that every lost packet cuts",
        {"estimator": dict(PROGRAM), "setpoint": EACH_PACKET},
    ),
    "cuts_text": ("the text's estimator and that setpoint", {"setpoint": EACH_PACKET}),
    "section_7": (
        "the program's and the setpoint of §7",
        {"estimator": dict(PROGRAM), "setpoint": {"name": "section-7"}},
    ),
    "fixed": (
        "the program's and a setpoint fixed at ten packets",
        {"estimator": dict(PROGRAM), "setpoint": {"name": "fixed", "packets": 10.0}},
    ),
    "goes_on": (
        "the program's and a source that goes on after a silence at the rate of its last probe, as the program does",
        {"estimator": dict(PROGRAM), "idle_restart": False},
    ),
}
"""What else may decide how much is lost: in words, and the scheme."""


class Run(NamedTuple):
    """One number of sources with one buffer."""

    sources: int
    buffer: int
    way: str = "text"
    """Of ``WAYS`` or ``SETPOINTS``."""


class Counted(NamedTuple):
    """What is kept of a run."""

    sources: int
    completion: float
    """TU until source 1 has finished."""
    losses: int
    """Of all sources."""
    losses_1: int
    """Of source 1."""
    retransmissions: int
    retransmissions_1: int
    timeouts: int
    peak: int
    """Packets of source 1 at the bottleneck after the others' start, the one in service included."""
    peak_at: float


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return (
        *base_parameters(),
        *sources("N - 1 others, N = 2 to 10"),
        Parameter(
            "what is counted",
            "losses, retransmissions and queue of source 1, over its completion time",
            "stated",
            "§9.2: 'we look at the number of losses suffered by source 1', 'per 1000 time units over the length of the simulation'",
        ),
    )


def sources(others: str) -> tuple[Parameter, ...]:
    """Who sends what."""
    return (
        Parameter("sources", f"1 from 0, {others} from {START:g} TU", "stated", "§9.2"),
        Parameter(
            "packets",
            f"{FIRST} of source 1, {OTHERS} of each other",
            "inferred",
            "not printed: completion grows by about 530 TU per source, and is 2761 TU with one other; Fig. 17's others send 500",
        ),
    )


def scenario(run: Run, **fields: Any) -> Scenario:
    """One run."""
    sources = [Source(FIRST, 0), *[Source(OTHERS, START)] * (run.sources - 1)]
    record = watched(packets=True, links=logged(), state=False, flows="none", bin_tu=1000.0)
    name = f"{run.sources - 1} sources start at once"
    settings: dict[str, Any] = {"scheme": packet_pair(**_way(run.way)), "record": record, "name": name, **fields}
    return base(sources, END, buffer=run.buffer, **settings)


def simulate(run: Run) -> Counted:
    """One run."""
    result = scenario(run).run()
    first = result.flows.filter(pl.col("flow") == "1").row(0, named=True)
    drops = result.packets.filter(pl.col("event") == "dropped")
    queue = own_queue(result).between(START, END)
    at = int(queue.values.argmax())
    return Counted(
        sources=run.sources,
        completion=float("nan") if first["finished"] is None else first["finished"] / TU,
        losses=drops.height,
        losses_1=drops.filter(pl.col("flow") == "1").height,
        retransmissions=int(result.flows["retransmitted_packets"].sum()),
        retransmissions_1=int(first["retransmitted_packets"]),
        timeouts=int(result.flows["timeouts"].sum()),
        peak=int(queue.values[at]),
        peak_at=float(queue.times[at]),
    )


def measure(lab: Lab) -> Outcome:
    """Every N once each way: nothing in it is random."""
    data = all_ways(lab, BUFFER).with_columns(
        pl.Series("published_completion", COMPLETION),
        pl.Series("published_loss_rate", LOSS_RATE),
        pl.Series("published_peak", PEAK),
    )
    others = lab.map(simulate, [Run(number, BUFFER, way) for way in SETPOINTS for number in NUMBERS])
    lost = {way: frame(others[9 * index : 9 * index + 9])["loss_rate"] for index, way in enumerate(SETPOINTS)}
    gaps = (data["completion"] / data["published_completion"] - 1.0).to_list()
    worst = max(gaps, key=abs)
    rising = bool((data["completion"].diff().drop_nulls() > 0).all())
    quiet = int(data.filter(pl.col("sources") <= 4)["losses"].sum())
    even = (data["losses_1"] == data["retransmissions_1"]).all() and (data["losses"] == data["retransmissions"]).all()
    everybody = ", ".join(f"{1000 * row['losses'] / row['completion']:.1f}" for row in data.iter_rows(named=True))
    return Outcome(
        measured={
            "loss_rate": by_number(data, "loss_rate"),
            "retransmission_rate": by_number(data, "retransmission_rate"),
            "completion_tu": by_number(data, "completion"),
            "peak": by_number(data, "peak"),
        },
        checks=(
            Check(
                "retransmissions equal losses at every N",
                f"{data['retransmissions_1'].to_list()} and {data['losses_1'].to_list()}",
                "equal, of source 1 and of all sources",
                bool(even),
            ),
            Check("no loss for N ≤ 4", f"{quiet} packets", "0", quiet == 0),
            Check("completion rises with N", listed(data["completion"]), "rising", rising),
            Check(
                "completion is the paper's",
                f"largest gap {100 * worst:+.1f} %",
                f"within {100 * TOLERANCE:.0f} %",
                abs(worst) <= TOLERANCE,
            ),
        ),
        data=data,
        units=UNITS,
        why=_why(data, lost),
        scenario=scenario(Run(10, BUFFER)).to_toml(),
        notes=(
            f"Losses begin at the same N as the paper's. Of all sources together they are {everybody} per 1000 TU.",
            "The paper's peaks are of the first build-up (phase 2) for most N and of the second (phase 4) for N = 2 and 7 (§9.2); "
            "ours are of the second throughout, since in phase 3 the source is not still for long: see fig-19. With the estimator "
            f"of the appendix's program it is, and peaks are {listed(data['program_peak'])} for N = 2 to 10: within 3 packets of "
            f"the paper's for N = 3 to 6. With our limit of a round trip on top they are {listed(data['limited_peak'])}.",
        ),
    )


def all_ways(lab: Lab, buffer: int) -> pl.DataFrame:
    """Every N each way: the text's as :func:`frame` has it, the others' columns beside, named after them."""
    counted = lab.map(simulate, [Run(number, buffer, way) for way in WAYS for number in NUMBERS])
    frames = [frame(counted[index * len(NUMBERS) :][: len(NUMBERS)]) for index in range(len(WAYS))]
    named = [
        found[column].alias(f"{way}_{column}")
        for way, found in list(zip(WAYS, frames, strict=True))[1:]
        for column in ("completion", "loss_rate", "peak")
    ]
    return frames[0].with_columns(named)


def _way(name: str) -> Mapping[str, Any]:
    return WAYS[name] if name in WAYS else SETPOINTS[name][1]


def _why(data: pl.DataFrame, lost: Mapping[str, pl.Series]) -> str:
    rows = data.filter(pl.col("published_loss_rate") > 0)
    gaps = {
        f"N = {row['sources']}": f"{100 * (row['loss_rate'] / row['published_loss_rate'] - 1):+.0f} %"
        for row in rows.iter_rows(named=True)
    }
    return (
        "The ledger does not judge how much is lost, and that is off: "
        + ", ".join(f"{name} {gap}" for name, gap in gaps.items())
        + " of the printed losses. Losses per 1000 TU for N = 2 to 10 are "
        + "; ".join(f"{_row(found)} with {SETPOINTS[way][0]}" for way, found in lost.items())
        + f"; {rates(data, 'program_loss_rate')} with the program's estimator, and {rates(data, 'limited_loss_rate')} with that "
        "and our limit. Chance is not the reason: with the others' starts spread over a round trip, twelve times anew, "
        "source 1 loses 1.1 "
        "to 1.3, 1.2 to 2.0, 1.3 to 2.5, 2.0 to 3.8, 4.1 to 4.9 and 5.0 to 6.7 for N = 5 to 10. Where the source goes on after a "
        "silence, losses jump at N = 8 as the printed ones do, and to more: in phase 3 the program keeps source 1 silent for "
        "several hundred TU, its last probes were made alone, and for a round trip it then sends at the full rate into a full "
        "buffer. Here the rate rises from rest after such a silence (`idle_restart`). The printed losses may be these, though "
        "§9.2 has almost a whole window lost at 1000 TU and these are lost between 1600 and 2200. The others come from probing: "
        "a gentler or fixed setpoint loses almost nothing, and cutting it for every lost packet loses less, not more. Open are "
        "the printed figure for N = 7 and the fall from N = 9 to 10, while more sources share the same buffer."
    )


def rates(data: pl.DataFrame, column: str) -> str:
    """Rates one after the other."""
    return _row(data[column])


def _row(values: pl.Series) -> str:
    return ", ".join(f"{value:.1f}" for value in values)


UNITS = {
    f"{whose}{column}": unit
    for whose in ("", "program_", "limited_", "published_")
    for column, unit in (("completion", "TU"), ("loss_rate", "packets/1000 TU"), ("peak", "packets"))
} | {"retransmission_rate": "packets/1000 TU", "peak_at": "TU"}


def listed(values: pl.Series) -> str:
    """Numbers one after the other."""
    return ", ".join(f"{value:.0f}" for value in values)


def frame(counted: Sequence[Counted]) -> pl.DataFrame:
    """The runs as a table, with source 1's rates per 1000 TU."""
    per = 1000.0 / pl.col("completion")
    return pl.DataFrame(counted, schema=Counted._fields, orient="row").with_columns(
        (pl.col("losses_1") * per).alias("loss_rate"), (pl.col("retransmissions_1") * per).alias("retransmission_rate")
    )


def by_number(data: pl.DataFrame, column: str) -> dict[str, float]:
    """A column by the number of sources."""
    return {f"{row['sources']}": round(float(row[column]), 2) for row in data.iter_rows(named=True)}


def draw(outcome: Outcome) -> Figure:
    """Completion times, loss rates and peaks over N."""
    from tailback.plot.style import figure, style

    with style():
        made, axes = figure(columns=3, width=7.6, height=3.5)
        pairs = (
            ("completion", "completion (TU)"),
            ("loss_rate", "lost (packets/1000 TU)"),
            ("peak", "peak queue (packets)"),
        )
        for axis, (column, label) in zip(axes, pairs, strict=True):
            against_published(axis, outcome.data, column, label)
        labels = axes[0].get_legend_handles_labels()
        made.legend(*labels, loc="outside upper center", ncols=2)
    return made


def against_published(axis: Axes, data: pl.DataFrame, column: str, label: str) -> None:
    """A column over N, with the text's estimator and the program's, and as published."""
    from tailback.plot.style import COLOURS, DASHES, MARKERS

    shown = (
        (column, "here, text's estimator"),
        (f"published_{column}", "published"),
        (f"program_{column}", "here, program's"),
        (f"limited_{column}", "program's, rates kept a round trip at most"),
    )
    for index, (name, title) in enumerate(shown):
        axis.plot(
            data["sources"],
            data[name],
            color=COLOURS[index],
            linestyle=DASHES[index],
            marker=MARKERS[index],
            label=title,
        )
    axis.set_xticks(NUMBERS[::2])
    axis.set_xlabel("sources N")
    axis.set_ylabel(label)
    axis.set_ylim(0, None)
