"""Panels of quantities against time. Up to eight flows are drawn one by one; more are drawn as the mean of their group
with a band from the 10th to the 90th percentile over its members."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from tailback.plot import names as called
from tailback.plot.short import in_seconds
from tailback.plot.style import FAINT, INK, letters, line
from tailback.results.bins import after_warm_up
from tailback.results.metrics import delays_by_queue, has_queues_within
from tailback.units import scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tailback.results import Result

Floats: TypeAlias = NDArray[np.float64]
Panel: TypeAlias = "Callable[[Axes, Result, str | None], None]"

_RATES = ("throughput", "goodput")
FEW = 8
"""So many flows are told apart by eye."""
POINTS = 1200
"""More points than this along an axis are not seen."""
_TENTH = 0.1
"""Seconds."""
_HUNDRED_PACKETS = 100 * 1500 * 8.0
"""Bits."""


def throughput(axis: Axes, result: Result, _: str | None) -> None:
    """What arrived per flow, headers and duplicates included."""
    _flows(axis, result, "throughput", "throughput")


def goodput(axis: Axes, result: Result, _: str | None) -> None:
    """Goodput per flow: what was delivered in order, which a filled hole releases all at once."""
    _flows(axis, result, "goodput", "goodput")


def window(axis: Axes, result: Result, _: str | None) -> None:
    """Congestion window per flow."""
    _flows(axis, result, "window", "window")


def rtt(axis: Axes, result: Result, _: str | None) -> None:
    """Round trip time samples per flow."""
    _flows(axis, result, "rtt", "round trip time", from_zero=False)


def queue(axis: Axes, result: Result, link: str | None) -> None:
    """Waiting packets at a link: the mean of each bin, and a band over what was seen where bins are joined."""
    name = link or result.shown_link
    series = result.series(link=name)
    time, mean, low, high = thinned(series["time"].to_numpy(), series["mean_queue"].to_numpy())
    if time.size < series.height:
        axis.fill_between(time, low, high, color=line(0)["color"], alpha=0.25, linewidth=0)
    axis.plot(time, mean, color=line(0)["color"], linestyle="-")
    axis.set_ylabel("queue (packets)")
    axis.set_ylim(bottom=0.0)
    # The axis shows the buffer only where the queue comes near it; far above, it would flatten the curve.
    limit = _buffer_packets(result, name)
    if limit is not None and limit <= 2.5 * max(float(np.max(high, initial=0.0)), 1.0):
        axis.axhline(limit, color=INK, linewidth=0.8, linestyle=(0, (1, 2)))
        axis.annotate(
            f"buffer {limit:g}",
            (0.995, limit),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            fontsize=letters(7.5),
            color=INK,
            xytext=(0, 1),
            textcoords="offset points",
        )
        # A buffer of nothing still leaves an axis of some height.
        axis.set_ylim(top=1.15 * max(limit, float(np.max(high, initial=0.0)), 1.0))
    axis.set_title(f"at {name}", fontsize=letters(8.5), color=INK)


def queue_delays(axis: Axes, result: Result, _: str | None) -> None:
    """The delay of each queue, of links whose discipline tells of several and of the others beside them, except those where
    hardly anything waits: of more than :data:`FEW`, those that were longest. The axis shows what comes after ``warm_up``."""
    series = [
        (link, name, *thinned(time, delay, _enough(result))[:2]) for link, name, time, delay in delays_by_queue(result)
    ]
    peaks = [float(np.max(delay[after_warm_up(result, time)], initial=0.0)) for _link, _name, time, delay in series]
    highest: dict[str, float] = {}
    for one, peak in zip(series, peaks, strict=True):
        highest[one[0]] = max(highest.get(one[0], 0.0), peak)
    top = max(highest.values())
    # Never seconds, which hardly any queue has.
    factor, unit = (1e6, "µs") if 0.0 < top < 1e-3 else (1e3, "ms")
    waiting = [place for place, one in enumerate(series) if highest[one[0]] >= 0.05 * top]
    longest = sorted(waiting, key=lambda place: -peaks[place])[:FEW]
    shown = [series[place] for place in sorted(longest)]
    lines = [
        axis.plot(time, delay * factor, **line(index))[0] for index, (_link, _name, time, delay) in enumerate(shown)
    ]
    names = [link if name == "all" else f"{link}, {name}" for link, name, _time, _delay in shown]
    if len(waiting) > len(shown):  # A legend of dozens would leave nothing of the panels.
        lines.append(Line2D([], [], linestyle="none"))
        names.append(f"and {len(waiting) - len(shown)} more")
    axis.set_ylabel(f"queue's delay ({unit})")
    axis.set_ylim(-0.05 * top * factor, 1.6 * top * factor or 1.0)  # Room for the names, and for a line at nothing.
    axis.legend(lines, names, loc="upper right", ncols=3, fontsize=letters(7.5))


def fit(axis: Axes, result: Result) -> None:
    """Leaves the first seconds' peak out of sight where it would flatten what is counted: values after ``warm_up``."""
    high = 0.0
    for one in axis.get_lines():
        x, y = (np.asarray(values, dtype=np.float64) for values in one.get_data())
        if not str(one.get_label()).startswith("_"):
            high = max(high, float(np.nanmax(y[after_warm_up(result, x)], initial=0.0)))
    if result.warm_up > 0.0 and 0.0 < 2.5 * high < axis.get_ylim()[1]:
        axis.set_ylim(top=1.25 * high)
        axis.annotate(
            "more at first",
            (0.005, 0.97),
            xycoords="axes fraction",
            va="top",
            fontsize=letters(7.5),
            color=INK,
            bbox={"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 1.5},
        )


def has(result: Result, panel: Panel) -> bool:
    """Whether the result holds what a panel shows."""
    if panel is queue:
        return result.link_series.height > 0
    if panel is queue_delays:
        return has_queues_within(result)
    column = panel.__name__  # Panels of flows are called as their columns.
    table = result.flow_series
    return table.height > 0 and table[column].null_count() < table.height


def mark_warm_up(axis: Axes, result: Result) -> None:
    """Shades the time that metrics leave out."""
    if result.warm_up > 0.0:
        axis.axvspan(0.0, result.warm_up, color=FAINT, alpha=0.15, linewidth=0)


def _flows(axis: Axes, result: Result, column: str, label: str, *, from_zero: bool = True) -> None:
    table = result.flow_series.select("time", "flow", column)
    factor, unit = scale_of(table[column], result.units.get(column, ""))
    names = table["flow"].unique(maintain_order=True).to_list()
    if len(names) <= FEW:
        flows = called.of_flows(result)
        for index, name in enumerate(names):
            one = table.filter(pl.col("flow") == name)
            points = _enough(result) if column in _RATES else POINTS
            time, mean, _, _ = thinned(one["time"].to_numpy(), one[column].to_numpy() * factor, points)
            axis.plot(time, mean, label=flows.get(str(name), str(name)), **line(index))
    else:
        for index, (name, members) in enumerate(_groups(result, names)):
            chosen = table.filter(pl.col("flow").is_in(members)).select("time", pl.col(column) * factor)
            _band(axis, chosen, name if len(members) == 1 else f"{name} (mean of {len(members)})", index)
    axis.set_ylabel(f"{label} ({unit})")
    if from_zero:
        axis.set_ylim(bottom=0.0)


def _band(axis: Axes, table: pl.DataFrame, label: str, index: int) -> None:
    value = pl.exclude("time")
    at = (
        table.group_by("time", maintain_order=True)
        .agg(
            value.mean().name.suffix(" mean"),
            value.quantile(0.1, "linear").name.suffix(" low"),
            value.quantile(0.9, "linear").name.suffix(" high"),
        )
        .drop_nulls()
    )
    time, *columns = (at[name].to_numpy() for name in at.columns)
    when = thinned(time, columns[0])[0]
    mean, low, high = (thinned(time, column)[1] for column in columns)
    axis.fill_between(when, low, high, color=line(index)["color"], alpha=0.2, linewidth=0)
    axis.plot(when, mean, label=label, **line(index))


def _groups(result: Result, names: list[str]) -> list[tuple[str, list[str]]]:
    """What is drawn for each line: its name and the flows. Groups of which nobody could tell the lines apart are one."""
    known = result.flows.filter(pl.col("flow").is_in(names))
    members = known.group_by("group", maintain_order=True).agg("flow").rows()
    drawn = called.drawn_groups(result, [str(group) for group, _ in members])
    found: dict[str, list[str]] = {}
    for group, flows in members:
        found.setdefault(drawn[str(group)], []).extend(flows)
    return list(found.items())


def thinned(time: Floats, values: Floats, points: int = POINTS) -> tuple[Floats, Floats, Floats, Floats]:
    """A long series as at most ``points`` means of neighbours, with the least and the greatest of each."""
    finite = np.isfinite(values)
    time, values = time[finite], values[finite].astype(np.float64)
    per = -(-time.size // points) if time.size else 1
    if per <= 1:
        return time, values, values, values
    whole = time.size // per * per
    blocks = values[:whole].reshape(-1, per)
    return time[:whole].reshape(-1, per)[:, -1], blocks.mean(axis=1), blocks.min(axis=1), blocks.max(axis=1)


def _enough(result: Result) -> int:
    """So many points that each shows a rate and no packets: a tenth of a second each, or less where ten round trips and a hundred
    packets of the slowest link take less, as in data centres."""
    trip = float(result.flows["round_trip"].max() or 0.0)  # type: ignore[arg-type]  # The greatest of numbers is a number.
    rate = float(result.links.filter(pl.col("rate") > 0)["rate"].min() or 0.0)  # type: ignore[arg-type]  # Likewise.
    packets = _HUNDRED_PACKETS / rate if rate and trip else _TENTH
    return int(np.clip(in_seconds(result) / min(_TENTH, max(10.0 * trip, packets)), 10, POINTS))


def _buffer_packets(result: Result, link: str) -> float | None:
    row = result.links.filter(pl.col("link") == link)
    if "buffer_packets" not in row.columns or row.is_empty():
        return None
    limit = row["buffer_packets"][0]
    return None if limit is None else float(limit)
