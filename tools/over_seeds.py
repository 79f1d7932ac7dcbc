"""Means over the seeds of a row, with their intervals: what the tools that measure tables of runs share. Text and pages are made
in ``pages.py``."""

import math
from collections.abc import Iterable

import polars as pl

from tailback.analysis.confidence import mean_interval


def over_seeds(table: pl.DataFrame, keys: tuple[str, ...], measures: Iterable[str]) -> pl.DataFrame:
    """One row per cell of ``keys`` and ``measure``: ``mean`` and the ``half_width`` of its interval at 95 %, infinite of one
    seed. Runs without a value are left out; both are not a number where no run has one."""
    rows = []
    names = tuple(measures)
    for cell, part in table.group_by(*keys, maintain_order=True):
        for name in names:
            values = part[name].cast(pl.Float64).drop_nulls().drop_nans()
            if values.is_empty():
                rows.append((*cell, name, math.nan, math.nan))
                continue
            found = mean_interval(values.to_numpy())
            rows.append((*cell, name, found.mean, found.half_width))
    return pl.DataFrame(rows, schema=[*keys, "measure", "mean", "half_width"], orient="row")
