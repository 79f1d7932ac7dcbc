"""How many runs become the series of a figure: which columns tell them apart, and what they are called."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.lines import Line2D
from matplotlib.textpath import TextPath

from tailback.errors import unknown
from tailback.plot.along import span, width_of
from tailback.plot.style import COLOURS, DASHES, Drawing, letters
from tailback.results.units import LABELS
from tailback.units import scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.sweeps import Runs

LONG = 22
"""Longer labels than this do not fit beside a panel."""
ROWS = 3
"""So many rows of a legend fit a figure as it is."""
ROW = 0.175
"""Inches that each further row takes."""
MOST = 24
"""So many lines of one panel have a name each; nobody tells more apart."""
DIFFERENT = len(COLOURS) * len(DASHES)
"""So many lines of a sweep have one: further ones look as others do."""
_SIZE = 8.5
"""Points that the letters of a legend are high."""
_BESIDE = 5.2
"""What an entry of a legend needs beside its name, in heights of a letter: its line, and the space before the next entry."""
_HINTED = 1.06
"""So much wider than its outlines a text may be in a bitmap, where letters begin at whole pixels."""
_HEAD = 8.0
"""Points that the letters of the small line above a panel are high."""
_PER_INCH = 18
"""So many of these letters stand on an inch, on average."""
_LABEL = 9.0
"""Points that the letters of a label of ours are high."""
_COUNTED = re.compile(r"(?<=\d) (?=[A-Za-zµ])")


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


def pooled(runs: Runs, columns: Sequence[str], what: str) -> str:
    """Says which swept fields lie in one series together, so that no figure mixes them in silence; nothing where none do."""
    others = [name for name in runs.axes if name not in columns and runs.table[name].n_unique() > 1]
    said = ", ".join(f"{name} ({span(runs.table[name])})" for name in others)
    return f"each {what}: all values of {said}" if said else ""


def head(axis: Axes, text: str, *, right: str = "") -> None:
    """The small line above a panel: a text, and another at its right end. A text that would cross that one, or leave the figure,
    stands in several lines."""
    room = int(_PER_INCH * width_of(axis) * _HEAD / letters(_HEAD))
    crosses = len(text) > room - len(right) - 2
    # A number stays with its unit.
    lines = textwrap.wrap(_COUNTED.sub("\N{NO-BREAK SPACE}", text), room) if crosses else [text]
    if crosses and right:
        lines.append("")  # Where the other stands.
    axis.set_title("\n".join(lines), loc="left", fontsize=letters(_HEAD))
    axis.set_title(right, loc="right", fontsize=letters(_HEAD))


def legend(
    made: Figure, axes: Sequence[Axes], parts: Sequence[Sequence[str]] | None = None, most: int = DIFFERENT
) -> None:
    """One legend above all panels, where any line has a name; inside the first panel where the figure is the caller's,
    who may have other things above it. ``parts`` names the entries where not every line is to have one; each part begins a row.
    Of more than ``most`` entries in a part the last says how many lines have none."""
    found: dict[str, Any] = {}
    for axis in axes:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            if name and (parts is None or any(name in part for part in parts)):
                found.setdefault(name, handle)
    if not found:
        return
    listed = [_few(part, most) for part in ([list(found)] if parts is None else parts)]
    shown = sum(map(len, listed))
    columns = _columns(listed, made.get_figwidth()) if isinstance(made, Drawing) else 1 + shown // 4
    # matplotlib fills column by column, people read row by row.
    read = _rows(listed, columns)
    names = [name for first in range(columns) for name in read[first::columns]]
    handles = [found.get(name) or _empty() for name in names]
    if isinstance(made, Drawing):
        # Taken from the panels, what many names need would leave nothing of them.
        made.grow(letters(ROW) * max(0, -(-len(names) // columns) - ROWS))
        made.legend(handles, names, loc="outside upper left", ncols=columns)
        made.parts = listed if parts else ()
    else:
        axes[0].legend(handles, names, ncols=columns)


def _few(names: Sequence[str], most: int) -> Sequence[str]:
    """The names of a legend's part that there is room for, and how many more there are."""
    return names if len(names) <= most else [*names[: most - 1], f"and {len(names) - most + 1} more"]


def _empty() -> Line2D:
    """What stands in a legend where nothing does."""
    return Line2D([], [], alpha=0.0)


def _rows(parts: Sequence[Sequence[str]], columns: int) -> list[str]:
    """The entries row by row: every part but the last is filled up, so that the next begins a row."""
    *first, last = parts
    return [name for part in first for name in [*part, *[""] * (-len(part) % columns)]] + list(last)


def _columns(parts: Sequence[Sequence[str]], width: float) -> int:
    """As many as stand side by side in a figure so many inches wide, but no more than this number of rows needs."""
    names = [name for part in parts for name in part]
    size = letters(_SIZE)
    longest = _HINTED * max(TextPath((0.0, 0.0), name, size=size).get_extents().width for name in names)
    most = max(1, min(max(map(len, parts)), 5, int(72.0 * width / (longest + _BESIDE * size))))
    height = sum(-(-len(part) // most) for part in parts)
    return next(few for few in range(1, most + 1) if sum(-(-len(part) // few) for part in parts) == height)


def label_up(axis: Axes, text: str) -> None:
    """Labels the vertical axis of a panel that is one of several: on two lines what is longer than the panel is high."""
    room = max(1, int(LONG * _LABEL * max(letters(1.0), 1.0) / float(axis.yaxis.label.get_fontsize())))
    lines = textwrap.wrap(text, room) if len(text) > room else [text]
    axis.set_ylabel("\n".join(lines))
