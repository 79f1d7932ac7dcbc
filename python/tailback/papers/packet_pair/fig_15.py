"""Figures 15 and 16: four sources probe their setpoints over a buffer of 100 packets. The base scenario is in
``scenes.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tailback.analysis import Interval, jain, mean_interval
from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.packet_pair.scenes import BOTTLENECK, TU, Source, base, base_parameters, packet_pair, watched
from tailback.papers.packet_pair.traces import numbers, published

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

SOURCES = 4
END = 6500.0
"""TU that are judged."""
SHOWN = 8000.0
"""TU that are simulated: what is lost before the end is retransmitted after it, and slower probing loses something too."""
GENTLER = 1.0
"""Packets: §9.1's other increase of the setpoint, with which each source is said to lose one packet."""
FAIR = 25.0
"""Packets: a source's share of the buffer."""
LATE = 10.0
"""TU: a tenth of a round trip, by which sources start late at most. Who loses when is a matter of chance."""
SEEDS = {"quick": 4, "full": 12}


class Run(NamedTuple):
    """One simulation."""

    seed: int
    increase: float | None = None
    """Packets by which the setpoint is increased, in place of Table 2's."""


class Traced(NamedTuple):
    """What is kept of a run, per source."""

    setpoints: list[list[float]]
    """At every TU."""
    losses: list[list[float]]
    """When they happened, in TU."""
    retransmissions: list[int]
    """Of packets lost before ``END``, and any others before it."""
    goodput: list[float]
    """Bytes from the first loss to ``END``."""
    numbers: list[list[float]]
    """Of the packets sent, at every TU."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *base_parameters(),
        Parameter("sources", f"{SOURCES}, from 0, without end", "stated", "§9.1"),
        Parameter(
            "runs",
            f"{SEEDS[fidelity]}, with sources up to {LATE:g} TU late",
            "inferred",
            "not printed; which source loses how much is chance, so means over runs are judged",
        ),
        Parameter("setpoint probing", "+2 every 2 round trips, × 0.75 at a loss", "stated", "§9.1"),
        Parameter(
            "duration",
            f"{END:g} TU",
            "inferred",
            "not printed: by then four sources in five have lost the paper's 3 to 6 packets; losses over time are drawn",
        ),
    )


def scenario(run: Run) -> Scenario:
    """The base scenario with four sources, with Table 2's increase of the setpoint or another."""
    probed = {} if run.increase is None else {"setpoint": {"name": "probed", "increase": run.increase}}
    made = base(
        [Source(None, 0)] * SOURCES,
        SHOWN,
        scheme=packet_pair(**probed),
        record=watched(packets=True),
        name="four sources probe their setpoints",
        seed=run.seed,
    )
    late = {"from": "0 ms", "to": f"{LATE:g} ms"}
    return made.replace(**{f"flows[{index}].start": late for index in range(SOURCES)})


def simulate(run: Run) -> Traced:
    """One run."""
    result = scenario(run).run()
    grid = np.arange(1.0, SHOWN, 1.0)
    names = [f"{index + 1}" for index in range(SOURCES)]
    judged = pl.col("time") < END * TU
    drops = result.packets.filter((pl.col("event") == "dropped") & (pl.col("link") == BOTTLENECK))
    again = result.packets.filter((pl.col("event") == "sent") & pl.col("retransmitted"))
    settled = (pl.col("time") > drops["time"].min()) & judged

    def repaired(own: pl.Expr) -> int:
        lost = drops.filter(own & judged)["number"]
        return again.filter(own & (judged | pl.col("number").is_in(lost.implode()))).height

    return Traced(
        setpoints=[published(result, "setpoint", index + 1).at(grid).tolist() for index in range(SOURCES)],
        losses=[(drops.filter(pl.col("flow") == name)["time"] / TU).to_list() for name in names],
        retransmissions=[repaired(pl.col("flow") == name) for name in names],
        goodput=[
            float(result.flow_series.filter(settled & (pl.col("flow") == name))["received_bytes"].sum())
            for name in names
        ],
        numbers=[numbers(result, index + 1)[0].at(grid).tolist() for index in range(SOURCES)],
    )


class Judged(NamedTuple):
    """What a run shows from its first loss to ``END``."""

    means: list[float]
    """Of the setpoints, per source."""
    least: float
    most: float
    losses: list[int]
    """Per source."""
    fairness: float


def judge(run: Traced) -> Judged:
    """One run's figures."""
    time = np.arange(1.0, SHOWN, 1.0)
    settled = (time >= _first(run)) & (time < END)
    setpoints = [np.array(values)[settled] for values in run.setpoints]
    return Judged(
        means=[float(values.mean()) for values in setpoints],
        least=min(float(values.min()) for values in setpoints),
        most=max(float(values.max()) for values in setpoints),
        losses=[sum(at < END for at in own) for own in run.losses],
        fairness=jain(np.array(run.goodput)),
    )


