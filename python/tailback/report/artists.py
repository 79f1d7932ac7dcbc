"""What is drawn inside a panel, artist by artist, as traces and shapes of plotly.js. Axes and texts are made in
``interactive.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colors
from matplotlib.collections import Collection, LineCollection, PathCollection, PolyCollection, QuadMesh
from matplotlib.container import BarContainer, Container, ErrorbarContainer
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from tailback.plot.style import INK

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from numpy.typing import NDArray

DIGITS = 6
_MARKERS = {
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "v": "triangle-down",
    "<": "triangle-left",
    ">": "triangle-right",
    "D": "diamond",
    "d": "diamond-tall",
    "P": "cross",
    "+": "cross-thin-open",
    "X": "x",
    "x": "x-thin-open",
    "*": "star",
    "p": "pentagon",
    "h": "hexagon2",
    "H": "hexagon",
    "8": "octagon",
    ".": "circle",
    "_": "line-ew-open",
    "|": "line-ns-open",
}
_STEPS = {"steps-post": "hv", "steps-pre": "vh", "steps": "vh", "steps-mid": "hvh"}
_PIXELS = 100.0 / 72.0


class UntranslatableError(Exception):
    """The figure holds something that plotly.js has no counterpart for."""


@dataclass
class Panel:
    """One panel of a figure, as plotly.js names its parts."""

    axes: Axes
    suffix: str
    row: int
    column: int
    rows: int
    columns: int
    x: dict[str, Any] = field(default_factory=dict)
    y: dict[str, Any] = field(default_factory=dict)
    traces: list[dict[str, Any]] = field(default_factory=list)
    shapes: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)


def taken(axes: Axes, panel: Panel) -> Iterator[dict[str, Any]]:
    """The panel's traces, in the order in which they cover each other; straight reference lines and shaded spans go
    into ``panel.shapes``.

    Raises:
        UntranslatableError: where something has no counterpart.
    """
    if axes.images or axes.tables:
        raise UntranslatableError("a bitmap or a table")
    done: set[Artist] = set()
    found: list[tuple[float, dict[str, Any]]] = []
    for container in axes.containers:
        if isinstance(container, ErrorbarContainer):
            found.extend(_with_errors(container, done))
        elif isinstance(container, BarContainer):
            found.append(_bars(container, axes, done))
    for artist in (*axes.collections, *axes.patches, *axes.lines):
        is_empty = isinstance(artist, PolyCollection) and not artist.get_paths()  # A band around nothing but gaps.
        if artist in done or is_empty or not artist.get_visible():
            continue
        across, up = artist.get_transform().contains_branch_seperately(axes.transData)
        if (across and up) or isinstance(artist, Collection):
            found.append((artist.get_zorder(), _trace(artist, axes)))
        elif across or up:  # A reference line or a shaded span, of the panel's whole width or height.
            panel.shapes.append(_shape(artist, panel, across=across))
    for _, trace in sorted(found, key=lambda entry: entry[0]):
        trace["xaxis"], trace["yaxis"] = f"x{panel.suffix}", f"y{panel.suffix}"
        yield trace


def _trace(artist: Artist, axes: Axes) -> dict[str, Any]:
    if isinstance(artist, Line2D):
        return _line(artist)
    if isinstance(artist, Patch):
        return _area(artist, axes)
    for kind, translate in _COLLECTIONS.items():
        if isinstance(artist, kind):
            return translate(artist)
    raise UntranslatableError(type(artist).__name__)


def _shape(artist: Artist, panel: Panel, *, across: bool) -> dict[str, Any]:
    if isinstance(artist, Line2D):
        return _straight(artist, panel, across=across)
    if isinstance(artist, Rectangle):
        return _span(artist, panel, across=across)
    raise UntranslatableError(type(artist).__name__)


def colour(value: Any, alpha: float | None = None) -> str:
    """A colour of matplotlib's for HTML. Our ink stays as it is written, so that the page can put in its own."""
    red, green, blue, opaque = colors.to_rgba(value)
    if alpha is not None:
        opaque *= alpha if opaque == 1.0 else 1.0
    if opaque == 1.0:
        return colors.to_hex((red, green, blue))
    return f"rgba({round(255 * red)},{round(255 * green)},{round(255 * blue)},{opaque:.3g})"


