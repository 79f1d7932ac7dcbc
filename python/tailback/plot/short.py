"""Short runs, as of data centres: their figures have time in milliseconds or microseconds. What is drawn lives elsewhere."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import polars as pl

from tailback.units import number

if TYPE_CHECKING:
    from tailback.results import Result

_UNITS: Final = ((0.5, 1.0, "s"), (0.5e-3, 1e3, "ms"), (0.0, 1e6, "µs"))
"""From so many seconds on, what seconds are multiplied by, and the unit."""


def time_unit(duration: float) -> tuple[float, str]:
    """What seconds are multiplied by in figures of a run of this length, and the unit that they have then."""
    return next((factor, unit) for least, factor, unit in _UNITS if duration >= least)


def with_time_unit(result: Result) -> tuple[Result, str]:
    """The same result with its times, and those of its time series, in a unit that suits the length of the run, to be drawn; and
    that unit. Columns that are times themselves stay in seconds."""
    factor, unit = time_unit(result.duration)
    if unit == "s":
        return result, unit

    def scaled(table: pl.DataFrame) -> pl.DataFrame:
        return table.with_columns(pl.col("time") * factor) if "time" in table.columns else table

    return dataclasses.replace(
        result,
        duration=result.duration * factor,
        warm_up=result.warm_up * factor,
        bin=result.bin * factor,
        flow_series=scaled(result.flow_series),
        link_series=scaled(result.link_series),
        state=scaled(result.state),
    ), unit


def in_seconds(result: Result) -> float:
    """How long a run lasts in seconds, whatever the unit of its times."""
    recorded = result.scenario_data.get("record", {}).get("bin")
    return result.duration * (number(recorded) / result.bin if recorded else 1.0)
