"""Single figures of a column of numbers, as floats: polars types them as anything that a column can hold. Statistics
with an error of their own live in ``confidence.py``."""

from __future__ import annotations

import polars as pl

from tailback.errors import ArgumentError


def mean(column: pl.Series) -> float:
    """The mean, in the column's unit.

    Raises:
        ValueError: for a column without values.
    """
    return _number(column, column.mean())


def median(column: pl.Series) -> float:
    """The median, in the column's unit.

    Raises:
        ValueError: for a column without values.
    """
    return _number(column, column.median())


def least(column: pl.Series) -> float:
    """The least value.

    Raises:
        ValueError: for a column without values.
    """
    return _number(column, column.min())


def greatest(column: pl.Series) -> float:
    """The greatest value.

    Raises:
        ValueError: for a column without values.
    """
    return _number(column, column.max())


def quantile(column: pl.Series, part: float) -> float:
    """The value below which a part of all lies, between 0 and 1; between neighbours in proportion, as everywhere here.

    Raises:
        ValueError: for a column without values.
    """
    return _number(column, column.quantile(part, "linear"))


def _number(column: pl.Series, value: object) -> float:
    if not isinstance(value, int | float):
        raise ArgumentError(
            f"{column.name or 'column'}: expected numbers, found {len(column)} values of {column.dtype}"
        )
    return float(value)
