"""What the tables of completion times have in common: one row per connection, a bar chart of ours beside the paper's, and the
transfer among cross streams that two of them are about. Networks are in ``benchmarks.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from tailback.papers.item import Check, Outcome, Parameter
from tailback.papers.packet_pair.benchmarks import (
    CROSS,
    PRIMARY,
    completion,
    cross_streams,
    flooded,
    losses,
    optimal,
    optimum_check,
    parameters,
    shared,
    slowdown,
    slowdown_check,
    transfer,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.results import Result
    from tailback.scenario import Scenario

UNITS = {
    "optimal": "ms",
    "completion": "ms",
    "published": "ms",
    "slowdown": "fraction",
    "published_slowdown": "fraction",
    "flooded": "ms",
}


class Row(NamedTuple):
    """One transfer, in milliseconds."""

    label: str
    optimal: float
    completion: float
    published_optimal: float
    published: float
    retransmissions: int = 0
    losses: int = 0
    timeouts: int = 0
    flooded: float | None = None
    """The optimum as simulated, where it is."""


def run(
    scenario: Scenario, label: str, optimal: float, published_optimal: float, published: float, *, flow: str = "1"
) -> Row:
    """One scenario's one transfer that counts."""
    simulated = completion(flooded(scenario).run(), flow)
    found = row(scenario.run(), label, optimal, published_optimal, published, flow=flow)
    return found._replace(flooded=simulated)


class Crossing(NamedTuple):
    """Connection 1 among ten cross streams: benchmarks 1 and 2, which differ by these."""

    name: str
    section: str
    spacing: float
    """Milliseconds between the starts of cross streams."""
    published: float
    """Milliseconds."""

    def parameters(self) -> tuple[Parameter, ...]:
        """Every parameter of the set-up."""
        cross = f"10 × 500 kB, from 100 ms, {self.spacing:g} ms apart"
        return parameters(Parameter("cross traffic", cross, "stated", self.section))

    def scenario(self) -> Scenario:
        """The network."""
        return shared([transfer("1", PRIMARY), *cross_streams(self.spacing)], name=self.name)

    def simulate(self) -> Row:
        """One run: nothing in it is random."""
        best = optimal(PRIMARY + 10 * CROSS)
        return run(self.scenario(), "connection 1", best, 1444.0, self.published)


def row(
    result: Result, label: str, optimal: float, published_optimal: float, published: float, *, flow: str = "1"
) -> Row:
    """One transfer of a run."""
    found = result.flows.filter(pl.col("flow") == flow).row(0, named=True)
    return Row(
        label,
        optimal,
        completion(result, flow),
        published_optimal,
        published,
        int(found["retransmitted_packets"]),
        losses(result),
        int(result.flows["timeouts"].sum()),
    )


def table(rows: Sequence[Row]) -> pl.DataFrame:
    """The rows with their slowdowns."""
    return pl.DataFrame(rows, schema=Row._fields, orient="row").with_columns(
        (pl.col("completion") / pl.col("optimal") - 1.0).alias("slowdown"),
        (pl.col("published") / pl.col("published_optimal") - 1.0).alias("published_slowdown"),
    )


def judged(rows: Sequence[Row], limit: float, *, scenario: str) -> Outcome:
    """The outcome of a benchmark whose claim is an upper limit of the slowdown."""
    checks = optimum_checks(rows)
    several = len(rows) > 1
    for row in rows:
        what = f"slowdown of {row.label}" if several else "slowdown"
        checks.append(slowdown_check(what, slowdown(row.completion, row.optimal), limit))
    return outcome(rows, checks, measured(rows), scenario=scenario)


def optimum_checks(rows: Sequence[Row]) -> list[Check]:
    """A check of the optimum for the rows that have simulated it."""
    known = [row for row in rows if row.flooded is not None]
    found = [row.flooded for row in known if row.flooded is not None]
    return [optimum_check(found, [row.published_optimal for row in known])] if known else []


def measured(rows: Sequence[Row]) -> dict[str, Any]:
    """The ledger's keys; lists where there are several connections."""
    keys: dict[str, list[float]] = {
        "optimal_ms": [row.optimal for row in rows],
        "completion_ms": [round(row.completion, 2) for row in rows],
        "slowdown": [round(slowdown(row.completion, row.optimal), 4) for row in rows],
    }
    if len(rows) == 1:
        return {key: values[0] for key, values in keys.items()}
    return dict(keys)


def outcome(
    rows: Sequence[Row],
    checks: Sequence[Check],
    found: Mapping[str, Any],
    *,
    scenario: str,
    notes: Sequence[str] = (),
    why: str = "",
) -> Outcome:
    """An outcome with the rows as its data."""
    return Outcome(
        measured=found,
        checks=checks,
        data=table(rows),
        units=UNITS,
        why=why,
        scenario=scenario,
        notes=notes,
    )


def bars(made: Outcome, optimal: str = "optimal") -> Figure:
    """Optimum, or what else is called so, ours and the paper's, side by side."""
    from tailback.plot.style import COLOURS, figure, style

    data = made.data
    with style():
        drawn, (axis,) = figure(height=0.9 + 0.75 * data.height)
        kinds = (("optimal", optimal), ("completion", "here"), ("published", "published"))
        for index, (column, label) in enumerate(kinds):
            places = [row + 0.27 * (index - 1) for row in range(data.height)]
            found = axis.barh(places, data[column], height=0.25, color=COLOURS[index], label=label)
            axis.bar_label(found, fmt="%.0f", padding=3, fontsize=8)
        axis.set_yticks(range(data.height), labels=data["label"])
        axis.set_xlabel("completion time (ms)")
        axis.set_xlim(0, 1.15 * max(*data["completion"].to_list(), *data["published"].to_list()))
        axis.invert_yaxis()
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return drawn
