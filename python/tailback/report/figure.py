"""A figure's place in a page: the vector picture, the same curves to be asked with the pointer, and its data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from tailback.plot.held import ticks_held
from tailback.report.interactive import interactive, legend_note
from tailback.report.packed import packed
from tailback.report.svg import inlined

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Download:
    """A table that can be saved out of the page."""

    label: str
    file: str
    """Its name, and the way to it from the page where the page's folder came along."""
    content: str
    """Packed; empty where the file is only beside the page."""


@dataclass(frozen=True)
class Shown:
    """What the template puts where a figure stands."""

    id: str
    picture: str
    file: str
    """The vector picture beside the page."""
    plot: str
    """For plotly.js, as JSON; empty where only the picture can be shown."""
    downloads: Sequence[Download]
    note: str
    """What the legend says above its entries, which the interactive figure has no place for; and that there is no interactive
    figure, where one could not be made."""


@dataclass(frozen=True)
class Taken:
    """A figure as plotly.js has it: to take it over takes a while, so that whoever wants it twice keeps it."""

    plot: dict[str, Any] | None
    """``None`` where there is no such form."""
    trouble: str
    """What went wrong where there should be one."""


def take_over(figure: Figure, *, laid_out: bool = False) -> Taken:
    """Takes a figure over for plotly.js; one that was just saved is laid out and need not be again."""
    try:
        with ticks_held(figure):
            return Taken(interactive(figure, laid_out=laid_out), "")
    except Exception as error:  # Whatever it is: a page about hours of runs does not end by it, and tells.
        return Taken(None, _trouble(error))


def shown(
    figure: Figure | None,
    svg: Path,
    page: Path,
    *,
    name: str,
    title: str,
    data: Sequence[Download],
    taken: Taken | None = None,
) -> Shown:
    """Prepares a figure that has been written.

    Args:
        figure: the figure itself; the page then also has it for plotly.js.
        svg: where its picture was written.
        page: the page's folder.
        name: of the figure within the page.
        title: for those who cannot see it.
        data: what was drawn, and the tables behind it.
        taken: the figure taken over, where somebody has done so already.
    """
    plot, notes = "", []
    if figure is not None:
        plot, trouble = _for_plotly(taken or take_over(figure))
        notes = [note for note in (legend_note(figure), trouble) if note]
    return Shown(
        id=name,
        picture=inlined(svg.read_text(encoding="utf-8"), title),
        file=svg.relative_to(page).as_posix(),
        plot=plot,
        downloads=data,
        note=". ".join(notes),
    )


def _for_plotly(taken: Taken) -> tuple[str, str]:
    """A figure for plotly.js, and what to say where it could not be made: the page has the picture, and is not lost for it."""
    try:
        text = json.dumps(taken.plot, ensure_ascii=False, allow_nan=False, separators=(",", ":")) if taken.plot else ""
    except (TypeError, ValueError) as error:
        return "", _trouble(error)
    return script_safe(text), taken.trouble


def _trouble(error: Exception) -> str:
    return f"this figure cannot be shown interactively ({type(error).__name__}: {error}); the picture is whole"


def script_safe(text: str) -> str:
    """JSON that may stand inside a script element."""
    return text.replace("<", "\\u003c")


def csv_download(label: str, file: Path, page: Path) -> Download:
    """A table that was written beside the page, taken into it too."""
    content = packed(file.read_text(encoding="utf-8"))
    return Download(label, file.relative_to(page).as_posix(), content)


def drawn(taken: Taken) -> pl.DataFrame:
    """The points of a figure as a tidy table: what a reader sees, to be drawn again elsewhere.

    Returns:
        One row per point: the axes' labels with their units, the series, the kind of mark, ``x`` and ``y`` (names
        where the axis has names), the ends of an interval, and the value of a coloured cell. No row where the figure
        holds what has no counterpart among these.
    """
    plot = taken.plot
    schema = {
        "x_axis": pl.String,
        "y_axis": pl.String,
        "series": pl.String,
        "kind": pl.String,
        "x": pl.String,
        "y": pl.String,
        "low": pl.Float64,
        "high": pl.Float64,
        "value": pl.Float64,
    }
    rows = list(_rows(plot)) if plot else []
    return pl.DataFrame(rows, schema=schema, orient="row")


def _rows(plot: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    shared = {key: axis for key, axis in plot["layout"].items() if key[1:].startswith("axis")}
    for trace in plot["data"]:
        axes = [shared[f"{name}axis{trace[f'{name}axis'][1:]}"] for name in "xy"]
        labels = [_label(axis, name, shared) for axis, name in zip(axes, "xy", strict=True)]
        kind = "area" if trace.get("fill") else "cell" if trace["type"] == "heatmap" else trace["type"]
        kind = {"scatter": trace.get("mode", "")}.get(kind, kind)
        for x, y, low, high, value in _points(trace):
            yield (*labels, trace["name"], kind, _named(x, axes[0]), _named(y, axes[1]), low, high, value)


def _points(trace: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    if trace["type"] == "heatmap":
        middles = [[(a + b) / 2 for a, b in zip(trace[n], trace[n][1:], strict=False)] for n in "xy"]
        for up, row in zip(middles[1], trace["z"], strict=True):
            for across, value in zip(middles[0], row, strict=True):
                yield across, up, None, None, value
        return
    which = next((name for name in "xy" if f"error_{name}" in trace), None)
    for place, (x, y) in enumerate(zip(trace["x"], trace["y"], strict=True)):
        if x is None or y is None:
            continue
        low = high = None
        if which:
            error, middle = trace[f"error_{which}"], x if which == "x" else y
            up, down = error["array"][place], error["arrayminus"][place]
            low, high = (None if down is None else middle - down), (None if up is None else middle + up)
        yield x, y, low, high, None


def _label(axis: Mapping[str, Any], name: str, shared: Mapping[str, Mapping[str, Any]]) -> str:
    """Panels above one another say only once what their common axis is."""
    if "title" in axis:
        return str(axis["title"]["text"])
    linked = {axis.get("matches"), name} - {None}
    others = [other for key, other in shared.items() if key.startswith(name) and other.get("matches", name) in linked]
    return next((str(other["title"]["text"]) for other in others if "title" in other), "")


def _named(value: float, axis: Mapping[str, Any]) -> str:
    if value in axis.get("tickvals", ()) and axis.get("ticktext"):
        return str(axis["ticktext"][axis["tickvals"].index(value)]) or f"{value:g}"
    return f"{value:.6g}"
