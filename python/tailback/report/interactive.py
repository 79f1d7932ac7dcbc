"""A matplotlib figure of ours as a figure of plotly.js: the same curves, to be zoomed and asked for their values.

Panels, axes and texts are made here; what is drawn inside a panel is translated in ``artists.py``. Nothing is drawn or
written here, and no figure knows of this: whatever is drawn for print can be taken over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from tailback.plot.style import FAINT
from tailback.report.artists import Panel, UntranslatableError, colour, taken
from tailback.report.marks import marked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure, SubFigure

POINTS_PER_PIXEL = 0.75
_BAR = "<colorbar>"
BACKED = "backed"
"""The name of notes that stand on a ground of their own, so that lines do not run through their words."""


def interactive(figure: Figure, *, laid_out: bool = False) -> dict[str, Any] | None:
    """What plotly.js draws: ``data``, ``layout``, and where each panel stands.

    Args:
        figure: any figure made with ``tailback.plot.figure``.
        laid_out: whether it stands as it was last drawn, so that its parts have their places.

    Returns:
        ``None`` where the figure holds something that has no counterpart there; the page then shows the vector
        picture alone.
    """
    if not laid_out:
        figure.draw_without_rendering()
    try:
        panels = [_panel(axes, number) for number, axes in enumerate(_panels(figure))]
        data = [trace for panel in panels for trace in panel.traces]
    except UntranslatableError:
        return None
    _legend(figure, data)
    layout: dict[str, Any] = {
        "shapes": [shape for panel in panels for shape in panel.shapes],
        "annotations": [note for panel in panels for note in panel.notes],
    }
    for panel in panels:
        layout[f"xaxis{panel.suffix}"], layout[f"yaxis{panel.suffix}"] = panel.x, panel.y
    # A legend takes half of the height there at most, and then scrolls.
    legend = getattr(figure, "grown", 0.0)
    panels_alone = figure.get_figheight() - legend
    height = panels_alone + min(legend, panels_alone)
    return {
        "data": data,
        "layout": layout,
        "panels": [{"suffix": panel.suffix, "row": panel.row, "column": panel.column} for panel in panels],
        "rows": max((panel.rows for panel in panels), default=1),
        "columns": max((panel.columns for panel in panels), default=1),
        "heights": _heights(figure),
        "height": round(float(height) * 100),
    }


def _panels(figure: Figure | SubFigure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.get_label() != _BAR and axes.get_visible()]


def _panel(axes: Axes, number: int) -> Panel:
    place = axes.get_subplotspec()
    if (
        place is None
        or not (place.rowspan.start + 1 == place.rowspan.stop)
        or place.colspan.stop > place.colspan.start + 1
    ):
        raise UntranslatableError("panels that are no plain grid")
    grid = place.get_gridspec()
    panel = Panel(
        axes=axes,
        suffix="" if number == 0 else str(number + 1),
        row=place.rowspan.start,
        column=place.colspan.start,
        rows=grid.nrows,
        columns=grid.ncols,
    )
    panel.x = {**_axis(axes.xaxis, axes.get_xlim()), "anchor": f"y{panel.suffix}"}
    panel.y = {**_axis(axes.yaxis, axes.get_ylim()), "anchor": f"x{panel.suffix}"}
    _link(axes, panel)
    panel.traces.extend(taken(axes, panel))
    _name_bars(axes, panel)
    panel.notes.extend(_notes(axes, panel))
    return panel


def _axis(axis: Axis, limits: tuple[float, float]) -> dict[str, Any]:
    scale = axis.get_scale()
    if scale not in {"linear", "log"}:
        raise UntranslatableError(f"an axis to the scale {scale}")
    ends = [math.log10(end) for end in limits] if scale == "log" else list(limits)
    told: dict[str, Any] = {"type": scale, "range": [float(f"{end:.6g}") for end in ends]}
    label = axis.get_label_text()
    if label:
        told["title"] = {"text": marked(label)}
    if isinstance(axis.get_major_locator(), NullLocator) or isinstance(axis.get_major_formatter(), NullFormatter):
        told["showticklabels"] = False
    elif isinstance(axis.get_major_locator(), FixedLocator):
        ticks = axis.get_major_ticks()
        told["tickvals"] = [float(place) for place in axis.get_majorticklocs()]
        told["ticktext"] = [marked(tick.label1.get_text()) for tick in ticks][: len(told["tickvals"])]
    if not axis.get_tick_params().get("gridOn", True):
        told["showgrid"] = False
    return told


def _link(axes: Axes, panel: Panel) -> None:
    """Panels that share an axis are zoomed together, and only the outermost says what its numbers are."""
    others = _panels(axes.figure)
    for name, group in (("x", axes.get_shared_x_axes()), ("y", axes.get_shared_y_axes())):
        shared = [other for other in others if group.joined(axes, other)]
        told = panel.x if name == "x" else panel.y
        if len(shared) > 1 and shared[0] is not axes:
            first = others.index(shared[0])
            told["matches"] = f"{name}{'' if first == 0 else first + 1}"
        ticks = axes.xaxis.get_tick_params() if name == "x" else axes.yaxis.get_tick_params()
        if not ticks.get("labelbottom" if name == "x" else "labelleft", True):
            told["showticklabels"] = False


def _name_bars(axes: Axes, panel: Panel) -> None:
    """Colour bars stand beside the first trace that has a scale of colours."""
    for other in axes.figure.axes:
        if other.get_label() != _BAR:
            continue
        scaled = [trace for trace in panel.traces if "colorscale" in trace or "colorscale" in trace.get("marker", {})]
        for trace in scaled[:1]:
            owner = trace if "colorscale" in trace else trace["marker"]
            owner["showscale"] = True
            owner["colorbar"] = {"title": {"text": marked(other.get_ylabel()), "side": "right"}}


def _notes(axes: Axes, panel: Panel) -> Iterator[dict[str, Any]]:
    """The panel's titles, and what is written into it."""
    titles = {"left": axes.get_title(loc="left") or axes.get_title(), "right": axes.get_title(loc="right")}
    for side, title in titles.items():
        if title:
            yield {
                "text": marked(title),
                "xref": f"x{panel.suffix} domain",
                "yref": f"y{panel.suffix} domain",
                "x": 0 if side == "left" else 1,
                "y": 1,
                "xanchor": side,
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"size": 12},
                "captureevents": False,
            }
    for text in axes.texts:
        if text.get_text().strip() and text.get_visible():
            yield _note(axes, text, panel)