def numbers(values: Any) -> list[float | None]:
    """Numbers with as many digits as can be seen; what is not finite leaves a gap."""
    read: NDArray[np.float64] = np.ma.filled(np.ma.asarray(values, dtype=np.float64), np.nan).ravel()
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in read]


def _name(artist: Artist | Container) -> str:
    label = str(artist.get_label())
    return "" if label.startswith("_") else label


def _look(line: Line2D) -> dict[str, Any]:
    """Mode, line and marker of a trace."""
    told: dict[str, Any] = {"type": "scatter", "opacity": line.get_alpha() or 1.0}
    drawn = line.get_linestyle() not in {"None", "none", "", " "} and line.get_linewidth() > 0
    marker = line.get_marker()
    sign = _MARKERS.get(marker) if isinstance(marker, str) else None
    told["mode"] = "+".join(["lines"] * drawn + ["markers"] * (sign is not None)) or "none"
    if drawn:
        told["line"] = {"color": colour(line.get_color()), "width": round(line.get_linewidth() * _PIXELS, 2)}
        if dashes := _dashes(line):
            told["line"]["dash"] = dashes
        if (steps := _STEPS.get(line.get_drawstyle())) is not None:
            told["line"]["shape"] = steps
    if sign is not None:
        size = line.get_markersize() * _PIXELS * (0.5 if marker == "." else 1.0)
        face, edge = line.get_markerfacecolor(), line.get_markeredgecolor()
        hollow = isinstance(face, str) and face.lower() in {"none", "white", "w"}
        told["marker"] = {
            "symbol": f"{sign}-open" if hollow and not sign.endswith("-open") else sign,
            "size": round(size, 1),
            "color": colour(edge if hollow else face),
        }
    return told


def _dashes(line: Line2D) -> str:
    pattern = getattr(line, "_dash_pattern", (0, None))[1]
    return ",".join(f"{length * _PIXELS:.2g}px" for length in pattern) if pattern else ""


def _line(line: Line2D) -> dict[str, Any]:
    return {
        **_look(line),
        "name": _name(line),
        "x": numbers(line.get_xdata(orig=False)),
        "y": numbers(line.get_ydata(orig=False)),
    }


def _straight(line: Line2D, panel: Panel, *, across: bool) -> dict[str, Any]:
    x, y = (numbers(line.get_xdata(orig=False)), numbers(line.get_ydata(orig=False)))
    look = {"color": colour(line.get_color(), line.get_alpha()), "width": round(line.get_linewidth() * _PIXELS, 2)}
    if dashes := _dashes(line):
        look["dash"] = dashes
    shape = {"type": "line", "x0": x[0], "x1": x[-1], "y0": y[0], "y1": y[-1], "line": look}
    return {**shape, **_where(panel, across=across, up=not across), "layer": "below"}


def _where(panel: Panel, *, across: bool, up: bool) -> dict[str, Any]:
    return {
        "xref": f"x{panel.suffix}" + ("" if across else " domain"),
        "yref": f"y{panel.suffix}" + ("" if up else " domain"),
    }


def _span(patch: Rectangle, panel: Panel, *, across: bool) -> dict[str, Any]:
    """A span of one axis, shaded over the whole of the other."""
    left, low = patch.get_xy()
    ends = {"x0": left, "x1": left + patch.get_width(), "y0": low, "y1": low + patch.get_height()}
    fill = colour(patch.get_facecolor(), patch.get_alpha())
    where = _where(panel, across=across, up=not across)
    return {"type": "rect", **ends, "fillcolor": fill, "line": {"width": 0}, "layer": "below", **where}


