"""Results of runs as tidy tables that describe themselves, their metrics, and their way in and out of files.

Names are imported when first used: what only writes files needs no tables.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailback.results.result import Result
    from tailback.results.tables import read_parquet

_HOMES = {"Result": "result", "read_parquet": "tables"}
_MODULES = ("completion", "dynamics", "estimates", "fairness", "losses", "metrics")

__all__ = ["Result", "read_parquet"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"tailback.results.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'tailback.results' has no attribute {name!r}")
    return getattr(importlib.import_module(f"tailback.results.{_HOMES[name]}"), name)
