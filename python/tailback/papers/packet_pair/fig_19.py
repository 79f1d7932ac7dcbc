"""Figures 19 to 21: nine sources start at once beside one that has the bottleneck to itself: the phases of its trace. The
base scenario is in ``scenes.py``, the run is that of table 4 with N = 10."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter
from tailback.papers.packet_pair.scenes import BUFFER, TU, base_parameters, watched
from tailback.papers.packet_pair.table_4 import START, Run, scenario, sources
from tailback.papers.packet_pair.traces import (
    Steps,
    logged,
    numbers,
    own_queue,
    published,
    sending_rate,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.results import Result

RUN, PROGRAM_RUN = Run(10, BUFFER), Run(10, BUFFER, "program")
"""With the estimator of the text, and with that of the appendix's program, which the paper's figures were made with."""
ALONE, SHARED = 2.0, 5.0
"""TU: spacings up to the one are those of a source that believes itself alone, from the other on of one that does not."""
FAIR = 0.1
SOON = 300.0
"""TU after the news of the others."""


class Traced(NamedTuple):
    """What is kept of the run."""

    time: list[float]
    spacing: list[float]
    rate: list[float]
    queue: list[float]
    sent: list[float]
    acked: list[float]
    starts: list[float]
    """TU at which the phases 1 to 7 begin; not a number where one cannot be told apart."""
    peak_2: float
    peak_4: float
    rate_3: float
    """The least rate in phase 3."""
    still: float
    """TU between packets, at most, from the others' start to phase 5."""
    drained_3: float
    """The least queue within three round trips of the news."""
    rate_5: float
    """The mean rate in the second half of phase 5."""
    queue_5: float
    """The mean queue there."""
    drained_6: float
    """The least queue in phase 6 and 7."""
    rate_7: float
    """The highest rate in phase 7."""
    finished: float
    soft: int
    """Retransmissions of source 1 in phase 5."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return (
        *base_parameters(),
        *sources("nine others"),
        Parameter(
            "phases",
            "by source 1's spacings: 3 from the first of 5 TU, 4 from the next of 2 TU or less, 5 from where all are "
            "5 TU or more until a competitor finishes, 6 from the first shorter one after that, 7 from the first of 2 TU or less",
            "inferred",
            "the paper describes them in words",
        ),
        Parameter(
            "estimator of the changed test",
            "that of the appendix's program",
            "stated",
            "its listing; the paper's figures were made with it",
        ),
    )


def simulate(run: Run) -> Traced:
    """One run."""
    record = watched(packets=True, links=logged())
    result = scenario(run, record=record).run()
    queue, rate, spacing = own_queue(result), sending_rate(result), published(result, "spacing")
    data, acks = numbers(result)
    starts = phases(result, spacing)
    end = _finished(result, "1")
    grid = np.arange(1.0, end, 1.0)
    middle = 0.5 * (starts[4] + starts[5])
    is_data = pl.col("kind") == "data"
    left = result.packets.filter((pl.col("flow") == "1") & (pl.col("event") == "sent") & is_data)
    sent = left["time"].to_numpy() / TU
    again = sent[left["retransmitted"].to_numpy()]

    def highest(steps: Steps, begin: float, until: float) -> float:
        return float(np.nanmax(steps.between(begin, until).values))

    def lowest(steps: Steps, begin: float, until: float) -> float:
        return float(np.nanmin(steps.between(begin, until).values))

    return Traced(
        time=grid.tolist(),
        spacing=spacing.at(grid).tolist(),
        rate=rate.at(grid).tolist(),
        queue=queue.at(grid).tolist(),
        sent=data.at(grid).tolist(),
        acked=acks.at(grid).tolist(),
        starts=starts,
        peak_2=highest(queue, starts[1], starts[3]),
        peak_4=highest(queue, starts[3], starts[5]),
        rate_3=lowest(rate, starts[2], starts[3] + 1.0),
        still=float(np.diff(sent[(sent > START) & (sent < starts[4])]).max()),
        drained_3=lowest(queue, starts[2], starts[2] + SOON),
        rate_5=rate.mean(middle, starts[5]),
        queue_5=queue.mean(middle, starts[5]),
        drained_6=lowest(queue, starts[5], end),
        rate_7=highest(rate, starts[6], end),
        finished=end,
        soft=int(((again > starts[4]) & (again < starts[5])).sum()),
    )


def phases(result: Result, spacing: Steps) -> list[float]:
    """When the phases begin."""
    others = min(_finished(result, f"{index}") for index in range(2, RUN.sources + 1))
    nothing = float("nan")

    def first(condition: np.ndarray) -> float:
        where = np.flatnonzero(condition)
        return float(spacing.times[where[0]]) if len(where) else nothing

    time, value = spacing.times, spacing.values
    third = first((time > START) & (value >= SHARED))
    fourth = first((time > third) & (value <= ALONE))
    last_short = np.flatnonzero((time > fourth) & (time < others) & (value < SHARED))
    fifth = float(time[last_short[-1] + 1]) if len(last_short) else nothing
    sixth = first((time > others) & (value < 0.95 * RUN.sources))
    seventh = first((time > sixth) & (value <= ALONE))
    return [0.0, START, third, fourth, fifth, sixth, seventh]


def _finished(result: Result, flow: str) -> float:
    found = result.flows.filter(pl.col("flow") == flow)["finished"][0]
    return float("nan") if found is None else float(found) / TU


def measure(lab: Lab) -> Outcome:
    """Runs it once with each estimator: nothing in it is random. The text's is judged, as in every other item; the program's, which
    the paper's figures were made with, stands beside it."""
    text, program = lab.map(simulate, [RUN, PROGRAM_RUN])
    checks = _checks(text)
    rate = (
        "With the estimator of the text (§4.5), by which all items are judged, phase 3 cannot be told from the others as the paper "
        "has it. It carries its smoothed error on and takes the first long spacing for half a spike: the rate falls to "
        f"{text.rate_3:.2f}, where the paper has 'nearly zero', and recovers with the next pair, so the queue does not drain."
    )
    return Outcome(
        measured={
            "phase_start_tu": [round(value, 1) for value in text.starts],
            "peak_phase2": text.peak_2,
            "peak_phase4": text.peak_4,
        },
        checks=checks,
        data=pl.concat([_frame("text", text), _frame("program", program)]),
        units={
            "time": "TU",
            "spacing": "TU",
            "rate": "packets/TU",
            "queue": "packets",
            "sent": "packets",
            "acked": "packets",
        },
        why="" if all(check.holds for check in checks) else rate,
        scenario=scenario(RUN).to_toml(),
        notes=(
            "The paper's peaks for N = 10 are 41 packets in phase 2 and, with a large buffer, 86 in phase 4.",
            f"With the program's estimator the timer keeps the source still for {program.still:.0f} TU in phase 3, and source 1 "
            f"retransmits {program.soft} packets in phase 5 ({text.soft} with the text's), in the paper by soft time-outs. Phases "
            "8 and 9 do not occur, as in the paper.",
        ),
        changed=ChangedTest(
            _checks(program),
            "The same with the estimator of the appendix's program, with which the paper's figures were made: it believes the "
            "first long spacing, so that the rate falls to nearly zero and the queue drains. The text and the program differ in "
            "five points, and the ledger does not say which is meant.",
        ),
    )


