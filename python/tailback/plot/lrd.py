"""Figures of long-range dependence: a picture on logarithmic scales per estimator, the table of levels, and predictability over
time scales. What they show is worked out in ``tailback.analysis.lrd``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tailback.plot.style import COLOURS, DASHES, FAINT, INK, MARKERS, colour_bar, figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.analysis.lrd.estimate import Estimate
    from tailback.analysis.lrd.prediction import Table
    from tailback.analysis.lrd.study import Study
    from tailback.analysis.lrd.trace import Trace


def overview(found: Study) -> Figure:
    """Traffic at three time scales, every estimator's picture, the table of levels, and predictability."""
    with style():
        made, axes = figure(4, 3, width=10.5, height=11.0)
        for axis, width in zip(axes[:3], widths(found.trace), strict=True):
            traffic(axis, found.trace, width)
        for axis, each in zip(axes[3:9], found.estimates, strict=True):
            picture(axis, each, found.trace.bin)
        table_of_levels(made, axes[9], found.prediction.table, found.prediction.history)
        entropy(axes[10], found.scales)
        predictability(axes[11], found.scales)
    return made


def widths(trace: Trace) -> list[int]:
    """Three widths in bins, from fine to coarse, each of which shows 500 of its bins where the trace has them."""
    coarse = max(trace.values.size // 500, 1)
    return [max(coarse // factor, 1) for factor in (100, 10, 1)]


def traffic(axis: Axes, trace: Trace, width: int, most: int = 500) -> None:
    """The trace in bins so many times as wide: as bursty at each width, where it is self-similar. The middle is shown."""
    count = min(trace.values.size // width, most)
    begin = (trace.values.size - count * width) // 2
    rate = trace.values[begin : begin + count * width].reshape(count, width).mean(axis=1) / trace.bin
    times = (begin + np.arange(count) * width) * trace.bin
    factor, unit = (8e-6, "Mbit/s") if trace.unit == "B" else (1.0, "per second")
    axis.step(times, rate * factor, where="post", linewidth=0.7, color=COLOURS[0])
    axis.set_ylim(bottom=0.0)
    axis.set_title(f"bins of {width * trace.bin:g} s")
    axis.set_xlabel("time (s)")
    axis.set_ylabel(unit)


def picture(axis: Axes, found: Estimate, bin: float = 1.0) -> None:
    """What an estimate was read off, with its line; and where a series without memory and one of H = 1 would lie."""
    spectral = "frequency" in found.x_label
    x = found.x / (2.0 * np.pi * bin) if spectral else found.x * bin
    used = found.used
    axis.loglog(
        x[used], found.y[used], linestyle="none", marker="o", markersize=2.2 if spectral else 4, color=COLOURS[0]
    )
    if not used.all():
        axis.loglog(
            x[~used], found.y[~used], linestyle="none", marker="o", markerfacecolor="none", markersize=4, color=FAINT
        )
    ends = np.array([found.x[used].min(), found.x[used].max()])
    axis.loglog(x[used][[found.x[used].argmin(), found.x[used].argmax()]], found.fitted(ends), color=INK, linewidth=1.2)
    middle = np.exp(np.log(found.x[used]).mean())
    for hurst, dash in ((0.5, DASHES[2]), (1.0, DASHES[3])):
        slope = found.slope + (hurst - found.hurst) * found.per_hurst
        shown = found.fitted(middle) * (ends / middle) ** slope
        axis.loglog(
            ends / (2.0 * np.pi * bin) if spectral else ends * bin, shown, color=FAINT, linewidth=0.9, linestyle=dash
        )
    width = f" ± {found.half_width:.2f}" if np.isfinite(found.half_width) else ""
    axis.set_title(f"{found.method}: H = {found.hurst:.2f}{width}")
    axis.set_xlabel("frequency (Hz)" if spectral else found.x_label.replace("samples", "s"))
    axis.set_ylabel(found.y_label)


def table_of_levels(made: Figure, axis: Axes, table: Table, time: float) -> None:
    """Pr{L2 | L1} as shades, and E[L2 | L1] as marks: on the diagonal where the past tells the future, in a column of one
    height where it does not."""
    m = table.levels
    places = np.arange(m + 1) + 0.5
    shown = axis.pcolormesh(places, places, np.nan_to_num(table.probability).T, cmap="Blues", vmin=0.0, vmax=1.0)
    enough = table.populated(20)
    axis.plot(np.arange(1, m + 1)[enough], table.expected[enough], marker="o", color=COLOURS[1], linewidth=1.0)
    axis.grid(visible=False)
    axis.set_title(f"levels, T1 = T2 = {time:g} s")
    axis.set_xlabel("L1, the recent past")
    axis.set_ylabel("L2, the near future")
    axis.set_xticks(range(1, m + 1))
    axis.set_yticks(range(1, m + 1))
    colour_bar(made, shown, axis, "Pr{L2 | L1}")


def entropy(axis: Axes, scales: pl.DataFrame) -> None:
    """Average entropy over time scales as published, and what is left of its fall when few observations are allowed for."""
    _over_time_scales(axis, scales, {"entropy": "average, as published", "conditional_entropy": "H(L2 | L1)"})
    axis.set_title("entropy")
    axis.set_ylabel("bits")


def predictability(axis: Axes, scales: pl.DataFrame) -> None:
    """The part of the variance explained, and the mutual information in bits."""
    columns = {"predictability": "variance explained", "mutual_information": "I(L1; L2), bits"}
    _over_time_scales(axis, scales, columns)
    axis.set_title("predictability")


def _over_time_scales(axis: Axes, scales: pl.DataFrame, columns: Mapping[str, str]) -> None:
    """Columns with their labels, from zero on."""
    for index, (column, label) in enumerate(columns.items()):
        axis.plot(
            scales["time"],
            scales[column],
            marker=MARKERS[index],
            color=COLOURS[index],
            linestyle=DASHES[index],
            label=label,
        )
    axis.set_xscale("log")
    axis.set_ylim(bottom=0.0)
    axis.set_xlabel("time scale (s)")
    axis.legend(loc="best")