def _note(axes: Axes, text: Text, panel: Panel) -> dict[str, Any]:
    figure = axes.get_figure(root=True)
    assert figure is not None
    # Letters are as wide as on a screen, whatever file the figure was drawn for. Matplotlib says no types of this class.
    screen = RendererAgg(figure.bbox.width, figure.bbox.height, figure.dpi)  # type: ignore[no-untyped-call]
    if isinstance(text, Annotation):
        text.update_positions(screen)
    box = Text.get_window_extent(text, screen)  # An annotation's own would hold its arrow too.
    across = {"left": box.x0, "center": (box.x0 + box.x1) / 2, "right": box.x1}[text.get_horizontalalignment()]
    up = {"bottom": box.y0, "top": box.y1}.get(text.get_verticalalignment(), (box.y0 + box.y1) / 2)
    inside = axes.transAxes.inverted().transform((across, up))
    note: dict[str, Any] = {
        "text": marked(text.get_text()),
        "xanchor": text.get_horizontalalignment(),
        "yanchor": {"bottom": "bottom", "top": "top"}.get(text.get_verticalalignment(), "middle"),
        "font": {"size": round(float(text.get_fontsize()) / POINTS_PER_PIXEL), "color": colour(text.get_color())},
        "showarrow": False,
        "xref": f"x{panel.suffix} domain",
        "yref": f"y{panel.suffix} domain",
        "x": round(float(inside[0]), 4),
        "y": round(float(inside[1]), 4),
    }
    if text.get_bbox_patch() is not None:
        note["name"] = BACKED
    if isinstance(text, Annotation):
        _anchor(axes, text, note, panel, (across, up))
    elif text.get_transform() is axes.transData:
        _in_data(axes, note, panel, text.get_position())
    elif text.get_transform().contains_branch(axes.transData):
        pixels = text.get_transform().transform(text.get_position())
        _in_data(axes, note, panel, axes.transData.inverted().transform(pixels))
    return note