def _area(patch: Patch, axes: Axes) -> dict[str, Any]:
    """Any closed shape in the panel's coordinates: an ellipse, a box, a polygon."""
    # Curves are flattened in pixels: in the coordinates' own units that may be too coarse.
    pixels = patch.get_transform().transform_path(patch.get_path())
    rings = [axes.transData.inverted().transform(ring) for ring in pixels.to_polygons()]
    if not rings:
        return {"type": "scatter", "name": "", "x": [], "y": []}
    outline = np.vstack([part for ring in rings for part in (ring, [[np.nan, np.nan]])])[:-1]
    return {
        "type": "scatter",
        "mode": "lines",
        "fill": "toself",
        "hoverinfo": "skip",
        "name": _name(patch),
        "x": numbers(outline[:, 0]),
        "y": numbers(outline[:, 1]),
        "fillcolor": colour(patch.get_facecolor(), None),
        "line": {"color": colour(patch.get_edgecolor()), "width": round(patch.get_linewidth() * _PIXELS, 2)},
    }


def _band(band: PolyCollection) -> dict[str, Any]:
    """What ``fill_between`` fills."""
    rings = [path.vertices for path in band.get_paths()]
    outline = np.vstack([part for ring in rings for part in (ring, [[np.nan, np.nan]])])[:-1]
    faces = np.asarray(band.get_facecolor())
    return {
        "type": "scatter",
        "mode": "lines",
        "fill": "toself",
        "hoverinfo": "skip",
        "name": _name(band),
        "x": numbers(outline[:, 0]),
        "y": numbers(outline[:, 1]),
        "fillcolor": colour(faces[0] if len(faces) else "none"),
        "line": {"width": 0},
    }


def _segments(lines: LineCollection) -> dict[str, Any]:
    ends = [part for segment in lines.get_segments() for part in (np.asarray(segment), [[np.nan, np.nan]])]
    points = np.vstack(ends) if ends else np.empty((0, 2))
    shades, widths = np.asarray(lines.get_color()), np.atleast_1d(lines.get_linewidth())
    return {
        "type": "scatter",
        "mode": "lines",
        "name": _name(lines),
        "x": numbers(points[:, 0]),
        "y": numbers(points[:, 1]),
        "line": {"color": colour(shades[0] if len(shades) else INK), "width": round(float(widths[0]) * _PIXELS, 2)},
    }


def _scattered(points: PathCollection) -> dict[str, Any]:
    places = np.ma.filled(np.ma.asarray(points.get_offsets(), dtype=np.float64), np.nan)
    marker: dict[str, Any] = {"size": [round(float(np.sqrt(size)) * _PIXELS, 1) for size in points.get_sizes()]}
    if len(marker["size"]) == 1:
        marker["size"] = marker["size"][0]
    values = points.get_array()
    if values is None:
        faces = np.asarray(points.get_facecolor())
        shades = faces if len(faces) else np.asarray(points.get_edgecolor())
        told = [colour(shade) for shade in shades]
        marker["color"] = told[0] if len(told) == 1 else told
    else:
        marker |= {"color": numbers(values), **_scale(points)}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": _name(points),
        "x": numbers(places[:, 0]),
        "y": numbers(places[:, 1]),
        "marker": marker,
    }


def _scale(mapped: ScalarMappable) -> dict[str, Any]:
    """The scale of colours of something that shows values by them."""
    if not isinstance(mapped.norm, colors.Normalize) or isinstance(mapped.norm, colors.LogNorm):
        raise UntranslatableError("a scale of colours that is not linear")
    steps = np.linspace(0.0, 1.0, 12)
    told = [[round(float(step), 4), colors.to_hex(mapped.get_cmap()(step))] for step in steps]
    return {"colorscale": told, "cmin": mapped.norm.vmin, "cmax": mapped.norm.vmax}


