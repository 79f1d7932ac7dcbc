"""Figure 3 of Tuan and Park: the average entropy of the prediction against its time scale, and how much of its fall is in the
traffic rather than in the number of observations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from tailback.analysis import mean_interval
from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.mtsc import aggregate
from tailback.papers.mtsc.network import Run, Setting, scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

SHAPE = 1.05
ALMOST = 0.15
"""The ledger's: of the earlier fall, what is left for later."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *aggregate.parameters(fidelity),
        Parameter("levels", "8, bands of one standard deviation", "stated", "Appendix A.1"),
        Parameter(
            "average",
            "over all eight levels; one never seen counts 0",
            "stated",
            "§2.4: the sum over ℓ = 1 … m, divided by m",
        ),
        Parameter("T1 = T2", "0.25 to 10 s", "stated", "Fig. 3"),
        Parameter("seeds", str(_seeds(fidelity)), "inferred", "for the confidence band"),
        Parameter(
            "starts",
            "8 per run, evenly spread over a block",
            "inferred",
            "so that chance cuts of the blocks do not count",
        ),
    )


def measure(lab: Lab) -> Outcome:
    """Entropies at twelve time scales."""
    settings = [Setting(SHAPE, aggregate.seconds(lab.fidelity), seed) for seed in range(1, _seeds(lab.fidelity) + 1)]
    found = [pl.DataFrame(each) for each in aggregate.observed(lab, aggregate.by_scale, settings)]
    rows = []
    for index, time in enumerate(aggregate.SCALES):
        row: dict[str, float] = {"time": time}
        for name in ("entropy", "conditional_entropy", "mutual_information", "predictability"):
            interval = mean_interval([float(each[name][index]) for each in found])
            row |= {name: interval.mean, f"{name}_ci95": interval.half_width}
        rows.append(row)
    data = pl.DataFrame(rows)
    return _judged(data, scenario(Run(settings[0], 0.05)).to_toml())


def _judged(data: pl.DataFrame, toml: str) -> Outcome:
    entropy = dict(zip(data["time"].to_list(), data["entropy"].to_list(), strict=True))
    width = dict(zip(data["time"].to_list(), data["entropy_ci95"].to_list(), strict=True))
    early = [time for time in aggregate.SCALES if time <= 4.0]
    rises = [
        (a, b, entropy[b] - entropy[a]) for a, b in pairwise(early) if entropy[b] - entropy[a] > max(width[a], width[b])
    ]
    fall, rest = entropy[0.25] - entropy[5.0], entropy[5.0] - entropy[10.0]
    part = rest / fall if fall > 0.0 else float("inf")
    checks = (
        Check(
            "falls up to 4 s",
            f"from {entropy[0.25]:.2f} to {entropy[4.0]:.2f} bits; {len(rises)} steps up beyond the confidence band",
            "no such step, and a fall",
            not rises and entropy[4.0] < entropy[0.25],
        ),
        Check(
            "nearly flat from 5 to 10 s",
            f"falls by {rest:.3f} bits after {fall:.3f} from 0.25 to 5 s: {100 * part:.0f} %",
            f"by less than {100 * ALMOST:.0f} %, either way",
            abs(part) < ALMOST,
        ),
    )
    conditional = dict(zip(data["time"].to_list(), data["conditional_entropy"].to_list(), strict=True))
    return Outcome(
        measured={"t_s": list(aggregate.SCALES), "entropy": data["entropy"].to_list()},
        checks=checks,
        data=data,
        units={"time": "s"},
        why=""
        if all(check.holds for check in checks)
        else (
            "The published average counts rare levels as much as common ones, and empty levels as certain. So it "
            "depends more on how often each level was seen than on the traffic."
        ),
        scenario=toml,
        notes=(
            "The fall says little of the traffic. Long blocks are few blocks, and few blocks leave outer levels "
            "empty or nearly so: "
            "white noise of the same length shows a like fall. Weighted by how often levels are seen, and "
            "corrected for few observations, "
            f"the entropy rises instead, from {conditional[0.25]:.2f} bits at 0.25 s to {conditional[10.0]:.2f} "
            "at 10 s: the longer the time "
            "scale, the less this traffic can be predicted.",
            "Entropies are in bits.",
        ),
    )


def draw(outcome: Outcome) -> Figure:
    """The published average and the conditional entropy."""
    from tailback.plot.style import COLOURS, DASHES, MARKERS, figure, style

    lines = (("entropy", "average over levels, as published"), ("conditional_entropy", "H(L2 | L1), corrected"))
    with style():
        made, (axis,) = figure(height=3.4)
        for index, (name, label) in enumerate(lines):
            axis.errorbar(
                outcome.data["time"],
                outcome.data[name],
                outcome.data[f"{name}_ci95"],
                color=COLOURS[index],
                linestyle=DASHES[index],
                marker=MARKERS[index],
                capsize=2,
                label=label,
            )
        axis.set_xlabel("time scale $T_1 = T_2$ (s)")
        axis.set_ylabel("entropy (bits)")
        axis.set_ylim(bottom=0.0)
        axis.legend(loc="lower right")
    return made


def _seeds(fidelity: Fidelity) -> int:
    return 4 if fidelity == "full" else 2
