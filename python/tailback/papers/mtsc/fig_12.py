"""Figure 12 of Tuan and Park: the inverse schedule with perfect and with on-line prediction, and the control without SAC."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter
from tailback.papers.mtsc import sac
from tailback.papers.mtsc.drawing import curves
from tailback.papers.mtsc.network import Measured, Run, scenario, scheme_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.analysis import Interval
    from tailback.papers.lab import Lab

SHAPES = (1.05, 1.95)
STRATEGIES = ("perfect", "on-line", "generic")


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    told = (
        "what the clients put through the bottleneck in a run with the control without SAC and the same random streams"
    )
    return sac.parameters(
        fidelity,
        Parameter("perfect prediction", told, "inferred", "§4.3.2: “perfect knowledge of future aggregate traffic”"),
    )


class Shape(NamedTuple):
    """What the strategies and the thresholds got at one shape."""

    alpha: float
    runs: Mapping[str, Measured]
    """By strategy."""
    steps: Sequence[Measured]
    """By threshold."""
    several: Mapping[str, Sequence[Measured]]
    """By strategy, several runs. The first of each is the one above."""

    @property
    def totals(self) -> dict[str, float]:
        """kB/s by strategy."""
        return {name: run.total for name, run in self.runs.items()}

    @property
    def means(self) -> dict[str, float]:
        """kB/s by strategy, of several runs."""
        return {name: float(np.mean([run.total for run in each])) for name, each in self.several.items()}

    @property
    def leads(self) -> tuple[Interval, ...]:
        """What each strategy gains over the next."""
        return tuple(sac.gain(self.runs[ours], self.runs[base]) for ours, base in pairwise(STRATEGIES))

    @property
    def mean_leads(self) -> tuple[Interval, ...]:
        """The same of several runs."""
        return tuple(
            sac.mean_gain(list(zip(self.several[ours], self.several[base], strict=True)))
            for ours, base in pairwise(STRATEGIES)
        )

    @property
    def top(self) -> float:
        """What the best threshold got, in kB/s."""
        return max(run.total for run in self.steps)


def measure(lab: Lab) -> Outcome:
    """Three strategies and eight thresholds at both shapes."""
    shapes = [_at(lab, alpha) for alpha in SHAPES]
    checks = [
        *(_in_order(shape.alpha, shape.totals, shape.leads) for shape in shapes),
        _beside_the_best(next(one for one in shapes if one.alpha == 1.05)),
    ]
    data = pl.DataFrame([row for shape in shapes for row in _rows(shape)], schema_overrides={"theta": pl.Int64})
    return Outcome(
        measured={
            "throughput_kBps": {shape.alpha: shape.totals for shape in shapes},
            "ci95": {
                shape.alpha: {name: sac.interval(shape.runs[name]).half_width for name in STRATEGIES}
                for shape in shapes
            },
            "threshold_peak_kBps": {shape.alpha: shape.top for shape in shapes},
        },
        checks=checks,
        data=data,
        units={},
        why=sac.why(
            checks,
            "Knowing the future of the aggregate adds almost nothing to learning on line. Between expectations of 3 "
            "and 6 the inverse schedule moves only between 1/3 and 1/6, and nearly all of the gain comes from a "
            "larger increase.",
        ),
        changed=ChangedTest(
            tuple(_in_order(shape.alpha, shape.means, shape.mean_leads) for shape in shapes), sac.SEVERAL
        ),
        scenario=scenario(Run(sac.setting(lab.fidelity, 1.05), 0.05, scheme_of(sac.inverse()))).to_toml(),
    )


def _at(lab: Lab, alpha: float) -> Shape:
    place = sac.setting(lab.fidelity, alpha)
    steps = sac.measured(lab, [(place, sac.threshold(theta), 1) for theta in sac.THRESHOLDS])
    (both,) = sac.pairs(lab, [place], sac.inverse(), sac.generic())
    online, generic = zip(*both, strict=True)
    perfect = sac.all_told(lab, place, sac.inverse(), generic)
    several = dict(zip(STRATEGIES, (perfect, online, generic), strict=True))
    return Shape(alpha, {name: runs[0] for name, runs in several.items()}, steps, several)


def _rows(shape: Shape) -> Iterator[dict[str, object]]:
    told: list[tuple[str, int | None, Measured]] = [(name, None, run) for name, run in shape.runs.items()]
    told += [("threshold", theta, run) for theta, run in zip(sac.THRESHOLDS, shape.steps, strict=True)]
    for strategy, theta, run in told:
        yield {
            "alpha": shape.alpha,
            "strategy": strategy,
            "theta": theta,
            "throughput_kBps": run.total,
            "ci95": sac.interval(run).half_width,
        }


def _in_order(alpha: float, totals: Mapping[str, float], leads: Sequence[Interval]) -> Check:
    said = sac.said([totals[name] for name in STRATEGIES])
    steps_up = ", ".join(sac.percent(each, sign="+") for each in leads)
    return Check(
        f"shape {alpha:g}: perfect above on-line above generic",
        f"{said} kB/s; {steps_up}",
        "in this order",
        all(each.mean > 0.0 for each in leads),
    )


def _beside_the_best(shape: Shape) -> Check:
    perfect = shape.totals["perfect"]
    return Check(
        f"shape {shape.alpha:g}: perfect beside the best threshold",
        f"{perfect:.0f} and {shape.top:.0f} kB/s",
        "at least as much",
        perfect >= shape.top,
    )


def draw(outcome: Outcome) -> Figure:
    """The threshold's curves with the strategies' levels at shape 1.05."""
    part = outcome.data.filter(pl.col("alpha") == 1.05)
    steps = part.filter(pl.col("strategy") == "threshold").with_columns(pl.lit("threshold, α = 1.05").alias("of"))
    lines = {name: float(part.filter(pl.col("strategy") == name)["throughput_kBps"][0]) for name in STRATEGIES}
    return curves(
        steps, "theta", "throughput_kBps", "of", x_label="threshold $\\theta$", y_label="throughput (kB/s)", lines=lines
    )
