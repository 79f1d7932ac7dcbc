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
from tailback.plot.style import COLOURS, INK, MARKERS, PAPER, SERIES, mark, marked
from tailback.sweeps import statistics

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.sweeps import Runs

RATES = ("throughput", "goodput")
"""What may go upwards."""
NAMED = 24
"""More series than this have no entry each in the legend."""
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
    delays = [name for name in statistics.metrics_of(runs.table) if name.startswith(("queueing_delay", "mean_rtt"))]
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
    looks = _Looks(points, columns)
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
    axis.set_title(series.pooled(runs, columns, "mark"), fontsize=8)
    # Outside, for the corner itself is where the best would be.
    axis.set_title("better ↗", loc="right", fontsize=8)
    series.legend(made, [axis], only=looks.explained(axis))


def _told_apart(points: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """The columns whose series each have a look of their own: the last ones are left out where there are too many."""
    kept = list(columns)
    while len(kept) > 1 and not _Looks.fit(points, kept):
        kept.pop()
    return kept


class _Looks:
    """Colours tell the first column's values apart, marks the others'; with one column, both do. Marks of every other
    colour are hollow, for in grey its neighbours look alike; beyond the colours and the marks that there are, those that
    come again are hollow where the first were full.

    Raises:
        ArgumentError: where there are more series than looks.
    """

    def __init__(self, points: pl.DataFrame, columns: Sequence[str]) -> None:
        self._firsts, self._others = self._values(points, columns)
        self._several = len(columns) > 1
        if not self.fit(points, columns):
            count = len(self._firsts) * len(self._others) if self._several else len(self._firsts)
            given = ", ".join(columns)
            raise refused("by", given, f"fewer than the {count} series of this, which no look tells apart; select some")

    @classmethod
    def fit(cls, points: pl.DataFrame, columns: Sequence[str]) -> bool:
        """Whether every series has a look of its own."""
        firsts, others = cls._values(points, columns)
        if len(columns) < 2:
            return len(firsts) <= SERIES
        return -(-len(firsts) // len(COLOURS)) * -(-len(others) // len(MARKERS)) <= 2

    @staticmethod
    def _values(points: pl.DataFrame, columns: Sequence[str]) -> tuple[list[Any], list[Any]]:
        rows = points.select(columns).unique(maintain_order=True).rows() if columns else [()]
        return list(dict.fromkeys(row[:1] for row in rows)), list(dict.fromkeys(row[1:] for row in rows))

    def of(self, values: tuple[object, ...]) -> dict[str, Any]:
        """Colour and mark of a combination of values."""
        first = self._firsts.index(values[:1])
        if not self._several:
            return mark(first, size=_SIZE)
        other = self._others.index(values[1:])
        full = (first + first // len(COLOURS) + other // len(MARKERS)) % 2 == 0
        return marked(first, MARKERS[other % len(MARKERS)], filled=full, size=_SIZE)

    def explained(self, axis: Axes) -> set[str] | None:
        """The names in the legend: of each series, or, where these would be very many, of each colour and of each mark,
        which then have an entry without points in the panel."""
        if not self._several or len(self._firsts) * len(self._others) <= NAMED:
            return None
        entries = [(_named(value), {**self.of((*value, *self._others[0])), "marker": "o"}) for value in self._firsts]
        for place, value in enumerate(self._others):
            face = INK if place < len(MARKERS) else PAPER
            sign = {"color": INK, "marker": MARKERS[place % len(MARKERS)], "markerfacecolor": face, "markersize": _SIZE}
            entries.append((_named(value), sign))
        for name, look in entries:
            axis.plot([np.nan], [np.nan], linestyle="none", label=name, markeredgewidth=1.6, **look)
        return {name for name, _ in entries}


def _named(values: Sequence[object]) -> str:
    return ", ".join(str(value) for value in values)


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
