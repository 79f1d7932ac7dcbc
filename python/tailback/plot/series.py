"""How many runs become the series of a figure: which columns tell them apart, and what they are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from tailback.errors import unknown
from tailback.plot.style import Drawing
from tailback.units import scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.sweeps import Runs

LABELS = {
    "goodput": "goodput",
    "throughput": "throughput",
    "jain": "Jain's index",
    "epsilon": "epsilon of fairness",
    "loss_rate": "loss",
    "loss_event_rate": "loss events per packet",
    "mark_rate": "marks",
    "mean_queue": "mean queue",
    "queueing_delay": "mean queueing delay",
    "rtt": "round trip time",
    "window": "congestion window",
    "queue_packets": "queue",
    "queueing_delay_p50": "median queueing delay",
    "queueing_delay_p95": "95th percentile of queueing delay",
    "queueing_delay_p99": "99th percentile of queueing delay",
    "mean_rtt": "mean round trip time",
    "rtt_p95": "95th percentile of round trip time",
    "completion_time": "mean completion time",
    "retransmission_rate": "sent again",
}


def label_of(metric: str, units: Mapping[str, str], values: pl.Series) -> tuple[str, float]:
    """What stands at the axis of a metric, with its unit, and the factor from base units to it."""
    said, unit = LABELS.get(metric, metric.replace("_", " ")), units.get(metric, "")
    if not unit:
        return said, 1.0
    factor, name = scale_of(values, unit)
    return f"{said} ({name})", factor


def split(table: pl.DataFrame, columns: Sequence[str]) -> Iterator[tuple[str, pl.DataFrame]]:
    """The rows with each combination of values, named by them; all rows, without a name, where no column is given."""
    if not columns:
        yield "", table
        return
    for values, part in table.group_by(list(columns), maintain_order=True):
        yield ", ".join(str(value) for value in values), part


def chosen(runs: Runs, by: str | Sequence[str] | None, *, default: Sequence[str]) -> list[str]:
    """The columns that make a series.

    Raises:
        KeyError: for one that is no axis.
    """
    if by is None:
        return list(default)
    names = [by] if isinstance(by, str) else list(by)
    known = [*runs.axes, "group"]
    for name in names:
        if name not in known:
            raise unknown("axis", name, known)
    return names


def has_groups(runs: Runs) -> bool:
    """Whether the flows are of several groups."""
    return runs.flows.height > 0 and runs.flows["group"].n_unique() > 1


def legend(made: Figure, axes: Sequence[Axes]) -> None:
    """One legend above all panels, where any line has a name; inside the first panel where the figure is the caller's,
    who may have other things above it."""
    found: dict[str, Any] = {}
    for axis in axes:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            if name:
                found.setdefault(name, handle)
    if found and not isinstance(made, Drawing):
        axes[0].legend(found.values(), found.keys(), ncols=min(len(found), 1 + len(found) // 4))
    elif found:
        made.legend(found.values(), found.keys(), loc="outside upper left", ncols=_columns(list(found)))


def _columns(names: Sequence[str]) -> int:
    """As many as stand side by side at the width of a figure."""
    longest = max(len(name) for name in names)
    return max(1, min(len(names), 5, 80 // (longest + 8)))