def _checks(run: Traced) -> tuple[Check, ...]:
    ordered = all(a < b for a, b in pairwise(run.starts))
    shown = ", ".join(f"{value:.0f}" for value in run.starts)
    return (
        Check("phases 1 to 7 follow one another", f"from {shown} TU", "each found, in this order", ordered),
        Check("phase 2: the queue builds up unseen", f"to {run.peak_2:.0f} packets", "beyond 25", run.peak_2 > 25),
        Check("phase 3: the rate falls to nearly zero", f"to {run.rate_3:.3f}", "at most 0.05", run.rate_3 <= 0.05),
        Check("phase 3: the queue drains", f"to {run.drained_3:.0f} packets", "at most 2", run.drained_3 <= 2),
        Check("phase 4: a second build-up", f"to {run.peak_4:.0f} packets", "beyond 25", run.peak_4 > 25),
        Check("phase 5: the fair rate", f"{run.rate_5:.3f}", "0.1 ± 0.02", abs(run.rate_5 - FAIR) <= 0.2 * FAIR),
        Check(
            "phase 5: the queue at its fair share",
            f"{run.queue_5:.1f} packets",
            "10 ± 3",
            abs(run.queue_5 - 10) <= 3,
        ),
        Check("phase 6: the queue drains", f"to {run.drained_6:.0f} packets", "at most 2", run.drained_6 <= 2),
        Check("phase 7: the full rate again", f"{run.rate_7:.2f}", "at least 0.9", run.rate_7 >= 0.9),
    )


