"""Tidy tables in and out of files, with the units of their columns. Which tables there are is the business of
``result.py``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from tailback.errors import StorageError
from tailback.results.files import write_file

if TYPE_CHECKING:
    import pandas as pd

UNITS_KEY = "tailback.units"


def write_parquet(
    table: pl.DataFrame, target: Path, units: Mapping[str, str], about: Mapping[str, str] | None = None
) -> None:
    """Writes a table as Parquet; units and remarks go into the file's key-value metadata.

    Raises:
        StorageError: where that fails; nothing half-written is left.
    """
    metadata = {UNITS_KEY: json.dumps(units_of(table, units)), **(about or {})}
    write_file(target, lambda path: table.write_parquet(path, metadata=metadata))


def read_parquet(source: Path) -> tuple[pl.DataFrame, dict[str, str]]:
    """A table and the units of its columns, from a file of :func:`write_parquet`.

    Raises:
        StorageError: where there is no such file, or it is damaged.
    """
    try:
        return pl.read_parquet(source), json.loads(pl.read_parquet_metadata(source).get(UNITS_KEY, "{}"))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StorageError(f"{source}: cannot be read ({str(error).splitlines()[0]})") from error


def write_csv(table: pl.DataFrame, target: Path) -> None:
    """Writes a table as CSV, lists in it as JSON.

    Raises:
        StorageError: where that fails; nothing half-written is left.
    """
    nested = [name for name, kind in table.schema.items() if kind.is_nested()]
    as_json = [pl.col(name).map_elements(lambda v: json.dumps(list(v)), return_dtype=pl.String) for name in nested]
    flat = table.with_columns(as_json) if nested else table
    write_file(target, flat.write_csv)


def units_of(table: pl.DataFrame, units: Mapping[str, str]) -> dict[str, str]:
    """The units of those columns that have one."""
    return {name: units[name] for name in table.columns if name in units}


def to_pandas(table: pl.DataFrame, units: Mapping[str, str]) -> pd.DataFrame:
    """The table for pandas, with the units in ``.attrs["units"]``. Needs pandas, not pyarrow.

    Raises:
        ModuleNotFoundError: without pandas.
    """
    import pandas as pd

    columns = {
        column.name: column.to_list() if column.dtype.is_nested() else _array(column) for column in table.get_columns()
    }
    frame = pd.DataFrame(columns)
    frame.attrs["units"] = units_of(table, units)
    return frame


def _array(column: pl.Series) -> object:
    return column.to_list() if column.dtype == pl.String else column.to_numpy()
