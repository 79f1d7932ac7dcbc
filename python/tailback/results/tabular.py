"""What everything that holds tidy tables can do with them, results of one run and of many: give them to other libraries
and to files, with the units of their columns. How that is done for one table lives in ``tables.py``."""

from __future__ import annotations

import html
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from tailback.errors import unknown
from tailback.results import tables
from tailback.results.files import path_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Tabular:
    """Tables by name, with units."""

    STORE: ClassVar[str]
    """The module that writes and reads folders of them."""
    TABLES: ClassVar[tuple[str, ...]]
    """The names of the tables; the first is the one that people mean when they name none."""
    DERIVED: ClassVar[tuple[str, ...]] = ()
    """Tables that are made of those: given out like them, and not saved."""
    LONG: ClassVar[tuple[str, ...]] = ()
    """Tables of which every row repeats a name."""

    if TYPE_CHECKING:  # A field of some, a property of others.

        @property
        def units(self) -> Mapping[str, str]:
            """The unit of each column that has one, in every table."""

        def summary(self) -> pl.DataFrame:
            """The metrics that people ask for first."""

    if not TYPE_CHECKING:  # A checker of types is to tell names that there are none of.

        def __getattr__(self, name: str) -> NoReturn:
            """Says of a column's name in which tables it is.

            Raises:
                AttributeError: always.
            """
            held = vars(self)  # A copy that is being made has no tables yet.
            places = [f'.{table}["{name}"]' for table in self.TABLES if name in getattr(held.get(table), "columns", ())]
            known = f"; expected {' or '.join(places)}, since it is a column" if places else ""
            message = f"{type(self).__name__!r} object has no attribute {name!r}{known}"
            raise AttributeError(message, name=name, obj=self)

    def _repr_html_(self) -> str:
        """What a notebook shows: what it is, and what it says in short."""
        from tailback.results.notebook import as_html

        return f"<p>{html.escape(repr(self))}</p>{as_html(self._shown(), self.units)}"

    def _shown(self) -> pl.DataFrame:
        """What a notebook shows of it in short."""
        return self.summary()

    def _given(self, name: str) -> pl.DataFrame:
        """A table as others get it."""
        found: pl.DataFrame = getattr(self, name)
        return found

    def to_polars(self, table: str = "") -> pl.DataFrame:
        """One of the tables. Polars keeps no metadata: units are in ``.units``.

        Args:
            table: its name; the first of ``TABLES`` where none is given.

        Raises:
            KeyError: for a name that is no table's.
        """
        name = table or self.TABLES[0]
        if name not in (*self.TABLES, *self.DERIVED):
            raise unknown("table", table, (*self.TABLES, *self.DERIVED))
        return self._given(name)

    def to_pandas(self, table: str = "") -> pd.DataFrame:
        """One of the tables for pandas, its units in ``.attrs["units"]``. Names that every row of a long table repeats
        are categories.

        Raises:
            KeyError: for a name that is no table's.
            ModuleNotFoundError: without pandas.
        """
        return tables.to_pandas(self.to_polars(table), self.units, categories=table in self.LONG)

    def to_arrow(self, table: str = "") -> Any:
        """One of the tables as a ``pyarrow.Table``; each column's unit is in its field's metadata under ``unit``, and
        those of all in the schema's under ``tailback.units``.

        Raises:
            KeyError: for a name that is no table's.
            ModuleNotFoundError: without pyarrow.
        """
        return tables.to_arrow(self.to_polars(table), self.units)

    def to_parquet(self, path: str | Path, table: str = "") -> Path:
        """Writes one of the tables as Parquet, with its units in the file's metadata under ``tailback.units``, from
        where :func:`tailback.results.read_parquet` reads them.

        Raises:
            KeyError: for a name that is no table's.
            StorageError: where writing fails; an older file of that name is then still there.
        """
        target = path_of("path", path)
        tables.write_parquet(self.to_polars(table), target, self.units)
        return target

    def to_csv(self, path: str | Path, table: str = "", *, units: bool = False) -> Path:
        """Writes one of the tables as CSV.

        Args:
            path: the file.
            table: the table's name.
            units: whether the header says them: ``goodput [bit/s]`` in place of ``goodput``.

        Raises:
            KeyError: for a name that is no table's.
            StorageError: where writing fails; an older file of that name is then still there.
        """
        target = path_of("path", path)
        tables.write_csv(self.to_polars(table), target, self.units if units else {})
        return target

    def save(self, folder: str | Path, *, csv: bool = True) -> Path:
        """Writes all of it into a folder of its own, from which :meth:`load` brings it back, also in later versions.

        Args:
            folder: made, or replaced where it holds an older one of the same kind.
            csv: whether short tables are written as CSV too.

        Raises:
            StorageError: where that fails; what is there is then untouched.
        """
        written: Path = importlib.import_module(self.STORE).save(self, path_of("folder", folder), csv=csv)
        return written

    @classmethod
    def load(cls, folder: str | Path, *, trust: bool = False) -> Self:
        """What :meth:`save` wrote, in this version or an earlier one.

        Args:
            folder: where it was saved.
            trust: whether files are read that have changed since; they may say anything.

        Raises:
            StorageError: where there is none, it is damaged or of a newer version, or a file has changed.
        """
        found: Self = importlib.import_module(cls.STORE).load(path_of("folder", folder), trust=trust)
        return found