def measure(lab: Lab) -> Outcome:
    """Several runs, and one with the gentler increase; the first is drawn."""
    seeds = range(1, SEEDS[lab.fidelity] + 1)
    *runs, gentle = lab.map(simulate, [*map(Run, seeds), Run(1, GENTLER)])
    found = [judge(run) for run in runs]
    means, losses, again = (
        _by_source([each.means for each in found]),
        _by_source([each.losses for each in found]),
        _by_source([run.retransmissions for run in runs]),
    )
    fairness = min(each.fairness for each in found)
    alike = all(run.retransmissions == each.losses for run, each in zip(runs, found, strict=True))
    return Outcome(
        measured={
            "setpoint_mean": [round(each.mean, 2) for each in means],
            "losses": [round(each.mean, 2) for each in losses],
            "retransmissions": [round(each.mean, 2) for each in again],
            "rate_jain": round(fairness, 5),
        },
        checks=(
            _oscillate(means, found),
            _few(losses, found),
            Check(
                "each loss is repaired by a single retransmission",
                f"{', '.join(f'{each.mean:.3g}' for each in again)} per source",
                "as many as losses, in every run",
                alike,
            ),
            Check("rates are fair", f"Jain at least {fairness:.4f}", "at least 0.99 in every run", fairness >= 0.99),
        ),
        data=_over_time(runs[0], gentle),
        units={"time": "TU"}
        | {f"{column}_{index + 1}": "packets" for column in ("setpoint", "number") for index in range(SOURCES)},
        why="",
        scenario=scenario(Run(1)).to_toml(),
        notes=_notes(runs, gentle),
    )


def _by_source(runs: Sequence[Sequence[float]]) -> list[Interval]:
    """Each source's mean over runs."""
    return [mean_interval([run[index] for run in runs]) for index in range(SOURCES)]


def _oscillate(means: Sequence[Interval], found: Sequence[Judged]) -> Check:
    swings = sum(each.least < FAIR < each.most for each in found)
    return Check(
        "setpoints oscillate around the fair share of 25",
        f"means {', '.join(map(str, means))}; to both sides of it in {swings} of {len(found)} runs",
        "means within 15 to 30, above and below 25 in turn in every run",
        all(15 <= each.mean <= 30 for each in means) and swings == len(found),
    )


def _few(losses: Sequence[Interval], found: Sequence[Judged]) -> Check:
    lost = [count for each in found for count in each.losses]
    return Check(
        "few losses",
        f"{', '.join(map(str, losses))} packets per source; from {min(lost)} to {max(lost)} in single runs",
        "1 to 8 of every source in every run",
        all(1 <= count <= 8 for count in lost),
    )


def _over_time(run: Traced, gentle: Traced) -> pl.DataFrame:
    """What is drawn, at every TU: setpoints and numbers of one run, and all losses so far with both increases."""
    time = np.arange(1.0, SHOWN, 1.0)
    columns = {"time": time} | {f"setpoint_{index + 1}": values for index, values in enumerate(run.setpoints)}
    columns |= {f"number_{index + 1}": values for index, values in enumerate(run.numbers)}
    for name, traced in (("losses", run), ("losses_gentler", gentle)):
        columns[name] = np.searchsorted(np.sort(np.concatenate(traced.losses)), time, side="right")
    return pl.DataFrame(columns)


def _notes(runs: Sequence[Traced], gentle: Traced) -> tuple[str, str]:
    later = mean_interval([len(own) for run in runs for own in run.losses])
    return (
        f"Judged from the first loss, at {_first(runs[0]):.0f} TU in the run that is drawn, to {END:g} TU. How many losses "
        f"there are is a matter of the run's length, which is not printed: {later} per source by {SHOWN:g} TU. That length is "
        "inferred from the paper's 3 to 6 losses, so their number is no evidence of its own. A source whose "
        "queue stays the longest until it hears of its first loss loses several at a time.",
        f"With +{GENTLER:g} every 2 round trips, where the paper has one loss each, the climb to 25 alone takes "
        f"{_first(gentle):.0f} TU, since the round trip grows with the queue; by {SHOWN:g} TU the sources lose "
        f"{[len(own) for own in gentle.losses]} packets.",
    )


def _first(run: Traced) -> float:
    """TU: when the first packet was lost; not all sources need lose one."""
    return min(at for own in run.losses for at in own)


def draw(outcome: Outcome) -> Figure:
    """Fig. 15: the setpoints over time; Fig. 16: the numbers sent; and all losses so far, with both increases."""
    from tailback.plot.style import COLOURS, DASHES, figure, style

    data = outcome.data
    with style():
        made, (axis, sent, lost) = figure(rows=3, height=7.0, sharex=True)
        for index in range(SOURCES):
            axis.plot(
                data["time"] / 100,
                data[f"setpoint_{index + 1}"],
                color=COLOURS[index],
                linestyle=DASHES[index],
                label=f"source {index + 1}",
            )
            sent.plot(
                data["time"] / 100,
                data[f"number_{index + 1}"],
                color=COLOURS[index],
                linestyle=DASHES[index],
                linewidth=0.9,
            )
        sent.set_ylabel("number sent (packets)")
        axis.axhline(FAIR, linewidth=0.8, color="0.5")
        axis.set_ylabel("setpoint (packets)")
        axis.set_ylim(0, None)
        axis.legend(loc="lower right", ncols=2)
        for index, (column, label) in enumerate((("losses", "+2"), ("losses_gentler", f"+{GENTLER:g}"))):
            lost.plot(
                data["time"] / 100, data[column], color=COLOURS[index], linestyle=DASHES[index],
                drawstyle="steps-post", label=f"{label} every 2 round trips",
            )  # fmt: skip
        lost.set_ylabel("losses so far, of all")
        lost.legend(loc="upper left")
        for each in (axis, sent, lost):
            each.axvline(END / 100, linewidth=0.7, color="0.6", linestyle=(0, (2, 2)))
        lost.set_xlabel("time (round trips of 100 TU)")
    return made
