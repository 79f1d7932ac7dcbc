"""The columns that the core records, as it declares them: keys, names, units, labels. Nothing is listed here; what is
computed from them lives in ``formulas.py``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tailback import _core


@dataclass(frozen=True)
class Column:
    """One column of one table."""

    key: str
    """Its name in the core's tables, which ends in the unit."""
    name: str
    """Its name for people."""
    unit: str
    """Its unit; empty where it has none."""
    kind: str
    """How its values come about: ``given``, ``counted``, ``mean`` or ``level`` (the state at the end)."""
    label: str
    """What stands at an axis."""
    about: str
    """What it says."""
    values: tuple[str, ...] = ()
    """What its values are called, where they are numbers of these."""
    qlog: str = ""
    """What qlog calls it."""


RECORDED: Final[Mapping[str, tuple[Column, ...]]] = {
    table: tuple(Column(**column | {"values": tuple(column.get("values", ()))}) for column in columns)
    for table, columns in json.loads(_core.columns()).items()
}
"""By table, its columns in their order; ``queue_state`` are those of ``link_series`` that disciplines add."""
NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    table: {column.key: column.name for column in columns} for table, columns in RECORDED.items()
}
"""By table, the names of its columns by their keys."""
