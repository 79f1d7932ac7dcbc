"""The figures of ``media_cases.py``: rates and delays against time in single runs, a row per scheme. They draw and decide
nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tailback.units import number
from tools.media_cases import SCHEMES, scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    import tailback as tb

Floats = NDArray[np.float64]
SIDE_BY_SIDE = ("5.5", "5.6")
"""The cases whose shares are drawn."""


def draw_capacity() -> Figure:
    """§5.1: the rate below the capacity, and how long the next packet would wait."""
    from tailback.plot.style import COLOURS, FAINT, figure, style

    with style():
        made, axes = figure(3, 2, width=5.6, height=5.2, sharex=True, sharey="col")
        for row, scheme in enumerate(SCHEMES):
            case = scenario("5.1", scheme)
            result, (rate, wait) = case.run(), axes[2 * row : 2 * row + 2]
            series = result.series(flow="video")
            times, capacity = _capacity(case)
            rate.step(times, capacity, where="post", color=FAINT, linestyle="-", label="capacity")
            rate.plot(*_seconds(series), color=COLOURS[0], label="video")
            link = result.series(link="r0->r1")
            now = np.array(capacity)[np.searchsorted(times, link["time"].to_numpy() - 1e-9, side="right") - 1]
            wait.plot(link["time"], 8e-3 * link["queue_bytes"].to_numpy() / now, color=COLOURS[1], linewidth=0.9)
            rate.set_ylabel(scheme)
        axes[0].set_title("rate, Mbit/s")
        axes[1].set_title("wait in the queue, ms")
        axes[0].set_ylim(bottom=0)
        axes[1].set_ylim(bottom=0)
        for axis in axes[-2:]:
            axis.set_xlabel("s")
        made.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return made


def draw_shares() -> Figure:
    """§5.5 and §5.6: who gets how much."""
    from tailback.plot.style import figure, style

    with style():
        made, axes = figure(3, 2, width=5.6, height=5.6, sharex="col", sharey="col")
        for row, scheme in enumerate(SCHEMES):
            for column, name in enumerate(SIDE_BY_SIDE):
                _shares(axes[2 * row + column], scenario(name, scheme).run(), name)
            axes[2 * row].set_ylabel(scheme)
        for axis, name in zip(axes[:2], ("5.5: by length of the way", "5.6: beside TCP"), strict=True):
            axis.set_title(f"{name}, Mbit/s")
            axis.set_ylim(bottom=0)
        for axis in axes[-2:]:
            axis.set_xlabel("s")
            axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.34), ncols=3, columnspacing=1.0, handlelength=1.6)
    return made


def _shares(axis: Axes, result: tb.Result, case: str) -> None:
    from tailback.plot.style import COLOURS

    ways = {f"video {place}": f"{way} ms" for place, way in enumerate((10, 25, 50, 100, 150), start=1)}
    shown = ways if case == "5.5" else {"video": "video", "tcp": "TCP"}
    for colour, (flow, label) in zip(COLOURS, shown.items(), strict=False):
        axis.plot(*_seconds(result.series(flow=flow), 5), color=colour, label=label)


def _seconds(series: pl.DataFrame, length: int = 1) -> tuple[Floats, Floats]:
    """A flow's goodput in windows of so many seconds, in Mbit/s, at their ends."""
    bins = series.height
    per = round(length / float(series["time"][0]))
    whole = bins // per * per
    rates = 1e-6 * series["goodput"].to_numpy()[:whole].reshape(-1, per).mean(axis=1)
    return series["time"].to_numpy()[:whole].reshape(-1, per)[:, -1], rates


def _capacity(case: tb.Scenario) -> tuple[list[float], list[float]]:
    """When the link changes its rate, and to how many Mbit/s."""
    topology = case.to_dict()["topology"]
    steps = [(number(step["at"]), 1e-6 * number(step["rate"])) for step in topology["schedule"]]
    begin, end = 1e-6 * number(topology["rate"]), number(case.to_dict()["duration"])
    times, rates = [0.0, *(at for at, _ in steps), end], [begin, *(rate for _, rate in steps)]
    return times, [*rates, rates[-1]]
