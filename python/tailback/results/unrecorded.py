"""The log of packets of a run that did not record any: no row, and the columns that it would have. Other tables that may be
empty are made in ``from_core.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from tailback.errors import NotFoundError
from tailback.results.columns import RECORDED

if TYPE_CHECKING:
    from tailback.results import Result

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


def has_recorded_packets(result: Result) -> bool:
    """Whether packets were recorded, even if none came: a log without rows is that of a run in which nobody sent, too."""
    return not result.packets.is_empty() or bool(result.scenario_data.get("record", {}).get("packets"))


def expect_packets_recorded(result: Result) -> None:
    """Complains where packets were not recorded.

    Raises:
        NotFoundError: with how they are.
    """
    if not has_recorded_packets(result):
        raise NotFoundError("packets were not recorded; expected a scenario with record.packets = true")