def _anchor(axes: Axes, text: Annotation, note: dict[str, Any], panel: Panel, at: tuple[float, float]) -> None:
    """A note that belongs to a point of the data stays with it; its distance from there is kept in pixels."""
    if text.xycoords == "data":
        tip = axes.transData.transform(text.xy)
        _in_data(axes, note, panel, text.xy)
    elif text.xycoords == "axes fraction":
        tip = axes.transAxes.transform(text.xy)
        note.update(x=float(text.xy[0]), y=float(text.xy[1]))
    else:
        return
    scale = 100.0 / axes.figure.dpi
    away = [round((at[0] - tip[0]) * scale), round((tip[1] - at[1]) * scale)]
    if text.arrowprops is not None:
        note.update(showarrow=True, ax=away[0], ay=away[1], arrowhead=2, arrowwidth=1, arrowcolor=note["font"]["color"])
    else:
        note.update(xshift=away[0], yshift=-away[1])


def _in_data(axes: Axes, note: dict[str, Any], panel: Panel, at: Any) -> None:
    """Puts a note where it was put: the way over pixels and back would move it by what the layout rounds."""
    x, y = (float(value) for value in at)
    note["xref"], note["yref"] = f"x{panel.suffix}", f"y{panel.suffix}"
    note["x"] = math.log10(x) if axes.get_xscale() == "log" else x
    note["y"] = math.log10(y) if axes.get_yscale() == "log" else y


def _legends(figure: Figure) -> list[Any]:
    inside = [axes.get_legend() for axes in figure.axes]
    return [legend for legend in [*figure.legends, *inside] if legend is not None]


def legend_note(figure: Figure) -> str:
    """What stands above a legend's entries, on one line: a legend in one row has no place for it."""
    titles = [legend.get_title().get_text() for legend in _legends(figure)]
    return "; ".join(dict.fromkeys(", ".join(title.splitlines()) for title in titles if title))


def _legend(figure: Figure, data: Sequence[dict[str, Any]]) -> None:
    """Names that the figure's legends hold are shown once, and switch all traces of that name and colour. Colours and marks that
    stand apart have a legend each."""
    named = {text.get_text() for legend in _legends(figure) for text in legend.get_texts()} - {""}
    marks = {name for part in getattr(figure, "parts", ())[1:] for name in part}
    seen: set[tuple[str, str]] = set()
    for trace in data:
        look = trace.get("line", {}).get("color") or trace.get("marker", {}).get("color") or FAINT
        key = (trace["name"], str(look))
        trace["showlegend"] = trace["name"] in named and key not in seen
        if trace["name"] in named:
            trace["legendgroup"] = f"{trace['name']} {look}"
            seen.add(key)
        if trace["name"] in marks:
            trace["legend"] = "legend2"  # Below that of the colours.
        trace["name"] = marked(trace["name"])


def _heights(figure: Figure) -> list[float]:
    panels = _panels(figure)
    place = panels[0].get_subplotspec() if panels else None
    if place is None:
        return [1.0]
    grid = place.get_gridspec()
    return [float(ratio) for ratio in np.broadcast_to(np.asarray(grid.get_height_ratios(), dtype=float), grid.nrows)]
