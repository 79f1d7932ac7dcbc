"""How figures look: fit for print, readable in grey, vector by default, the same bytes for the same data. What they
show is the business of the other files here."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import ismethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from tailback.calls import checked_call
from tailback.errors import ArgumentError, StorageError, refused
from tailback.plot.held import ticks_held
from tailback.results.files import path_of, write_file

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.cm import ScalarMappable

INK = "#1d1d22"
"""Everything that is not data. The HTML report replaces it by the page's own text colour."""
PAPER = "white"
"""What is left white; nothing, in the HTML report."""
FAINT = "#8a8a94"
"""Reference lines and grids."""
# Lightness falls from the first to the last, so the order survives a photocopy; line styles repeat it.
COLOURS = ("#1f5fa8", "#d9822b", "#2a9d7c", "#b3446c", "#7a68b8", "#8c6d31", "#4ba3c7", "#666670")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "d", "p", "h", "8", "H")
FORMATS = ("svg", "png", "pdf")

_RULES: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "figure.dpi": 100,
    "font.size": 9,
    "grid.alpha": 0.35,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "path.simplify": True,
    "path.simplify_threshold": 0.2,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
    "svg.fonttype": "path",
    "text.color": INK,
    "xtick.color": INK,
    "xtick.labelsize": 8.5,
    "ytick.color": INK,
    "ytick.labelsize": 8.5,
}


HEEDED: Final = (
    "figure.figsize",
    "figure.dpi",
    "savefig.dpi",
    "font.family",
    "font.serif",
    "font.sans-serif",
    "font.monospace",
    "font.cursive",
    "font.fantasy",
    "font.stretch",
    "font.style",
    "font.variant",
    "font.weight",
    "mathtext.fontset",
    "axes.labelsize",
    "axes.titlesize",
    "legend.fontsize",
    "xtick.labelsize",
    "ytick.labelsize",
)
"""Settings of matplotlib that figures of results and sweeps take from the user where they differ from matplotlib's own: how large a
figure is, and its letters. ``font.size`` too, by which all other sizes of letters grow. Colours, marks, lines, grids and limits
stay ours: they say what is what, or are chosen so that a figure shows all of it and can be read in grey."""
_WIDTH, _HEIGHT = 6.4, 3.6
_POINTS = 9.0
"""The size of letters that ours are chosen for."""


def _of_user() -> dict[str, Any]:
    """The settings that the user has made and that we heed."""
    here, theirs = mpl.rcParams, mpl.rcParamsDefault
    own: dict[str, Any] = {}
    if here["font.size"] != theirs["font.size"]:
        grown = here["font.size"] / _POINTS
        own = {name: grown * size for name, size in _RULES.items() if name == "font.size" or name.endswith("size")}
        own = {name: size for name, size in own.items() if not name.startswith("lines.")}
    return own | {name: here[name] for name in HEEDED if here[name] != theirs[name]}


def letters(points: float) -> float:
    """The size of a text of ours, as the user's settings have it, where :func:`style` is."""
    return points * float(mpl.rcParams["font.size"]) / _POINTS


@contextmanager
def unheeded() -> Iterator[None]:
    """Figures drawn inside look as they do everywhere, for pages that are laid out for them."""
    with mpl.rc_context({name: mpl.rcParamsDefault[name] for name in (*HEEDED, "font.size")}):
        yield


@checked_call
@contextmanager
def style(*, heed: bool = False) -> Iterator[None]:
    """Figures made inside look like ours; the user's own matplotlib settings are left alone.

    Args:
        heed: whether figures take the user's size and letters (:data:`HEEDED`).
    """
    own = _of_user() if heed else {}
    cycle = cycler(color=[COLOURS[i % len(COLOURS)] for i in range(24)]) + cycler(
        linestyle=[DASHES[i % len(DASHES)] for i in range(24)]
    )
    rules: dict[Any, Any] = {**dict(mpl.rcParamsDefault), **dict(_RULES), "axes.prop_cycle": cycle, **own}
    rules.pop("backend", None)  # Whatever shows figures to the user stays.
    with mpl.rc_context(rules):
        yield


class Drawing(Figure):
    """A figure of ours. Notebooks show it whether or not pyplot, which teaches them figures, has been imported."""

    grown: float = 0.0
    """Inches of its height that a long legend takes."""
    parts: Sequence[Sequence[str]] = ()
    """The names in the legend, where those of colours and those of marks stand apart."""

    def grow(self, inches: float) -> None:
        """Makes room for a legend that would leave none for the panels."""
        self.grown += inches
        self.set_figheight(self.get_figheight() + inches)

    def draw(self, renderer: Any) -> None:
        """Draws it. Before a figure is saved matplotlib does so once for the layout alone, with whatever leaves a
        mark replaced by functions that do nothing: then the layout will do, and the time of a drawing is saved."""
        engine = self.get_layout_engine()
        if engine is not None and not ismethod(renderer.draw_path):
            engine.execute(self)
        else:
            super().draw(renderer)

    def _repr_png_(self) -> bytes:
        """What a notebook shows."""
        data = io.BytesIO()
        self.savefig(data, format="png", dpi=2 * self.dpi)
        return data.getvalue()


