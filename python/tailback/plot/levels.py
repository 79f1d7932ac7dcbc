"""Metrics against a swept field: means over seeds with their confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tailback.plot import series
from tailback.plot.style import MARKERS, line
from tailback.units import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from tailback.sweeps import Runs


def defaults(runs: Runs) -> list[str]:
    """What is drawn when nothing is named."""
    return [name for name in ("goodput", "queueing_delay", "loss_rate") if name in runs.table.columns]


def over(
    made: Figure, axes: Sequence[Axes], runs: Runs, along: str, metrics: Sequence[str], *, by: str | None, level: float
) -> None:
    """One panel per metric, a line per value of ``by``; where ``by`` is not said, per combination of other axes."""
    others = [name for name in runs.axes if name != along]
    columns = series.chosen(runs, by, default=others)
    table = runs.intervals(*metrics, by="group" if "group" in columns else "variant", level=level)
    places, ticks = positions(table[along])
    for axis, metric in zip(axes, metrics, strict=True):
        found = table.filter(pl.col("metric") == metric)
        text, factor = series.label_of(metric, runs.units, float(found["mean"].abs().max() or 0.0))  # type: ignore[arg-type]
        for index, (name, part) in enumerate(series.split(found, columns)):
            x = np.array([places[value] for value in part[along]])
            y = part["mean"].cast(pl.Float64).to_numpy() * factor
            width = part["half_width"].fill_null(0.0).to_numpy() * factor
            order = np.argsort(x, kind="stable")
            axis.errorbar(
                x[order],
                y[order],
                yerr=width[order],
                label=name,
                marker=MARKERS[index % len(MARKERS)],
                capsize=2.5,
                elinewidth=0.9,
                **line(index),
            )
        axis.set_ylabel(text)
        if metric not in {"jain", "utilization", "mean_rtt", "rtt_p95"}:
            axis.set_ylim(bottom=0.0)
    bottom = axes[-1]
    bottom.set_xlabel(along)
    if ticks is not None:
        bottom.set_xticks(range(len(ticks)), ticks)
    series.legend(made, axes)


def positions(values: pl.Series) -> tuple[dict[object, float], list[str] | None]:
    """Where each value stands along an axis: numbers, and quantities of one unit, to scale; others side by side, with
    their names."""
    distinct = values.unique(maintain_order=True).to_list()
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in distinct):
        return {value: float(value) for value in distinct}, None
    return {value: float(place) for place, value in enumerate(distinct)}, [str(value) for value in distinct]


def in_order(values: pl.Series) -> list[object]:
    """Distinct values in growing order where they are numbers or quantities, as they came otherwise."""
    distinct = values.unique(maintain_order=True).to_list()
    try:
        sizes: NDArray[np.float64] = np.array(
            [number(value) if isinstance(value, str) else float(value) for value in distinct]
        )
    except (TypeError, ValueError):
        return list(distinct)
    units = {value.split()[-1] for value in distinct if isinstance(value, str) and value.split()}
    mixed = len({unit in {"packets"} for unit in units}) > 1
    return list(distinct) if mixed else [distinct[row] for row in np.argsort(sizes, kind="stable")]
