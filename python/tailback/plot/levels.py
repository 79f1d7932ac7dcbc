"""Metrics against a swept field: means over seeds with their confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tailback.plot import series
from tailback.plot.along import along as locate
from tailback.plot.looks import LineLooks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.sweeps import Runs

PARTS = ("jain", "utilization")
"""Metrics that are from 0 to 1."""


def defaults(runs: Runs) -> list[str]:
    """What is drawn when nothing is named."""
    return [name for name in ("goodput", "queueing_delay", "loss_rate") if name in runs.table.columns]


def over(
    made: Figure, axes: Sequence[Axes], runs: Runs, along: str, metrics: Sequence[str], *, by: str | None, level: float
) -> None:
    """One panel per metric, a line per value of ``by`` and of all other axes that have several: a line through different
    scenarios would say nothing."""
    others = [name for name in runs.axes if name != along and runs.table[name].n_unique() > 1]
    columns = series.chosen(runs, by, default=others)
    columns += [name for name in others if name not in columns]
    table = runs.means(*metrics, by="group" if "group" in columns else "variant", level=level)
    where = locate(along, table[along])
    looks = LineLooks(table, columns, where)
    for axis, metric in zip(axes, metrics, strict=True):
        found = table.filter(pl.col("metric") == metric)
        text, factor = series.label_of(metric, runs.units, found["mean"])
        listed = list(series.split(found, columns))
        for index, (name, part) in enumerate(listed):
            x = where.beside(part[along], index, len(listed))
            y = part["mean"].cast(pl.Float64).to_numpy() * factor
            width = part["half_width"].fill_null(0.0).to_numpy() * factor
            order = np.argsort(x, kind="stable")
            axis.errorbar(
                x[order],
                y[order],
                yerr=width[order],
                label=name,
                capsize=2.5,
                elinewidth=0.9,
                **looks.of(index, part),
            )
        series.label_up(axis, text)
        axis.margins(y=0.1)
        if metric not in {"jain", "utilization", "mean_rtt", "rtt_p95"}:
            axis.set_ylim(0.0, 1.1 * axis.dataLim.y1 or 1.0)  # Room for the topmost marks; an axis where all is zero.
        if metric in PARTS:  # Wide intervals reach beyond what there can be, and would flatten the rest.
            low, high = axis.get_ylim()
            axis.set_ylim(max(low, 0.0), min(high, 1.05 * factor))
    where.settle(axes[-1])
    series.legend(made, axes, parts=looks.explained(axes[0]))