@checked_call
def figure(
    rows: int = 1, columns: int = 1, *, width: float = _WIDTH, height: float = _HEIGHT, **layout: Any
) -> tuple[Figure, list[Axes]]:
    """An empty figure of our looks, sizes in inches, without touching pyplot; axes in reading order. A size of the user's is that
    of a figure with one panel of the usual height; figures of more and of other heights differ from it as they do from ours."""
    size = mpl.rcParams["figure.figsize"]
    if size != mpl.rcParamsDefault["figure.figsize"]:
        width, height = width * size[0] / _WIDTH, height * size[1] / _HEIGHT
    else:  # Room for letters that are larger than ours.
        height *= max(1.0, letters(1.0))
    made = Drawing(figsize=(width, height), layout="constrained")
    axes = made.subplots(rows, columns, squeeze=False, **layout)
    return made, list(axes.ravel())


def canvas(given: Axes | Sequence[Axes] | None, rows: int = 1, **layout: Any) -> tuple[Figure, list[Axes]]:
    """What to draw on: the caller's own axes, one per panel, or those of a new figure where there are none.

    Raises:
        ArgumentError: for other things than axes, or another number of them.
    """
    if given is None:
        return figure(rows, **layout)
    listed = [given] if isinstance(given, Axes) else list(np.ravel(np.asarray(given, dtype=object)))
    if len(listed) != rows or not all(isinstance(one, Axes) for one in listed):
        allowed = "axes of matplotlib" if rows == 1 else f"{rows} axes of matplotlib, one per panel"
        if all(isinstance(one, Axes) for one in listed):
            few = "one of them, as in ax=axes[0]" if rows == 1 else f"{rows} of them, one per panel"
            raise ArgumentError(f"ax: {len(listed)} axes are not allowed; expected {few}")
        raise refused("ax", given, allowed)
    return listed[0].figure, listed  # type: ignore[return-value]  # A part of a figure will do as well as a whole one.


_ABREAST = 3
"""So many panels of equal rank stand side by side."""


def _abreast(count: int) -> int:
    """Of four, two and two look better than three and one."""
    return 2 if count == 4 else min(count, _ABREAST)


def tiles(count: int) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels of equal rank, side by side and below one another, on common axes."""
    wide = _abreast(count)
    rows = -(-count // wide)
    made, axes = figure(rows, wide, height=1.0 + 2.2 * rows, sharex=True, sharey=True)
    for axis in axes[count:]:
        axis.remove()
    return made, axes[:count]


def outer(axes: Sequence[Axes]) -> None:
    """Leaves the labels of :func:`tiles` at the edges alone."""
    wide = _abreast(len(axes))
    for place, axis in enumerate(axes):
        if place + wide < len(axes):
            axis.set_xlabel("")
        axis.tick_params(labelbottom=place + wide >= len(axes), labelleft=place % wide == 0)
        if place % wide:
            axis.set_ylabel("")


@checked_call
def save(made: Figure, target: str | Path, salt: str = "tailback") -> None:
    """Writes a figure; the ending of the file says how: .svg, .png or .pdf.

    Equal figures give equal files. ``salt`` keeps the names inside SVG files apart when several share one page.

    Raises:
        ValueError: for another ending.
        StorageError: where writing fails; nothing half-written is left.
    """
    target = path_of("target", target)
    kind = target.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise StorageError(f"{target}: figures are written as {', '.join('.' + name for name in FORMATS)}")
    # Dates would make every file differ.
    dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}[kind]
    rules: dict[Any, Any] = {"svg.hashsalt": salt, "svg.fonttype": "path", "pdf.fonttype": 42}
    with mpl.rc_context(rules), ticks_held(made):
        write_file(target, lambda path: made.savefig(path, format=kind, metadata=dateless))


def ratios(axis: Axis) -> None:
    """Numbers that can be read on a logarithmic axis: 1, 2 and 5 of each decade, of many decades their beginnings."""
    least, most = axis.get_view_interval()
    steps = (1, 2, 5) if most < 100 * least else (1,)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter("")


def colour_bar(made: Figure, mapped: ScalarMappable, axis: Axes | Sequence[Axes], label: str) -> None:
    """The bar that explains colours, beside a panel or several. matplotlib would make a bitmap of it."""
    bar = made.colorbar(mapped, ax=axis)
    bar.set_label(label)
    bar.outline.set_visible(False)
    bar.solids.set(rasterized=False, edgecolor="face")  # type: ignore[union-attr]  # A bar of a mappable has them.


def line(index: int) -> dict[str, Any]:
    """Colour and dashes of the n-th line of a plot; no two of the first 48 are alike."""
    turns = index // math.lcm(len(COLOURS), len(DASHES))  # After so many, both would come round together.
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[(index + turns) % len(DASHES)]}


def mark(index: int, *, size: float | None = None) -> dict[str, Any]:
    """Colour and mark of the n-th series of a plot; no two of the first :data:`SERIES` are alike."""
    turns, place = divmod(index, len(COLOURS))
    return marked(place, MARKERS[(place + turns) % len(MARKERS)], filled=turns % 2 == 0, size=size)


def marked(colour: int, marker: str, *, filled: bool, size: float | None = None) -> dict[str, Any]:
    """A mark in the n-th colour, full or hollow."""
    shade = COLOURS[colour % len(COLOURS)]
    sized = {} if size is None else {"markersize": size}
    return {"color": shade, "marker": marker, "markerfacecolor": shade if filled else PAPER, **sized}


SERIES = 2 * len(COLOURS) * len(MARKERS)
"""So many series have a look of their own: by colour, mark, and whether it is full."""
