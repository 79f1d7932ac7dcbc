"""A scenario in the simulator and with real packets, side by side: each figure's difference with its interval over replicates,
and whether the shares agree. Runs are made by ``tailback.run`` and ``run.py``; how a comparison is printed is decided elsewhere."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from tailback.analysis.confidence import Interval, difference_interval, mean_interval
from tailback.lab.hosts import MEASURED, Hosts, take_time
from tailback.lab.run import BUDGET, LabError, Setup, run
from tailback.lab.timing import can_be_told, hosts_of, with_log, without_log

if TYPE_CHECKING:
    from tailback.results import Result

BOUND: Final = 0.10
"""Shares agree within this part of the simulator's."""
WITHIN: Final = "within 10 %"
BEYOND: Final = "beyond 10 %"
UNSURE: Final = "not decided"
_FLOWS: Final = {"goodput": ("mean", "bit/s"), "share": ("sum", ""), "mean_rtt": ("mean", "s")}
_LINKS: Final = {
    "throughput": "bit/s",
    "utilization": "",
    "loss_rate": "",
    "mean_queue": "packets",
    "queueing_delay": "s",
}


@dataclass(frozen=True)
class Row:
    """One figure in both worlds."""

    of: str
    """The group of flows, or the link."""
    metric: str
    unit: str
    simulated: Interval
    measured: Interval
    difference: Interval
    """Measured less simulated (Welch)."""

    @property
    def relative(self) -> float:
        """The difference as a part of what was simulated; not a number where that is zero."""
        return self.difference.mean / self.simulated.mean if self.simulated.mean else math.nan

    @property
    def verdict(self) -> str:
        """Of shares: whether they agree, as far as the interval lets one say; empty for other figures."""
        if self.metric != "share":
            return ""
        # Of a share that is zero there is no part: nothing but zero is within it.
        bound = BOUND * self.simulated.mean
        off, width = abs(self.difference.mean), self.difference.half_width
        if off + width <= bound:
            return WITHIN
        return BEYOND if off - width > bound else UNSURE


@dataclass(frozen=True)
class Parity:
    """A comparison."""

    title: str
    kernel: dict[str, str]
    rows: list[Row]
    simulated: list[Result]
    measured: list[Result]
    """The runs that are compared: those that count, or all, where fewer than two do."""
    invalid: int
    """How many runs with real packets did not count."""
    hosts: Sequence[Hosts] = ()
    """What hosts took in each of the runs with real packets that are compared; empty where that was not asked for, or cannot be
    told."""

    @property
    def is_valid(self) -> bool:
        """Whether all that is compared counts."""
        return all(result.real["valid"] for result in self.measured)

    @property
    def verdict(self) -> str:
        """The worst of the shares' verdicts; how far off they are is in the rows."""
        found = {row.verdict for row in self.rows if row.verdict}
        return next(verdict for verdict in (BEYOND, UNSURE, WITHIN) if verdict in found)

    @property
    def worst(self) -> float:
        """The greatest relative difference of a share that is not zero in the simulator; not a number where all are."""
        off = [abs(row.relative) for row in self.rows if row.metric == "share" and row.simulated.mean]
        return max(off, default=math.nan)

    def table(self) -> pl.DataFrame:
        """All rows, one figure each, in base units."""
        return pl.DataFrame(
            [
                {
                    "of": row.of,
                    "metric": row.metric,
                    "unit": row.unit,
                    **_interval("simulated", row.simulated),
                    **_interval("measured", row.measured),
                    **_interval("difference", row.difference),
                    "relative": row.relative,
                    "verdict": row.verdict,
                }
                for row in self.rows
            ]
        )


def _interval(name: str, interval: Interval) -> dict[str, float]:
    return {name: interval.mean, f"{name}_half_width": interval.half_width}


def compare(
    setup: Setup,
    *,
    replicates: int = 3,
    more: int = 0,
    simulations: int = 10,
    hosts: Sequence[Hosts] | None = None,
    budget: str = BUDGET,
    progress: Callable[[float], object] | None = None,
) -> Parity:
    """Runs a scenario in both worlds, from the same seed on.

    Args:
        setup: the scenario.
        replicates: how many runs with real packets.
        more: so many further runs with real packets are made at most in place of those that do not count.
        simulations: how many simulated runs; they cost little, so that the difference's interval is that of the real runs.
        hosts: what hosts take from a packet's arrival to what they send because of it, in the simulator, which has no threads.
            Flows of equal packets lock in phase, and tens of microseconds decide how. Without, simulated hosts take what those
            of the runs with real packets took, by the router's log: each simulated run what one of them did. Where the log cannot
            tell (other topologies than dumbbells and parking lots, faster links than 66 Mbit/s, long runs), and of several
            that are given, those of the nearest rate; none where empty.
        budget: how late a run that counts may be.
        progress: called now and then with the part of the work that is done.

    Raises:
        LabError: where a flow is the kernel's and has no counterpart of ours.
    """
    unmatched = [name for name in setup.kernel.values() if dict(_known()).get(name) is None]
    if unmatched:
        raise LabError(f"kernel-{unmatched[0]} has no counterpart among Tailback's schemes; `tailback lab` can run it")
    is_own = hosts is None and can_be_told(setup)
    counted, late = _real_runs(setup, replicates, more, budget, is_own=is_own, progress=progress)
    measured = counted if len(counted) > 1 else [*counted, *late]
    own = [run.hosts for run in measured if run.hosts is not None]
    simulated = simulate(setup, simulations, own or (MEASURED if hosts is None else hosts), each=is_own)
    return replace(of_results(simulated, [run.result for run in measured], dict(setup.kernel), len(late)), hosts=own)


