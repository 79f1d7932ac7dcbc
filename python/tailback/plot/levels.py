"""Metrics against a swept field: means over seeds with their confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray

from tailback.plot import series
from tailback.plot.along import along as locate
from tailback.plot.looks import LineLooks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.sweeps import Runs

PARTS = ("jain", "utilization")
"""Metrics that are from 0 to 1."""
_ROOM = 1.3
"""The factor by which a logarithmic axis goes beyond the marks."""
_FAR = 200.0
"""Beyond this factor, powers of ten are numbers enough."""


def defaults(runs: Runs) -> list[str]:
    """What is drawn when nothing is named."""
    return [name for name in ("goodput", "queueing_delay", "loss_rate") if name in runs.table.columns]


def over(
    made: Figure,
    axes: Sequence[Axes],
    runs: Runs,
    along: str,
    metrics: Sequence[str],
    *,
    by: str | None,
    level: float,
    log: bool = False,
) -> None:
    """One panel per metric, a line per value of ``by`` and of all other axes that have several: a line through different
    scenarios would say nothing. The axes of metrics are logarithmic if ``log``."""
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
        if log:
            _by_factors(axis, found["mean"].cast(pl.Float64).to_numpy() * factor)
        elif metric not in {"jain", "utilization", "mean_rtt", "rtt_p95"}:
            axis.set_ylim(0.0, 1.1 * axis.dataLim.y1 or 1.0)  # Room for the topmost marks; an axis where all is zero.
        if metric in PARTS:  # Wide intervals reach beyond what there can be, and would flatten the rest.
            low, high = axis.get_ylim()
            axis.set_ylim(max(low, 0.0), min(high, 1.05 * factor))
    where.settle(axes[-1])
    series.legend(made, axes, parts=looks.explained(axes[0]))


def _by_factors(axis: Axes, means: NDArray[np.float64]) -> None:
    """Makes the axis of values logarithmic. It ends a little below the least mean above zero, however far down intervals reach;
    how many means are not above zero stands above the panel."""
    above = means[means > 0.0]
    if above.size:
        low, high = float(above.min()) / _ROOM, _ROOM * axis.dataLim.y1
        axis.set_yscale("log", nonpositive="clip")
        axis.set_ylim(low, high)
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high > _FAR * low else (1.0, 2.0, 5.0)))
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter(NullFormatter())
    missing = int(np.count_nonzero(means <= 0.0))
    if missing:
        series.head(axis, f"{missing} of {means.size} means are 0, which has no place on a logarithmic axis")
