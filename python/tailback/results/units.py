"""The unit and the label of every column of results and sweeps that has one: what the core declares, and what formulas
add. A column's name means the same in every table."""

from __future__ import annotations

from typing import Final

from tailback.results.columns import RECORDED
from tailback.results.formulas import METRICS

_COLUMNS: Final = tuple(column for columns in RECORDED.values() for column in columns)
_EVERY: Final = (
    *((column.name, column.unit, column.label) for column in _COLUMNS),
    *((metric.name, metric.unit, metric.label) for metric in METRICS),
)
UNITS: Final[dict[str, str]] = {name: unit for name, unit, _ in _EVERY if unit}
LABELS: Final[dict[str, str]] = {name: label for name, _, label in _EVERY}
