"""The scatter of throughput against delay, with ellipses: a mark per scheme or setting, and how its runs spread."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Ellipse
from numpy.typing import NDArray

from tailback.errors import NotFoundError, refused, unknown
from tailback.plot import series
from tailback.plot.looks import Looks
from tailback.plot.style import SERIES
from tailback.sweeps import statistics

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.sweeps import Runs

RATES = ("throughput", "goodput")
"""What may go upwards."""
_SIZE = 7.0
_BELOW_ZERO = -0.02
"""So much of the delays' axis lies below zero, that marks at zero are whole."""


def throughput_delay(
    made: Figure, axis: Axes, runs: Runs, *, by: str | Sequence[str] | None, delay: str, rate: str, ellipse: float
) -> None:
    """Draws it; see ``RunPlots.throughput_delay``."""
    # Where schemes are compared, each is in the place of all groups' own.
    groups = series.has_groups(runs) and "scheme" not in runs.axes
    default = [*(["group"] if groups else []), *sorted(runs.axes, key=lambda name: name != "scheme")]
    columns = series.chosen(runs, by, default=default)
    known = statistics.metrics_of(runs.table, runs.axes)
    delays = [name for name in known if name.startswith(("queueing_delay", "mean_rtt"))]
    if delay not in (*delays, "rtt_p95", "min_rtt"):
        raise unknown("delay", delay, [*delays, "rtt_p95", "min_rtt"])
    if rate not in RATES:
        raise unknown("rate", rate, list(RATES))
    if not (isinstance(ellipse, Real) and ellipse > 0.0):
        raise refused("ellipse", ellipse, "standard deviations, above 0")
    points = _points(runs, rate, delay, grouped="group" in columns)
    if points.is_empty():
        raise NotFoundError("no run succeeded; see runs.failed")
    rate_label, unit = series.label_of(rate, runs.units, points[rate])
    delay_label, time = series.label_of(delay, runs.units, points[delay])
    if by is None:
        columns = _told_apart(points, columns)
    looks = Looks(points, columns, size=_SIZE)
    for values, part in points.group_by(columns, maintain_order=True) if columns else [((), points)]:
        x, y = part[delay].to_numpy() * time, part[rate].to_numpy() * unit
        look = looks.of(values)
        axis.plot(x, y, linestyle="none", marker=look["marker"], color=look["color"], alpha=0.3, markersize=3)
        middle = ([np.median(x)], [np.median(y)])
        name = ", ".join(str(value) for value in values) or "all runs"
        axis.plot(*middle, linestyle="none", label=name, markeredgewidth=1.6, **look)
        if x.size > 2:
            colour = look["color"]
            axis.add_patch(covariance_ellipse(x, y, ellipse, facecolor=colour, alpha=0.15, edgecolor=colour))
    axis.set_xlabel(delay_label)
    each = f"mean {rate} per flow" if "group" in columns else f"{rate} of all flows"
    axis.set_ylabel(rate_label.replace(rate, each))
    axis.margins(0.12)
    # An ellipse may reach below zero, where there is nothing.
    axis.set_xlim(left=max(axis.get_xlim()[0], _BELOW_ZERO * axis.get_xlim()[1]))
    axis.set_ylim(bottom=max(axis.get_ylim()[0], 0.0))
    axis.invert_xaxis()
    # Outside, for the corner itself is where the best would be.
    series.head(axis, series.pooled(runs, columns, "mark"), right="better ↗")
    series.legend(made, [axis], parts=looks.explained(axis), most=SERIES)


def _told_apart(points: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """The columns whose series each have a look of their own: the last ones are left out where there are too many."""
    kept = list(columns)
    while len(kept) > 1 and not Looks.fit(points, kept):
        kept.pop()
    return kept


def covariance_ellipse(x: NDArray[np.float64], y: NDArray[np.float64], deviations: float, **looks: Any) -> Ellipse:
    """The ellipse of so many standard deviations of the points' covariance around their mean."""
    values, vectors = np.linalg.eigh(np.cov(x, y))
    width, height = 2.0 * deviations * np.sqrt(np.maximum(values[::-1], 0.0))
    angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
    return Ellipse((float(x.mean()), float(y.mean())), float(width), float(height), angle=angle, linewidth=0.8, **looks)


def _points(runs: Runs, rate: str, delay: str, *, grouped: bool) -> pl.DataFrame:
    """One row per run, or per run and group, with the rate and the delay."""
    keys = ["variant", "seed"]
    if not grouped:
        if delay in runs.table.columns:
            return runs.table.drop_nulls([rate, delay])
        means = runs.flows.group_by(keys, maintain_order=True).mean().select(*keys, delay)
        return runs.table.join(means, on=keys, how="left", maintain_order="left").drop_nulls([rate, delay])
    table = runs.groups
    if delay not in table.columns:
        table = table.join(runs.table.select(*keys, delay), on=keys, how="left", maintain_order="left")
    return table.drop_nulls([rate, delay])
