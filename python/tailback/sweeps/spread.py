"""Why means of a sweep have no intervals, in words. The intervals themselves are made in ``statistics.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tailback.callers import warn

if TYPE_CHECKING:
    from tailback.sweeps.runs import Runs

ALIKE = "All seeds gave the same runs, so intervals say nothing: nothing in the scenario is drawn."
SOME = "Where no ± stands, all seeds gave the same run: nothing in the scenario is drawn there."
ONE = "One seed says nothing about the spread: means have no intervals."


def tell(runs: Runs) -> None:
    """Warns where one seed gives no intervals, as otherwise nothing but empty columns says so."""
    if runs.table["seed"].n_unique() == 1:
        warn(f"{ONE} seeds=5 gives some.")


def why_none(runs: Runs) -> str:
    """Why there are no intervals, or not everywhere; empty where there are."""
    if runs.table["seed"].n_unique() == 1:
        return ONE
    if runs.alike:
        return ALIKE
    return SOME if still(runs).any() else ""


def still(runs: Runs) -> pl.Series:
    """Of each variant of which several seeds came to their end: whether they gave the same run."""
    worked = runs.table.filter(pl.col("hash").is_not_null())
    counts = worked.group_by("variant", maintain_order=True).agg(pl.col("seed", "hash").n_unique())
    return counts.filter(pl.col("seed") > 1)["hash"] == 1
