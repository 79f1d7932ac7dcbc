"""Where the values of a swept field stand along an axis: quantities of one kind to scale, everything else side by side
under its name."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tailback.plot.style import letters, line
from tailback.units import KINDS, number

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

_DECADES = 15.0
"""Values that differ by more than this factor stand on a logarithmic axis, where no one is zero."""
_LISTED = 6
"""More names than these are cut short."""
LETTER = 0.075
"""Inches that a letter of a tick's name is wide, on average."""
LINE = 0.16
"""Inches that a line of ticks' names is high."""
TURNED = 0.15
"""Inches of an axis that a name takes which stands obliquely below it."""
_SIGNS = {"us": "µs", "μs": "µs"}
"""Units as they are printed, however they were typed."""
_FILLED = 0.8
"""The part of a panel's width between its first and its last place, margins and labels of the other axis taken off."""
_COUNTED = re.compile(r"([0-9.]+) (.+)")


@dataclass(frozen=True)
class Along:
    """A field's values along an axis."""

    places: dict[object, float]
    names: list[str] | None
    """Their names where they stand side by side, ``None`` where they stand to scale."""
    label: str
    log: bool = False

    def beside(self, values: pl.Series, index: int, count: int) -> NDArray[np.float64]:
        """Where the marks of one of so many series stand: beside each other at names, where they would hide each other."""
        x = np.array([self.places[value] for value in values])
        return x if self.names is None else x + min(0.08, 0.6 / count) * (index - 0.5 * (count - 1))

    def dashes(self, index: int) -> Any:
        """How the line of a series is drawn: not at all between names, which have no order."""
        return line(index)["linestyle"] if self.names is None else "none"

    def settle(self, axis: Axes) -> None:
        """Sets the scale, the ticks and the label."""
        axis.set_xlabel(self.label)
        if self.names is not None:
            step = every(self.names, width_of(axis), letters(TURNED))
            axis.set_xticks(range(0, len(self.names), step), self.names[::step])
            axis.set_xlim(-0.5, len(self.names) - 0.5)
            if len(self.names) * (max(map(len, self.names)) + 1) * LETTER > width_of(axis):
                axis.tick_params(axis="x", labelrotation=40.0)
                for tick in axis.get_xticklabels():  # The end of a name stands below its place.
                    tick.set(horizontalalignment="right", rotation_mode="anchor")
        elif self.log:
            axis.set_xscale("log")
            axis.minorticks_off()
            places = sorted(self.places.values())
            axis.set_xticks(places, _apart(places, width_of(axis)))


def width_of(axis: Axes) -> float:
    """A panel's width in inches, before labels take their part of it."""
    return float(axis.get_window_extent().width) / axis.get_figure(root=True).dpi  # type: ignore[union-attr]  # Every axis that is drawn on has a figure.


def height_of(axis: Axes) -> float:
    """A panel's height in inches, before labels take their part of it."""
    return float(axis.get_window_extent().height) / axis.get_figure(root=True).dpi  # type: ignore[union-attr]  # Likewise.


def wide(texts: Sequence[str]) -> float:
    """Inches that each of some ticks' names needs, one beside the other."""
    return letters(LETTER) * (max(map(len, texts)) + 1)


def every(texts: Sequence[str], inches: float, each: float) -> int:
    """Of how many ticks' names one is written, so that they do not lie on each other: each takes some inches of so many."""
    return max(1, -(-len(texts) // max(1, int(inches / each))))


def _apart(places: Sequence[float], width: float) -> list[str]:
    """What to write at places of a logarithmic axis: nothing where it would lie on the one before."""
    per_inch = math.log(places[-1] / places[0]) / (_FILLED * width)
    texts, free = [], -math.inf
    for place in places:
        half = 0.5 * (len(f"{place:g}") + 1) * LETTER * per_inch
        clear = math.log(place) - half >= free
        texts.append(f"{place:g}" if clear else "")
        free = math.log(place) + half if clear else free
    return texts


def along(field: str, values: pl.Series) -> Along:
    """Where each distinct value of a field stands."""
    distinct = values.unique(maintain_order=True).to_list()
    sizes, unit = _sizes(distinct)
    if sizes is None:
        names = [str(value) for value in distinct]
        return Along({value: float(place) for place, value in enumerate(distinct)}, names, field)
    small, large = min(sizes), max(sizes)
    label = f"{field} ({unit})" if unit else field
    spread = len(sizes) > 2 and small > 0.0 and large > _DECADES * small
    return Along(dict(zip(distinct, sizes, strict=True)), None, label, log=spread)


def in_order(values: pl.Series) -> list[object]:
    """Distinct values in growing order where they are numbers or quantities of one kind, as they came otherwise."""
    distinct = values.unique(maintain_order=True).to_list()
    sizes, _ = _sizes(distinct)
    return list(distinct) if sizes is None else [distinct[row] for row in np.argsort(sizes, kind="stable")]


def is_quantity(values: pl.Series) -> bool:
    """Whether values are numbers or quantities of one kind, and no mere names."""
    return _sizes(values.unique(maintain_order=True).to_list())[0] is not None


def in_short(field: str, values: Sequence[object]) -> tuple[list[str], str]:
    """What to write at each of some values, and at the side they stand at: their common unit is written once."""
    sizes, unit = _sizes(values)
    if sizes is None:
        return [str(value) for value in values], field
    return [f"{size:g}" for size in sizes], f"{field} ({unit})" if unit else field


def span(values: pl.Series) -> str:
    """Which values there are, for a reader: from where to where, or their names."""
    listed = in_order(values)
    if is_quantity(values) and len(listed) > 2:
        return f"{listed[0]} to {listed[-1]}"
    return ", ".join(str(value) for value in listed[:_LISTED]) + (", …" if len(listed) > _LISTED else "")


def _sizes(values: Sequence[object]) -> tuple[list[float] | None, str]:
    """Numbers with their common unit; ``None`` where they have none."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return [float(value) for value in values], ""  # type: ignore[arg-type]  # They are numbers, as was just seen.
    parts = [_COUNTED.fullmatch(value) if isinstance(value, str) else None for value in values]
    units = {part[2] for part in parts if part}
    if any(part is None for part in parts) or not units:
        return None, ""
    try:
        if len(units) == 1:  # "10 packets", and "4 reno" too.
            unit = units.pop()
            return [float(part[1]) for part in parts if part], _SIGNS.get(unit, unit)
        if any(units <= set(kind) for kind in KINDS):
            unit = max(units, key=lambda name: number(f"1 {name}"))
            return [number(str(value)) / number(f"1 {unit}") for value in values], _SIGNS.get(unit, unit)
    except ValueError:
        pass
    return None, ""
