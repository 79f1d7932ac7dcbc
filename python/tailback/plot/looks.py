"""How the series of a figure of many runs look where several columns tell them apart, and what the legend then says. Colours,
marks and dashes themselves are in ``style.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tailback.errors import refused
from tailback.plot.style import COLOURS, INK, MARKERS, PAPER, SERIES, mark, marked

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from tailback.plot.along import Along

NAMED = 12
"""More series than this have no entry each in the legend, if colours and marks can be explained apart."""


class Looks:
    """Colours tell the first column's values apart, marks the others'; with one column, both do. Marks of every other
    colour are hollow, for in grey its neighbours look alike; beyond the colours and the marks that there are, those that
    come again are hollow where the first were full.

    Raises:
        ArgumentError: where there are more series than looks.
    """

    def __init__(self, points: pl.DataFrame, columns: Sequence[str], *, size: float | None = None) -> None:
        self._firsts, self._others = self._values(points, columns)
        self._columns, self._size = list(columns), size
        if not self.fit(points, columns):
            count = len(self._firsts) * len(self._others) if self._several else len(self._firsts)
            given = ", ".join(columns)
            raise refused("by", given, f"fewer than the {count} series of this, which no look tells apart; select some")

    @classmethod
    def fit(cls, points: pl.DataFrame, columns: Sequence[str]) -> bool:
        """Whether every series has a look of its own."""
        firsts, others = cls._values(points, columns)
        if len(columns) < 2:
            return len(firsts) <= SERIES
        return -(-len(firsts) // len(COLOURS)) * -(-len(others) // len(MARKERS)) <= 2

    @staticmethod
    def _values(points: pl.DataFrame, columns: Sequence[str]) -> tuple[list[Any], list[Any]]:
        rows = points.select(columns).unique(maintain_order=True).rows() if columns else [()]
        return list(dict.fromkeys(row[:1] for row in rows)), list(dict.fromkeys(row[1:] for row in rows))

    @property
    def _several(self) -> bool:
        return len(self._columns) > 1

    @property
    def by_parts(self) -> bool:
        """Whether the legend has an entry for each colour and for each mark, where one for each series would take much of the
        figure."""
        apart, each = len(self._firsts) + len(self._others), len(self._firsts) * len(self._others)
        return self._several and each > NAMED and apart < each

    def of(self, values: tuple[object, ...]) -> dict[str, Any]:
        """Colour and mark of a combination of values."""
        first = self._firsts.index(values[:1])
        if not self._several:
            return mark(first, size=self._size)
        other = self.place(values)
        full = (first + first // len(COLOURS) + other // len(MARKERS)) % 2 == 0
        return marked(first, MARKERS[other % len(MARKERS)], filled=full, size=self._size)

    def place(self, values: tuple[object, ...]) -> int:
        """Which of the marks a combination of values has."""
        return self._others.index(values[1:])

    def explained(self, axis: Axes, dashes: Callable[[int], Any] = lambda _: "none") -> list[list[str]] | None:
        """The names in the legend: ``None`` for those of each series, or, :attr:`by_parts`, those of the colours and those of
        the marks, which then have an entry without points in the panel. ``dashes`` says how the line of each mark is drawn."""
        if not self.by_parts:
            return None
        sized = {} if self._size is None else {"markersize": self._size}
        named = {", ".join(map(str, value)) for value in self._firsts}
        twice = not named.isdisjoint(", ".join(map(str, value)) for value in self._others)
        for value in self._firsts:
            # Of a line, the colour says enough.
            plain = {"marker": "o", "linestyle": "none"} if dashes(0) == "none" else {"marker": "", "linestyle": "-"}
            look = self.of((*value, *self._others[0])) | plain
            self._explain(axis, self._columns[:1], value, look, twice=twice)
        for place, value in enumerate(self._others):
            face = INK if place < len(MARKERS) else PAPER
            sign = {"color": INK, "marker": MARKERS[place % len(MARKERS)], "markerfacecolor": face, **sized}
            self._explain(axis, self._columns[1:], value, {"linestyle": dashes(place), **sign}, twice=twice)
        names = [str(line.get_label()) for line in axis.get_lines()[-len(self._firsts) - len(self._others) :]]
        return [names[: len(self._firsts)], names[len(self._firsts) :]]

    @staticmethod
    def _explain(axis: Axes, columns: Sequence[str], values: Sequence[object], look: Any, *, twice: bool) -> None:
        """An entry of the legend. Values that colours and marks both have are told apart by their columns."""
        pairs = zip(columns, values, strict=True)
        name = ", ".join(f"{column} {value}" if twice else str(value) for column, value in pairs)
        axis.plot([np.nan], [np.nan], label=name, markeredgewidth=1.6, **look)


class LineLooks:
    """The same of lines along an axis: each as it comes, or, where the legend is by parts, by :class:`Looks`."""

    def __init__(self, points: pl.DataFrame, columns: Sequence[str], where: Along) -> None:
        self._columns, self._dashes = list(columns), where.dashes
        looks = Looks(points, columns) if Looks.fit(points, columns) else None
        self._looks = looks if looks is not None and looks.by_parts else None

    def of(self, index: int, part: pl.DataFrame) -> dict[str, Any]:
        """Colour, mark and dashes of a series with its points."""
        if self._looks is None:
            return {**mark(index), "linestyle": self._dashes(index)}
        values = part.select(self._columns).row(0)
        return {**self._looks.of(values), "linestyle": self._dashes(self._looks.place(values))}

    def explained(self, axis: Axes) -> list[list[str]] | None:
        """The names in the legend, as of :meth:`Looks.explained`."""
        return None if self._looks is None else self._looks.explained(axis, self._dashes)
