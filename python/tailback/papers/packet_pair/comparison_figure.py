"""The figure of ``comparison.py``: small multiples, a row per measure and a column per discipline, a dot with its 95 %
interval per scheme and benchmark. It draws a table and runs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tailback.analysis import columns
from tailback.papers.packet_pair.comparison import BENCHMARKS, METRICS, QUEUES, SCHEMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(table: pl.DataFrame) -> Figure:
    """All measures of all benchmarks."""
    from tailback.plot.style import figure, style

    with style():
        made, axes = figure(len(METRICS), len(QUEUES), width=9.0, height=9.6, sharex=True, sharey="row")
        for row, (metric, (label, _)) in enumerate(METRICS.items()):
            for column, queue in enumerate(QUEUES):
                axis = axes[row * len(QUEUES) + column]
                part = table.filter((pl.col("metric") == metric) & (pl.col("queue") == queue))
                _panel(axis, part)
                if row == 0:
                    axis.set_title(f"over {queue}", fontsize=10.5)
                if column == 0:
                    axis.set_ylabel(label)
            _scale(axes[row * len(QUEUES)], metric, table.filter(pl.col("metric") == metric))
        for axis in axes[-len(QUEUES) :]:
            names = [f"{number} {one.title}" for number, one in BENCHMARKS.items()]
            axis.set_xticks(range(len(names)), names, rotation=38, ha="right", rotation_mode="anchor")
        made.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(SCHEMES))
    return made


def _panel(axis: Axes, part: pl.DataFrame) -> None:
    from tailback.plot.style import COLOURS, FAINT, INK, MARKERS

    places = {number: index for index, number in enumerate(BENCHMARKS)}
    for index in range(1, len(places), 2):
        axis.axvspan(index - 0.5, index + 0.5, color=FAINT, alpha=0.10, linewidth=0)
    for number, scheme in enumerate(SCHEMES):
        rows = part.filter((pl.col("scheme") == scheme) & pl.col("mean").is_not_null())
        shift = 0.19 * (number - (len(SCHEMES) - 1) / 2)
        axis.errorbar(
            [places[benchmark] + shift for benchmark in rows["benchmark"]],
            rows["mean"],
            yerr=rows["half_width"],
            linestyle="none",
            marker=MARKERS[number],
            color=COLOURS[number],
            markersize=5,
            capsize=1.5,
            elinewidth=1.0,
            label=scheme,
        )
    axis.grid(visible=False, axis="x")
    if part["metric"][0] in {"speed", "jain"}:
        axis.axhline(1.0, color=INK, linewidth=0.8, zorder=1)
    axis.set_xlim(-0.5, len(places) - 0.5)


def _scale(axis: Axes, metric: str, rows: pl.DataFrame) -> None:
    """Scale and limits of a row: all dots are inside, and intervals as far as the measure goes."""
    highest = columns.greatest(rows["mean"] + rows["half_width"])
    lowest = columns.least(rows["mean"])
    if metric == "speed":
        axis.set_ylim(0, min(1.05 * highest, 1.15 * columns.greatest(rows["mean"])))
    elif metric == "jain":
        axis.set_ylim(0.9 * lowest, 1.02)
    else:
        threshold = 1.0 if metric == "delay" else 0.1
        axis.set_yscale("symlog", linthresh=threshold)
        top = 1.3 * highest
        axis.set_ylim(-0.06 * threshold, top)
        ticks = [tick for tick in (0, 0.1, 0.3, 1, 3, 10, 30, 100) if tick in {0, threshold} or threshold < tick < top]
        axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
