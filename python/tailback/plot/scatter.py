"""The scatter of throughput against delay, with ellipses: a mark per scheme or setting, and how its runs spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Ellipse
from numpy.typing import NDArray

from tailback.errors import NotFoundError, refused, unknown
from tailback.plot import series
from tailback.plot.style import COLOURS, MARKERS, PAPER
from tailback.sweeps import statistics

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.sweeps import Runs


def throughput_delay(
    made: Figure, axis: Axes, runs: Runs, *, by: str | Sequence[str] | None, delay: str, ellipse: float
) -> None:
    """Draws it; see ``RunPlots.throughput_delay``."""
    # Where schemes are compared, each is in the place of all groups' own.
    groups = series.has_groups(runs) and "scheme" not in runs.axes
    default = [*(["group"] if groups else []), *sorted(runs.axes, key=lambda name: name != "scheme")]
    columns = series.chosen(runs, by, default=default)
    delays = [name for name in statistics.metrics_of(runs.table) if name.startswith(("queueing_delay", "mean_rtt"))]
    if delay not in (*delays, "rtt_p95", "min_rtt"):
        raise unknown("delay", delay, [*delays, "rtt_p95", "min_rtt"])
    if not ellipse > 0.0:
        raise refused("ellipse", ellipse, "standard deviations, above 0")
    points = _points(runs, delay, grouped="group" in columns)
    if points.is_empty():
        raise NotFoundError("no run succeeded; see runs.failed")
    rate_label, rate = series.label_of("throughput", runs.units, points["throughput"])
    delay_label, time = series.label_of(delay, runs.units, points[delay])
    looks = _Looks(points, columns)
    for values, part in points.group_by(columns, maintain_order=True) if columns else [((), points)]:
        x, y = part[delay].to_numpy() * time, part["throughput"].to_numpy() * rate
        colour, marker, filled = looks.of(values)
        axis.plot(x, y, linestyle="none", marker=marker, color=colour, alpha=0.3, markersize=3)
        middle = ([np.median(x)], [np.median(y)])
        name = ", ".join(str(value) for value in values) or "all runs"
        face: dict[str, Any] = {"markerfacecolor": colour if filled else PAPER, "markeredgewidth": 1.6}
        axis.plot(*middle, linestyle="none", marker=marker, color=colour, label=name, markersize=7, **face)
        if x.size > 2:
            axis.add_patch(covariance_ellipse(x, y, ellipse, facecolor=colour, alpha=0.15, edgecolor=colour))
    axis.set_xlabel(delay_label)
    each = "mean throughput per flow" if "group" in columns else "throughput of all flows"
    axis.set_ylabel(rate_label.replace("throughput", each))
    axis.margins(0.12)
    axis.invert_xaxis()
    # Outside, for the corner itself is where the best would be.
    axis.set_title("better ↗", loc="right", fontsize=8)
    series.legend(made, [axis])


class _Looks:
    """Colours tell the first column's values apart, marks the others'; with one column, both do. Marks of every other
    colour are hollow, for in grey its neighbours look alike."""

    def __init__(self, points: pl.DataFrame, columns: Sequence[str]) -> None:
        rows = points.select(columns).unique(maintain_order=True).rows() if columns else [()]
        firsts = list(dict.fromkeys(row[:1] for row in rows))
        self._colours = {value: COLOURS[place % len(COLOURS)] for place, value in enumerate(firsts)}
        marked = list(dict.fromkeys(row[1:] if len(columns) > 1 else row for row in rows))
        self._markers = {value: MARKERS[place % len(MARKERS)] for place, value in enumerate(marked)}
        self._several = len(columns) > 1

    def of(self, values: tuple[object, ...]) -> tuple[str, str, bool]:
        """Colour and mark of a combination of values, and whether the mark is filled."""
        filled = not self._several or list(self._colours).index(values[:1]) % 2 == 0
        return self._colours[values[:1]], self._markers[values[1:] if self._several else values], filled


def covariance_ellipse(x: NDArray[np.float64], y: NDArray[np.float64], deviations: float, **looks: Any) -> Ellipse:
    """The ellipse of so many standard deviations of the points' covariance around their mean."""
    values, vectors = np.linalg.eigh(np.cov(x, y))
    width, height = 2.0 * deviations * np.sqrt(np.maximum(values[::-1], 0.0))
    angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
    return Ellipse((float(x.mean()), float(y.mean())), float(width), float(height), angle=angle, linewidth=0.8, **looks)


def _points(runs: Runs, delay: str, *, grouped: bool) -> pl.DataFrame:
    """One row per run, or per run and group, with ``throughput`` and the delay."""
    keys = ["variant", "seed"]
    if not grouped:
        if delay in runs.table.columns:
            return runs.table.drop_nulls(["throughput", delay])
        means = runs.flows.group_by(keys, maintain_order=True).mean().select(*keys, delay)
        return runs.table.join(means, on=keys, how="left", maintain_order="left").drop_nulls(["throughput", delay])
    table = runs.groups
    if delay not in table.columns:
        table = table.join(runs.table.select(*keys, delay), on=keys, how="left", maintain_order="left")
    return table.drop_nulls(["throughput", delay])