def _cells(mesh: QuadMesh) -> dict[str, Any]:
    edges, values = np.asarray(mesh.get_coordinates(), dtype=np.float64), mesh.get_array()
    if values is None or np.ndim(values) != 2:
        raise UntranslatableError("a mesh without a grid of values")
    scale = _scale(mesh)
    return {
        "type": "heatmap",
        "name": _name(mesh),
        "x": numbers(edges[0, :, 0]),
        "y": numbers(edges[:, 0, 1]),
        "z": [numbers(row) for row in np.ma.asarray(values)],
        "colorscale": scale["colorscale"],
        "zmin": scale["cmin"],
        "zmax": scale["cmax"],
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
    }


def _with_errors(container: ErrorbarContainer, done: set[Artist]) -> Iterator[tuple[float, dict[str, Any]]]:
    """Marks or a line with its intervals, as one trace: the interval is told beside the value."""
    line, caps, bars = container.lines
    done.update([*caps, *bars, *([line] if line is not None else [])])
    if line is None or len(bars) > 1:
        for bar in bars:
            yield bar.get_zorder(), {**_segments(bar), "name": _name(container)}
        if line is not None:
            yield line.get_zorder(), {**_line(line), "name": _name(container)}
        return
    trace = {**_line(line), "name": _name(container)}
    for bar in bars:
        ends: NDArray[np.float64] = np.array([_ends(segment) for segment in bar.get_segments()])
        which = 0 if container.has_xerr else 1
        middle = np.asarray(line.get_ydata(orig=False) if which else line.get_xdata(orig=False), dtype=np.float64)
        if len(ends) != len(middle):
            yield bar.get_zorder(), {**_segments(bar), "name": _name(container)}
            continue
        trace["error_y" if which else "error_x"] = {
            "type": "data",
            "symmetric": False,
            "array": numbers(ends[:, 1, which] - middle),
            "arrayminus": numbers(middle - ends[:, 0, which]),
            "thickness": 1.1,
            "width": 3,
            "color": colour(bar.get_colors()[0]),
        }
    yield line.get_zorder(), trace


def _ends(segment: Any) -> NDArray[np.float64]:
    """Where a bar begins and ends; where there is no value, matplotlib has none."""
    points = np.asarray(segment, dtype=np.float64)
    return points[[0, -1]] if len(points) else np.full((2, 2), np.nan)


def _bars(container: BarContainer, axes: Axes, done: set[Artist]) -> tuple[float, dict[str, Any]]:
    boxes = [patch for patch in container.patches if isinstance(patch, Rectangle)]
    done.update(boxes)
    upright = container.orientation != "horizontal"
    shades = [colour(box.get_facecolor()) for box in boxes]
    middles = [box.get_x() + box.get_width() / 2 if upright else box.get_y() + box.get_height() / 2 for box in boxes]
    feet = np.array([box.get_y() if upright else box.get_x() for box in boxes], dtype=np.float64)
    tops = feet + [box.get_height() if upright else box.get_width() for box in boxes]
    scale, limits = (axes.get_yscale(), axes.get_ylim()) if upright else (axes.get_xscale(), axes.get_xlim())
    if scale == "log":  # There is no zero to stand on.
        feet = np.maximum(feet, min(limits))
    return boxes[0].get_zorder() if boxes else 1.0, {
        "type": "bar",
        "name": _name(container),
        "orientation": "v" if upright else "h",
        "x" if upright else "y": numbers(middles),
        "y" if upright else "x": numbers(tops - feet),
        "base": numbers(feet),
        "width": numbers([box.get_width() if upright else box.get_height() for box in boxes]),
        "marker": {"color": shades[0] if len(set(shades)) == 1 else shades},
    }


_COLLECTIONS: dict[type[Collection], Callable[[Any], dict[str, Any]]] = {
    QuadMesh: _cells,
    PathCollection: _scattered,
    LineCollection: _segments,
    PolyCollection: _band,
}
