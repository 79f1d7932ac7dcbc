"""Figure 2 of Tuan and Park: what the traffic level of the recent past says of the near future, off line, for the most and the
least heavy-tailed file sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.mtsc import aggregate, sac
from tailback.papers.mtsc.network import Run, Setting, scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

SHAPES = (1.05, 1.95)


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *aggregate.parameters(fidelity),
        Parameter("levels", "8, bands of one standard deviation", "stated", "Appendix A.1"),
        Parameter("T1 = T2", "0.5, 1, 2 and 5 s", "stated", "§2.3"),
        Parameter("populated", "seen at least 20 times", "inferred", "as the ledger has it for Table 1"),
    )


def measure(lab: Lab) -> Outcome:
    """Tables of both aggregates at four time scales."""
    settings = [Setting(shape, aggregate.seconds(lab.fidelity)) for shape in SHAPES]
    found = dict(zip(SHAPES, aggregate.observed(lab, aggregate.levels, settings), strict=True))
    rows = [
        {"alpha": shape, "time": time, "level": level + 1, "expected_l2": value}
        for shape, each in found.items()
        for time, values in each.expected.items()
        for level, value in enumerate(values)
    ]
    densities = [
        {"alpha": shape, "l1": row + 1, "l2": column + 1, "probability": value}
        for shape, each in found.items()
        for row, values in enumerate(each.table)
        for column, value in enumerate(values)
    ]
    spans = {shape: each.span[2.0] for shape, each in found.items()}
    checks = (
        Check("range of E[L2 | L1] at 2 s, shape 1.05", f"{spans[1.05]:.2f} levels", "at least 3", spans[1.05] >= 3.0),
        Check("range of E[L2 | L1] at 2 s, shape 1.95", f"{spans[1.95]:.2f} levels", "at most 1.5", spans[1.95] <= 1.5),
    )
    return Outcome(
        measured={
            "expected_l2": {
                str(shape): {str(time): values for time, values in each.expected.items()}
                for shape, each in found.items()
            },
            "range": {
                str(shape): {str(time): value for time, value in each.span.items()} for shape, each in found.items()
            },
        },
        checks=checks,
        data=pl.concat([pl.DataFrame(rows), pl.DataFrame(densities)], how="diagonal"),
        units={"time": "s"},
        why=sac.why(checks, _reason(found[1.95].expected[2.0])),
        scenario=scenario(Run(settings[0], 0.05)).to_toml(),
        notes=("The shades are Pr{L2 | L1} at 2 s, as a map in place of the paper's surface; marks are E[L2 | L1].",),
    )


def _reason(expected: Sequence[float]) -> str:
    known = [(level, value) for level, value in enumerate(expected, 1) if not np.isnan(value)]
    top, highest = known[-1]
    rest = [value for _, value in known[:-1]] or [highest]
    return (
        f"At shape 1.95 the highest level, {top}, is followed by {highest:.1f}, and all lower ones by "
        f"{min(rest):.1f} to {max(rest):.1f}. A file above 250 kB takes longer than a block of 2 s, so it makes the level "
        "of this block high, and that of the next one too. Such files are rare but not absent at a shape below 2. Without "
        "them, and at shape 3, the highest level says nothing (the table of what lasts, on the page)."
    )


def draw(outcome: Outcome) -> Figure:
    """Both tables as maps, with expectations at all time scales."""
    from tailback.plot.style import COLOURS, DASHES, MARKERS, colour_bar, figure, style

    with style():
        made, axes = figure(1, 2, width=7.4, height=3.4)
        for axis, shape in zip(axes, SHAPES, strict=True):
            part = outcome.data.filter(pl.col("alpha") == shape)
            cells = part.drop_nulls("l1").sort("l2", "l1")["probability"].to_numpy().reshape(8, 8)
            edges = np.arange(9) + 0.5
            shown = axis.pcolormesh(edges, edges, cells, cmap="Blues", vmin=0.0, vmax=1.0)
            for index, time in enumerate(aggregate.TABLES):
                line = part.filter(pl.col("time") == time).sort("level")
                axis.plot(
                    line["level"],
                    line["expected_l2"],
                    color=COLOURS[index],
                    marker=MARKERS[index],
                    linestyle=DASHES[index],
                    label=f"{time:g} s",
                )
            axis.grid(visible=False)
            axis.set_title(f"α = {shape:g}")
            axis.set_xlabel("$L_1$")
            axis.set_ylabel("$L_2$")
            axis.set_xlim(0.5, 8.5)
            axis.set_ylim(0.5, 8.5)
        axes[0].legend(title="E[L2 | L1], T1 = T2", loc="upper left")
        colour_bar(made, shown, axes[1], "Pr{L2 | L1} at 2 s")
    return made
