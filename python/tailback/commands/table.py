"""Means with their intervals as a table for the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from tailback.units import scale_of

if TYPE_CHECKING:
    from rich.table import Table


def intervals_table(table: pl.DataFrame, keys: Sequence[str], *, signed: bool = False) -> Table:
    """One line per combination of ``keys``, a column per metric: mean ± half-width in a unit that suits the column."""
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for key in keys:
        shown.add_column(key, min_width=8)
    metrics = [name for name in table["metric"].unique(maintain_order=True) if _known(table, name)]
    scales = {name: _scale(table, name) for name in metrics}
    for name in metrics:
        head = f"{name.replace('_', chr(10))}\n[dim]{scales[name][1]}[/dim]"
        shown.add_column(head, justify="right", no_wrap=True)
    for values, part in _rows(table, keys):
        cells = {row["metric"]: row for row in part.iter_rows(named=True)}
        shown.add_row(*values, *(cell(cells.get(name), scales[name][0], signed=signed) for name in metrics))
    return shown


def cell(row: Mapping[str, Any] | None, factor: float, *, signed: bool = False, most: int = 3) -> str:
    """A mean with its half-width, as many digits as the half-width warrants, at most so many of them decimals."""
    if row is None or row["mean"] is None:
        return "—"
    mean, width = row["mean"] * factor, row["half_width"]
    sign = "+" if signed else ""
    if width is None or not width * factor > 0:
        return f"{mean:{sign}.4g}"
    places = decimals(width * factor, most)
    return f"{mean:{sign}.{places}f} ± {width * factor:.{places}f}"


def decimals(width: float, most: int = 3) -> int:
    """Decimals that show the first digit of a half-width, the second too where the first is 1."""
    power = math.floor(math.log10(width))
    return max(0, min(most, -power + (width < 2 * 10.0**power)))


def _rows(table: pl.DataFrame, keys: Sequence[str]) -> list[tuple[list[str], pl.DataFrame]]:
    if not keys:
        return [([], table)]
    return [
        ([str(value) for value in values], part) for values, part in table.group_by(list(keys), maintain_order=True)
    ]


def _known(table: pl.DataFrame, metric: str) -> bool:
    return table.filter(pl.col("metric") == metric)["mean"].drop_nulls().len() > 0


def _scale(table: pl.DataFrame, metric: str) -> tuple[float, str]:
    part = table.filter(pl.col("metric") == metric)
    return scale_of(part["mean"], str(part["unit"][0]))