def _frame(estimator: str, run: Traced) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "estimator": estimator,
            "time": run.time,
            "spacing": run.spacing,
            "rate": run.rate,
            "queue": run.queue,
            "sent": run.sent,
            "acked": run.acked,
        }
    )


SHOWN = (("program", 1, "the program's estimator"), ("text", 0, "the text's"))
PANELS = (
    ("spacing", "spacing (TU)"),
    ("rate", "sending rate (packets/TU)"),
    ("queue", "queue (packets)"),
    ("sent", "number (packets)"),
)
CLOSER = (900.0, 2000.0)
"""TU of the panels on the right."""


def draw(outcome: Outcome) -> Figure:
    """Figs. 19 and 20: spacing, rate and queue, with the phases marked; Fig. 21: numbers sent, and acknowledged with the
    text's estimator; on the right, a closer look at phases 2 to 5."""
    from tailback.plot.style import COLOURS, DASHES, FAINT, figure, style

    starts: list[float] = outcome.measured["phase_start_tu"]
    with style():
        made, axes = figure(rows=4, columns=2, width=7.6, height=8.0, sharey="row")
        for index, axis in enumerate(axes):
            column, unit = PANELS[index // 2]
            close = index % 2 == 1
            for estimator, colour, label in SHOWN:
                part = outcome.data.filter(pl.col("estimator") == estimator)
                if close:
                    part = part.filter(pl.col("time").is_between(*CLOSER))
                axis.plot(
                    part["time"],
                    part[column],
                    color=COLOURS[colour],
                    linestyle=DASHES[colour],
                    linewidth=0.9,
                    label=label,
                )
            if column == "sent":
                part = outcome.data.filter(pl.col("estimator") == "text")
                part = part.filter(pl.col("time").is_between(*CLOSER)) if close else part
                axis.plot(part["time"], part["acked"], color=COLOURS[2], linestyle=DASHES[2], label="acknowledged")
            if column != "sent" or not close:
                axis.set_ylim(0, None)
            if not close:
                axis.set_ylabel(unit)
            for number, start in enumerate(starts, start=1):
                if close and not CLOSER[0] < start < CLOSER[1]:
                    continue
                axis.axvline(start, color=FAINT, linewidth=0.7, linestyle=(0, (2, 2)))
                # Phases too short for their numbers on the left have them on the right, where 3 and 4 share theirs.
                name = {3: "", 4: "3, 4"}.get(number, str(number))
                if index < 2 and (close or number in {1, 5, 6}):
                    axis.annotate(
                        "6, 7" if number == 6 else name,
                        (start, 1.0),
                        xycoords=("data", "axes fraction"),
                        xytext=(2, 2),
                        textcoords="offset points",
                        fontsize=8,
                    )
        axes[2].legend(loc="upper center")
        handles, labels = axes[6].get_legend_handles_labels()
        axes[6].legend(handles[-1:], labels[-1:], loc="upper left")
        for axis in axes[-2:]:
            axis.set_xlabel("time (TU)")
    return made
