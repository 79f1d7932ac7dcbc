"""A table as a notebook shows it: numbers in units that suit their columns, means beside their half-widths. Which table it
is, is said by who has it."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping

import polars as pl

from tailback.cells import cell
from tailback.units import scale_of

ROWS = 40
"""So many rows are written out."""
_WIDTH = "_half_width"
_SIDES = "padding:.2em .6em .2em 0;vertical-align:bottom"


def as_html(table: pl.DataFrame, units: Mapping[str, str]) -> str:
    """The table; wider than the page, it scrolls by itself."""
    columns = list(_columns(table, units))
    head = "".join(
        f'<th style="text-align:{side};{_SIDES}">{html.escape(name.replace("_", " "))}<br>{f"({unit})" if unit else "&nbsp;"}</th>'
        for name, unit, side, _ in columns
    )
    lines = zip(*(texts[:ROWS] for *_, texts in columns), strict=True) if columns else iter(())
    sides = [side for _, _, side, _ in columns]
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align:{side};white-space:nowrap;{_SIDES}">{html.escape(text)}</td>'
            for side, text in zip(sides, line, strict=True)
        )
        + "</tr>"
        for line in lines
    )
    more = f"<p>… and {table.height - ROWS} more rows.</p>" if table.height > ROWS else ""
    return (
        f'<div style="overflow-x:auto;max-width:100%"><table style="font-size:90%"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{more}"
    )


def _columns(table: pl.DataFrame, units: Mapping[str, str]) -> Iterator[tuple[str, str, str, list[str]]]:
    """Of each column its name, its unit, the side that its texts stand at, and the texts."""
    for column in table.get_columns():
        name = column.name
        if name.endswith(_WIDTH) and name.removesuffix(_WIDTH) in table.columns:
            continue  # Stands beside its mean.
        if not column.dtype.is_numeric():
            yield name, "", "left", ["—" if value is None else str(value) for value in column]
            continue
        factor, unit = scale_of(column, units.get(name, ""))
        beside = table[name + _WIDTH] if name + _WIDTH in table.columns else [None] * table.height
        pairs = zip(column, beside, strict=True)
        yield name, unit, "right", [cell({"mean": mean, "half_width": width}, factor) for mean, width in pairs]
