"""Tidy tables in and out of files, with the units of their columns. Which tables there are is the business of
``result.py``."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    except BaseException as error:
        # A panic inside polars is no Exception, but says no more than that the file is damaged.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        words = str(error).splitlines() or [type(error).__name__]
        raise StorageError(f"{source}: cannot be read ({words[0]})") from error


def write_csv(table: pl.DataFrame, target: Path, units: Mapping[str, str] | None = None) -> None:
    """Writes a table as CSV, lists in it as JSON; the header says the ``units`` that are given.

    Raises:
        StorageError: where that fails; nothing half-written is left.
    """
    nested = [name for name, kind in table.schema.items() if kind.is_nested()]
    as_json = [pl.col(name).map_elements(lambda v: json.dumps(list(v)), return_dtype=pl.String) for name in nested]
    flat = table.with_columns(as_json) if nested else table
    flat = flat.rename({name: f"{name} [{unit}]" for name, unit in units_of(table, units or {}).items()})
    write_file(target, flat.write_csv)


def units_of(table: pl.DataFrame, units: Mapping[str, str]) -> dict[str, str]:
    """The units of those columns that have one."""
    return {name: units[name] for name in table.columns if name in units}


def _optional(module: str, extra: str) -> Any:
    """A library that not everybody has.

    Raises:
        ModuleNotFoundError: without it, with how to get it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{module} is not installed; pip install 'tailback[{extra}]' brings it") from error


def to_arrow(table: pl.DataFrame, units: Mapping[str, str]) -> Any:
    """The table as a ``pyarrow.Table`` with units in the metadata of its fields and of its schema.

    Raises:
        ModuleNotFoundError: without pyarrow.
    """
    pa: Any = _optional("pyarrow", "arrow")
    plain, known = pa.table(table), units_of(table, units)
    fields = [
        field.with_metadata({"unit": known[field.name]}) if field.name in known else field for field in plain.schema
    ]
    return plain.cast(pa.schema(fields, metadata={UNITS_KEY: json.dumps(known)}))


def to_pandas(table: pl.DataFrame, units: Mapping[str, str], *, categories: bool = False) -> pd.DataFrame:
    """The table for pandas, with the units in ``.attrs["units"]``; ``categories`` for texts that repeat in a long
    table, so that each is kept once. Needs pandas, not pyarrow.

    Raises:
        ModuleNotFoundError: without pandas.
    """
    pd: Any = _optional("pandas", "pandas")

    def column(of: pl.Series) -> object:
        if categories and of.dtype in (pl.String, pl.Categorical):
            names = of.drop_nulls().cast(pl.String).unique(maintain_order=True)
            codes = of.cast(pl.Enum(names)).to_physical().cast(pl.Int32).fill_null(-1)
            return pd.Categorical.from_codes(codes.to_numpy(), names.to_list())
        if of.dtype.is_nested() or of.dtype in (pl.String, pl.Categorical):
            return of.to_list()
        return of.to_numpy(writable=True)  # Memory of its own, which pandas then need not copy again.

    frame = pd.DataFrame({each.name: column(each) for each in table.get_columns()}, copy=False)
    frame.attrs["units"] = units_of(table, units)
    return frame
