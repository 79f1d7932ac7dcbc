"""Figure 16 of Tuan and Park: how long a table must be trained, and what a wrong one costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.mtsc import sac
from tailback.papers.mtsc.drawing import curves
from tailback.papers.mtsc.network import Measured, Run, scenario, scheme_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

PARTS = (0.02, 0.05, 0.1, 0.25, 0.5)
"""Training times, as parts of a run: 200 to 5000 s of 10 000."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    times = ", ".join(f"{part * sac.seconds(fidelity):g}" for part in PARTS)
    return sac.parameters(
        fidelity,
        Parameter("training", f"{times} s", "inferred", "Fig. 16 (left) has no numbers"),
        Parameter("random table", "densities drawn from the flow's own stream", "inferred", "§4.3.4: “random”"),
    )


def measure(lab: Lab) -> Outcome:
    """Runs with tables frozen from the start: trained for a while, of another background, and random."""
    place, other = sac.setting(lab.fidelity, 1.05), sac.setting(lab.fidelity, 1.95)
    own, foreign = sac.measured(lab, [(place, sac.inverse(), 1), (other, sac.inverse(), 1)])
    trained = [own._replace(levels=own.levels[: max(int(part * len(own.levels)), 1)]) for part in PARTS]
    tables = [sac.table(run).counts.tolist() for run in (*trained, own, foreign)]
    known = [sac.inverse(predictor={"name": "table", "counts": counts}) for counts in tables]
    runs = sac.measured(lab, [(place, scheme, 1) for scheme in (*known, sac.inverse(predictor="random"))])
    *steps, last, alien, random = runs
    ordered = _ordered_after(own, place.seconds)
    checks = (_gained(steps[0], last), _beside_foreign(last, alien, random), _stays_ordered(ordered))
    times = [part * place.seconds for part in (*PARTS, 1.0)]
    return Outcome(
        measured={
            "throughput_kBps": dict(zip(times, [run.total for run in (*steps, last)], strict=True)),
            "throughput_alpha195_table": alien.total,
            "throughput_random_table": random.total,
            "ordered_after_s": ordered,
        },
        checks=checks,
        data=_table(dict(zip(times, (*steps, last), strict=True)), {"shape 1.95": alien, "random": random}),
        units={"training_s": "s"},
        why=sac.why(
            checks,
            "The schedule makes little use of the tables: expectations between 3 and 6 give an aggressiveness "
            "between 1/3 and 1/6. A table with equal rows gives their mean, which gains as much.",
        ),
        scenario=scenario(Run(place, 0.05, scheme_of(sac.inverse(predictor="random")))).to_toml(),
    )


def _gained(shortest: Measured, longest: Measured) -> Check:
    grown = sac.gain(longest, shortest)
    return Check(
        "gain from the shortest to the longest training",
        f"{100 * grown.mean:.1f} % ± {100 * grown.half_width:.1f}",
        "under 5 %",
        grown.mean < 0.05,
    )


def _beside_foreign(own: Measured, alien: Measured, random: Measured) -> Check:
    return Check(
        "own table beside the foreign ones",
        f"{own.total:.0f} kB/s; shape 1.95 {alien.total:.0f}, random {random.total:.0f}",
        "above both",
        own.total > alien.total and own.total > random.total,
    )


def _stays_ordered(since: float | None) -> Check:
    return Check(
        "E(L2 | L1) increases with L1 over populated levels and stays so",
        f"from {since:.0f} s on" if since is not None else "not at the end of the run",
        "from some time on",
        since is not None,
    )


def _table(trained: Mapping[float, Measured], foreign: Mapping[str, Measured]) -> pl.DataFrame:
    """Throughput by the seconds that the own table was trained, and with the tables that are not its own."""
    data = pl.DataFrame(
        [
            {"training_s": time, "throughput_kBps": run.total, "ci95": sac.interval(run).half_width}
            for time, run in trained.items()
        ]
    )
    lines = pl.DataFrame(
        [{"training_s": None, "of": name, "throughput_kBps": run.total} for name, run in foreign.items()]
    )
    return pl.concat([data, lines.cast({"training_s": pl.Float64})], how="diagonal")


def draw(outcome: Outcome) -> Figure:
    """Throughput over the training time."""
    steps = outcome.data.filter(pl.col("training_s").is_not_null()).with_columns(pl.lit("own table").alias("of"))
    lines = {
        str(name): float(value)
        for name, value in outcome.data.filter(pl.col("training_s").is_null())
        .select("of", "throughput_kBps")
        .iter_rows()
    }
    return curves(
        steps,
        "training_s",
        "throughput_kBps",
        "of",
        x_label="training (s)",
        y_label="throughput (kB/s)",
        lines=lines,
        log=True,
    )


def _ordered_after(run: Measured, seconds: float) -> float | None:
    """From which time on E(L2 | L1) increases with L1 over levels seen 20 times, up to the end of the run."""
    since = None
    for count in range(20, len(run.levels) + 1, 10):
        table = sac.table(run._replace(levels=run.levels[:count]))
        expected = table.expected[table.populated()].tolist()
        ordered = len(expected) > 1 and all(b > a for a, b in pairwise(expected))
        since = (since if since is not None else count / len(run.levels) * seconds) if ordered else None
    return since
