"""The log of packets of a run that did not record any: no row, and the columns that it would have. Other tables that may be
empty are made in ``from_core.py``."""

from __future__ import annotations

from typing import Final

import polars as pl

from tailback.results.columns import RECORDED

_NUMBERS: Final = {"time": pl.Float64, "number": pl.UInt64, "size": pl.UInt16, "lane": pl.UInt8}
_NAMED: Final = {"flow", "link"}


def no_packets() -> pl.DataFrame:
    """The empty log: filters and counts of it work, and find nothing."""
    return pl.DataFrame(
        schema={
            column.name: pl.Categorical
            if column.values or column.name in _NAMED
            else _NUMBERS.get(column.name, pl.Boolean)
            for column in RECORDED["packets"]
        }
    )