@dataclass(frozen=True)
class _Run:
    """A run with real packets."""

    result: Result
    hosts: Hosts | None


def _real_runs(
    setup: Setup, wanted: int, more: int, budget: str, *, is_own: bool, progress: Callable[[float], object] | None
) -> tuple[list[_Run], list[_Run]]:
    """Runs with real packets that count, and those that do not; with ``is_own`` also what their hosts took."""
    first = int(json.loads(setup.scenario)["seed"])
    counted: list[_Run] = []
    late: list[_Run] = []

    def tell(part: float) -> None:
        if progress is not None:
            progress((len(counted) + min(len(late), more) + part) / (wanted + more))

    while len(counted) < wanted and len(counted) + len(late) < wanted + more:
        made = run(with_log(setup) if is_own else setup, seed=first + len(counted), budget=budget, progress=tell)
        took = hosts_of(made, setup, MEASURED) if is_own else None
        (counted if made.real["valid"] else late).append(_Run(without_log(made, setup) if is_own else made, took))
    return counted, late


def simulate(setup: Setup, count: int, hosts: Sequence[Hosts] = MEASURED, *, each: bool = False) -> list[Result]:
    """The simulated side of a comparison: so many runs, from the scenario's seed on.

    ``hosts`` as in :func:`compare`; with ``each`` they are those of runs with real packets, and simulated runs take them in turn.
    """
    from tailback.run import run_text

    first = int(json.loads(setup.scenario)["seed"])
    texts = []
    for one in [[own] for own in hosts] if each else [hosts]:
        scenario = json.loads(setup.scenario)
        take_time(scenario, setup.kernel, one)
        texts.append(json.dumps(scenario))
    return [run_text(texts[index % len(texts)], first + index) for index in range(count)]


def of_results(simulated: Sequence[Result], measured: Sequence[Result], kernel: dict[str, str], late: int) -> Parity:
    """The comparison of runs that were made."""
    rows = of_figures(figures(simulated), figures(measured))
    return Parity(simulated[0].title, kernel, rows, list(simulated), list(measured), late)


@dataclass(frozen=True)
class Figure:
    """One figure in each of several runs of one world."""

    of: str
    """The group of flows, or the link."""
    metric: str
    unit: str
    values: list[float]


def figures(runs: Sequence[Result]) -> list[Figure]:
    """All figures that are compared, in each run."""
    link, found = runs[0].bottleneck, []
    for group in runs[0].flows["group"].unique(maintain_order=True):
        for metric, (how, unit) in _FLOWS.items():
            found.append(Figure(group, metric, unit, _of_flows(runs, group, link, metric, how)))
    for metric, unit in _LINKS.items():
        found.append(Figure(link, metric, unit, _of_link(runs, link, metric)))
    return found


def of_figures(simulated: Sequence[Figure], measured: Sequence[Figure]) -> list[Row]:
    """Each figure beside the same one of the other world."""
    rows = []
    for one, other in zip(simulated, measured, strict=True):
        if not np.isfinite([*one.values, *other.values]).all():
            continue  # Datagrams that nobody acknowledges have no round trip times.
        difference = difference_interval(other.values, one.values)
        intervals = (mean_interval(one.values), mean_interval(other.values), difference)
        rows.append(Row(one.of, one.metric, one.unit, *intervals))
    return rows


def _known() -> list[tuple[str, str | None]]:
    from tailback import _core

    return _core.kernel_schemes()


def _of_flows(runs: Sequence[Result], group: str, link: str, metric: str, how: str) -> list[float]:
    """A group's figure in each run; its share is that of the link's rate, by what arrived."""
    found = []
    for result in runs:
        flows = result.flows.filter(pl.col("group") == group)
        if metric == "share":
            rate = result.links.filter(pl.col("link") == link)["rate"].item()
            values = flows["throughput"] / rate
        else:
            values = flows[metric]
        whole = values.to_numpy().astype(float)
        known = whole[np.isfinite(whole)]
        found.append(float(known.sum() if how == "sum" else known.mean()) if known.size else math.nan)
    return found


def _of_link(runs: Sequence[Result], link: str, metric: str) -> list[float]:
    return [float(result.links.filter(pl.col("link") == link)[metric].item()) for result in runs]
