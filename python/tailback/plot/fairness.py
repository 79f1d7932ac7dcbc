"""Fairness against time, at several time scales, and the shares of groups over a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tailback.errors import NotFoundError
from tailback.plot import series
from tailback.plot.along import along as locate
from tailback.plot.looks import LineLooks
from tailback.plot.short import time_unit
from tailback.plot.style import FAINT, MARKERS, line
from tailback.results.bins import bins_in
from tailback.results.fairness import jain_over_time
from tailback.results.warnings import expect_bins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.results import Result
    from tailback.sweeps import Runs


FEW = 12
"""So few points are marked."""


_ABOVE_FAIR = 1.1
"""Shares that an axis reaches at least, so that the line of the fair share is not its upper edge."""
_ROUNDED = 1e-9
WINDOWS = (1.0, 5.0, 20.0)
"""Seconds, as RFC 8868 §3 asks for."""


def over_time(made: Figure, axis: Axes, result: Result, windows: Sequence[float] | float | None) -> None:
    """Jain's index of the flows' goodputs in windows of several lengths, against time."""
    if windows is None:
        windows = _usual(result)
    factor, unit = time_unit(result.duration)
    for index, window in enumerate([windows] if isinstance(windows, int | float | str) else windows):
        times, values = jain_over_time(result, window)
        if times.size:  # Of a few points, the line alone would show little or nothing.
            sign = MARKERS[index % len(MARKERS)] if times.size <= FEW else ""
            # The last window ends with the run: its mark stands on the edge, whole.
            axis.plot(
                times * factor,
                values,
                label=f"in windows of {window * factor:g} {unit}",
                marker=sign,
                clip_on=not sign,
                **line(index),
            )
    if not axis.get_lines():
        expect_bins(result)
        raise NotFoundError(
            "nothing to compare: in no window were two recorded flows there, of which one received something; expected "
            "record.flows to include two"
        )
    axis.set_xlabel(f"time ({unit})")
    axis.set_ylabel("Jain's index")
    axis.set_xlim(0.0, result.duration * factor)
    axis.set_ylim(top=1.0)
    series.legend(made, [axis])


def has(result: Result) -> bool:
    """Whether there is anything to compare in one of the usual windows."""
    return result.flow_series.height > 0 and any(jain_over_time(result, window)[0].size for window in _usual(result))


def _usual(result: Result) -> list[float]:
    """The windows of whole bins that fit into the time series, or so many bins where none does."""
    times = result.flow_series["time"].to_numpy() if result.flow_series.height else np.zeros(1)
    whole = [window for window in WINDOWS if bins_in(result, window) is not None and window <= times.max() + _ROUNDED]
    return whole or [window * result.bin for window in WINDOWS]


def share(made: Figure, axis: Axes, runs: Runs, along: str) -> None:
    """Mean goodput per flow of each group over the mean of all flows, with confidence intervals."""
    keys = ["variant", "seed"]
    all_flows = runs.flows.group_by(keys, maintain_order=True).agg(pl.col("goodput").mean().alias("all"))
    table = runs.groups.join(all_flows, on=keys, maintain_order="left")
    table = table.with_columns((pl.col("goodput") / pl.col("all")).alias("share"))
    from tailback.sweeps.statistics import intervals

    others = [name for name in runs.axes if name != along and runs.table[name].n_unique() > 1]
    found = intervals(table, [along, *others, "group"], ["share"], level=0.95, units={})
    where = locate(along, found[along])
    columns = [name for name in ("group", *others) if found[name].n_unique() > 1] or ["group"]
    looks, listed = LineLooks(found, columns, where), list(series.split(found, columns))
    for index, (name, part) in enumerate(listed):
        x = where.beside(part[along], index, len(listed))
        axis.errorbar(
            x,
            part["mean"].to_numpy(),
            yerr=part["half_width"].fill_null(0.0).to_numpy(),
            label=name,
            capsize=2.5,
            elinewidth=0.9,
            **looks.of(index, part),
        )
    axis.axhline(1.0, color=FAINT, linewidth=0.8)
    axis.set_ylabel("goodput / fair share")
    axis.set_ylim(0.0, max(axis.get_ylim()[1], _ABOVE_FAIR))
    where.settle(axis)
    series.legend(made, [axis], parts=looks.explained(axis))
