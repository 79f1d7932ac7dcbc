"""Means with their intervals as a table for the terminal. The intervals are computed in ``sweeps/statistics.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from tailback.cells import cell
from tailback.units import scale_of

if TYPE_CHECKING:
    from rich.table import Table


def intervals_table(
    table: pl.DataFrame, keys: Sequence[str], *, signed: bool = False, most: int | None = None
) -> Table:
    """One line per combination of ``keys``, the first ``most`` of them, and a column per metric: mean ± half-width in a unit
    that suits the column."""
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
    for values, part in _rows(table, keys)[:most]:
        cells = {row["metric"]: row for row in part.iter_rows(named=True)}
        shown.add_row(*values, *(cell(cells.get(name), scales[name][0], signed=signed) for name in metrics))
    return shown


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
