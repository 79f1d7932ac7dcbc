"""Figure 12 of Tuan and Park: the inverse schedule with perfect and with on-line prediction, and the control without SAC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.mtsc import sac
from tailback.papers.mtsc.drawing import curves
from tailback.papers.mtsc.network import Run, scenario, scheme_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def measure(lab: Lab) -> Outcome:
    """Three strategies and eight thresholds at both shapes."""
    values: dict[float, dict[str, float]] = {}
    leads, rows, tops = [], [], {}
    for shape in SHAPES:
        place = sac.setting(lab.fidelity, shape)
        online, generic, *steps = sac.measured(
            lab,
            [
                (place, sac.inverse(), 1),
                (place, sac.GENERIC, 1),
                *((place, sac.threshold(theta), 1) for theta in sac.THRESHOLDS),
            ],
        )
        runs = dict(zip(STRATEGIES, (sac.perfect(lab, place), online, generic), strict=True))
        values[shape] = {name: run.total for name, run in runs.items()}
        tops[shape] = max(run.total for run in steps)
        leads.append((shape, sac.gain(runs["perfect"], online), sac.gain(online, generic)))
        rows += [
            {
                "alpha": shape,
                "strategy": name,
                "theta": None,
                "throughput_kBps": run.total,
                "ci95": sac.interval(run).half_width,
            }
            for name, run in runs.items()
        ]
        rows += [
            {
                "alpha": shape,
                "strategy": "threshold",
                "theta": theta,
                "throughput_kBps": run.total,
                "ci95": sac.interval(run).half_width,
            }
            for theta, run in zip(sac.THRESHOLDS, steps, strict=True)
        ]
    checks = []
    for shape, first, second in leads:
        said = sac.said([values[shape][name] for name in STRATEGIES])
        steps_up = ", ".join(f"{100 * each.mean:+.1f} % ± {100 * each.half_width:.1f}" for each in (first, second))
        holds = first.mean > 0.0 and second.mean > 0.0
        checks.append(
            Check(
                f"shape {shape:g}: perfect above on-line above generic",
                f"{said} kB/s; {steps_up}",
                "in this order",
                holds,
            )
        )
    reached = values[1.05]["perfect"] >= tops[1.05]
    checks.append(
        Check(
            "shape 1.05: perfect beside the best threshold",
            f"{values[1.05]['perfect']:.0f} and {tops[1.05]:.0f} kB/s",
            "at least as much",
            reached,
        )
    )
    data = pl.DataFrame(rows, schema_overrides={"theta": pl.Int64})
    return Outcome(
        measured={
            "throughput_kBps": values,
            "ci95": {
                shape: {
                    name: data.filter((pl.col("alpha") == shape) & (pl.col("strategy") == name))["ci95"][0]
                    for name in STRATEGIES
                }
                for shape in SHAPES
            },
            "threshold_peak_kBps": tops,
        },
        checks=checks,
        data=data,
        units={},
        why=sac.why(
            checks,
            "knowing what the aggregate will bring adds next to nothing to learning on line: between expectations "
            "of 3 and 6 the inverse schedule moves between 1/3 and 1/6 only, and nearly all of the gain is that "
            "of a larger increase",
        ),
        scenario=scenario(Run(sac.setting(lab.fidelity, 1.05), 0.05, scheme_of(sac.inverse()))).to_toml(),
    )


def draw(outcome: Outcome) -> Figure:
    """The threshold's curves with the strategies' levels at shape 1.05."""
    part = outcome.data.filter(pl.col("alpha") == 1.05)
    steps = part.filter(pl.col("strategy") == "threshold").with_columns(pl.lit("threshold, α = 1.05").alias("of"))
    lines = {name: float(part.filter(pl.col("strategy") == name)["throughput_kBps"][0]) for name in STRATEGIES}
    return curves(
        steps, "theta", "throughput_kBps", "of", x_label="threshold $\\theta$", y_label="throughput (kB/s)", lines=lines
    )
