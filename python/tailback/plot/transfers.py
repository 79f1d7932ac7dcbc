"""Completion times of files and bursts against their sizes. They are computed in ``results/completion.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailback.errors import NotFoundError
from tailback.plot import series
from tailback.plot.style import FAINT, line, ratios
from tailback.results.completion import by_size as sizes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.results import Result


def by_size(made: Figure, axis: Axes, result: Result) -> None:
    """Draws each message that began from ``warm_up`` on, and the median and 95th percentile in steps of size."""
    messages = result.counted_messages()
    if messages.is_empty():
        raise NotFoundError(
            "no message that began after warm_up ended; expected flows with a source of files or bursts"
        )
    steps = sizes_of(result)
    axis.set_xscale("log")  # Before anything is drawn: one size alone has room around it then.
    axis.set_yscale("log")
    axis.plot(messages["size"] * 1e-3, messages["completion_time"], ".", color=FAINT, markersize=2, alpha=0.5)
    for index, (column, name) in enumerate((("median", "median"), ("p95", "95th percentile"))):
        axis.plot(steps["size"] * 1e-3, steps[column], label=name, marker="o", **line(index))
    ratios(axis.xaxis)
    ratios(axis.yaxis)
    axis.set_xlabel("size (kB)")
    axis.set_ylabel("completion time (s)")
    series.legend(made, [axis])
