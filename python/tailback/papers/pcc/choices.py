"""What Widmer, Mauve and Damm do not print, chosen otherwise, several choices at a time: Figure 5 under a grid of them, and
one other set of them under which items are judged beside their own. What the items themselves take is in ``scenes.py``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

from tailback.analysis import mean_interval
from tailback.papers.item import ChangedTest, Check, Outcome
from tailback.papers.lab import ChangedLab, Lab
from tailback.papers.pcc import scenes
from tailback.papers.pcc.scenes import Run, Seen

if TYPE_CHECKING:
    from tailback.analysis import Interval

PLACE = ("rtt", "packet", "spread", "send_jitter")
"""What of the network is chosen."""


class Choices(NamedTuple):
    """One set; what stands here is what the items take."""

    rtt: float = 100
    packet: float = scenes.PACKET
    spread: float = 0
    send_jitter: float = 1
    intervals: int = 8
    """How many loss intervals are averaged."""
    evaluation: float = 0
    """Seconds between evaluations of p; 0 for once per round trip."""

    def of(self, run: Run) -> Run:
        """A run with these choices, except where it has chosen for itself."""
        usual = Run._field_defaults
        place = {name: getattr(self, name) for name in PLACE if getattr(run, name) == usual[name]}
        return run._replace(options=tuple({**self._options(), **dict(run.options)}.items()), **place)

    def _options(self) -> dict[str, Any]:
        usual = Choices()
        options: dict[str, Any] = {}
        if self.intervals != usual.intervals:
            options["loss_intervals"] = (("intervals", self.intervals),)
        if self.evaluation != usual.evaluation:
            options["evaluation_interval"] = f"{self.evaluation:g} s"
        return options


OTHER = Choices(rtt=200, send_jitter=4)
"""The set by which items are judged a second time."""
SAID = "round trips of 200 ms, and random delays of TCP's sending of up to four packets' transmissions in place of one"


def otherwise(lab: Lab, choices: Choices) -> ChangedLab:
    """A lab that makes another one's runs with other choices."""
    return ChangedLab(lab, lambda argument: choices.of(argument) if isinstance(argument, Run) else argument)


def judged_too(measure: Callable[[Lab], Outcome]) -> Callable[[Lab], Outcome]:
    """An item that is judged under the other choices too; not in quick runs, whose number would double."""

    @wraps(measure)
    def both(lab: Lab) -> Outcome:
        outcome = measure(lab)
        if not lab.full:
            return outcome
        return replace(outcome, changed=changed(measure(otherwise(lab, OTHER)).checks))

    return both


def changed(checks: Iterable[Check]) -> ChangedTest:
    """Tests of the ledger on runs that have the other choices."""
    return ChangedTest(
        tuple(Check(f"other choices: {each.claim}", each.measured, each.allowed, each.holds) for each in checks),
        f"The same tests with {SAID}; the paper prints neither.",
    )


# ── the grid ──

ROUND_TRIPS = (
    ("50 ms", Choices(rtt=50)),
    ("100 ms", Choices()),
    ("200 ms", Choices(rtt=200)),
    ("80 to 120 ms", Choices(spread=0.2)),
    ("50 ms, packets of 500 B", Choices(rtt=50, packet=500)),
    ("150 ms, packets of 1500 B", Choices(rtt=150, packet=1500)),
)
DELAYS = (1, 4)
"""TCP's random delays at most, in transmissions of a packet."""
INTERVALS = (8, 16, 32, 64)
EVALUATIONS = (0, 5)
"""Seconds; the paper's flows follow within a few (§5.3, §5.6)."""
SECONDS = 400


class Cell(NamedTuple):
    """Figure 5 under one set of choices."""

    ratio: Interval
    """PCC over TCP, over runs."""
    on_off: float
    tcp_variation: float
    """Of TCP's throughput over flows."""

    @property
    def holds(self) -> bool:
        """By the ledger's tests of Figure 5."""
        return all(each.holds for each in figure_5(self.ratio, self.on_off))


def figure_5(ratio: Interval, on_off: float) -> tuple[Check, Check]:
    """The ledger's tests of Figure 5."""
    return (
        Check("PCC mean against TCP mean", f"{ratio}", "within 15 %", abs(ratio.mean - 1) <= 0.15),
        Check("on-off ratio", f"{on_off:.2f}", "1.5 to 2.7", 1.5 <= on_off <= 2.7),
    )


def seen_in_figure_5(seen: Sequence[Seen]) -> tuple[Interval, float]:
    """PCC over TCP, over runs, and time on over time off."""
    on = scenes.mean([scenes.mean(run.on) for run in seen])
    return mean_interval([scenes.mean(run.pcc) / scenes.mean(run.tcp) for run in seen]), on / (1 - on)


def measure(lab: Lab) -> dict[tuple[str, float, int, float], Cell]:
    """Figure 5 under all combinations: by round trip, TCP's delays, loss intervals, and time between evaluations."""
    sets = {
        (name, delay, intervals, evaluation): place._replace(
            send_jitter=delay, intervals=intervals, evaluation=evaluation
        )
        for (name, place), delay, intervals, evaluation in itertools.product(
            ROUND_TRIPS, DELAYS, INTERVALS, EVALUATIONS
        )
    }
    seeds = range(1, 4 if lab.full else 3)
    runs = [of.of(Run(seconds=SECONDS, seed=seed)) for of in sets.values() for seed in seeds]
    seen = iter(lab.once(scenes.simulate, runs))
    return {name: _cell([next(seen) for _ in seeds]) for name in sets}


def _cell(seen: Sequence[Seen]) -> Cell:
    return Cell(*seen_in_figure_5(seen), scenes.mean([scenes.variation(one.tcp) for one in seen]))


def table(cells: dict[tuple[str, float, int, float], Cell]) -> str:
    """It in Markdown, and how many of the cells hold."""
    columns = [(intervals, evaluation) for intervals in INTERVALS for evaluation in EVALUATIONS]
    heads = [f"{n}, {f'{evaluation} s' if evaluation else 'RTT'}" for n, evaluation in columns]
    lines = [
        f"| round trip | TCP's delays | {' | '.join(heads)} | TCP's variation |",
        f"| --- | ---: | {' | '.join('---:' for _ in heads)} | ---: |",
    ]
    for (name, _), delay in itertools.product(ROUND_TRIPS, DELAYS):
        row = [cells[name, delay, *column] for column in columns]
        told = [_told(cell) for cell in row]
        lines.append(f"| {name} | {delay} | {' | '.join(told)} | {scenes.mean([c.tcp_variation for c in row]):.2f} |")
    apart = [
        scenes.mean([abs(cell.ratio.mean - 1) for name, cell in cells.items() if name[2:] == column])
        for column in columns
    ]
    lines.append(f"| distance from 1, mean of all rows | | {' | '.join(f'{each:.2f}' for each in apart)} | |")
    count = sum(cell.holds for cell in cells.values())
    return "\n".join([*lines, "", f"Figure 5 holds in {count} of {len(cells)} combinations."])


def _told(cell: Cell) -> str:
    ratio = f"{cell.ratio.mean:.2f} ± {cell.ratio.half_width:.2f}"
    return f"**{ratio}**" if cell.holds else ratio
