"""Means over seeds with confidence intervals, and paired differences, for all variants of a sweep at once. The formulas
are those of ``tailback.analysis``, applied to columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from tailback.analysis.confidence import student_t
from tailback.errors import ArgumentError, refused, unknown
from tailback.results.formulas import COMPLETION_PERCENTILES, OF_THE_GROUP

DEFAULT: Final[dict[str, tuple[str, ...]]] = {
    "variant": (
        "goodput",
        "utilization",
        "loss_rate",
        "mark_rate",
        "jain",
        "queueing_delay",
        "queueing_delay_p95",
        "mean_rtt",
        "completion_time",
    ),
    "group": ("goodput", "throughput", "jain", "retransmission_rate", "mean_rtt", "rtt_p95", "completion_time"),
}
"""The metrics that people ask for first."""
_MEANS: Final = (
    "goodput",
    "app_goodput",
    "throughput",
    "retransmission_rate",
    "mean_rtt",
    "min_rtt",
    "rtt_p50",
    "rtt_p95",
    "rtt_p99",
    "one_way_delay",
    "one_way_delay_p50",
    "one_way_delay_p95",
    "one_way_delay_p99",
    "jitter",
    "timeouts",
    "recoveries",
)
OF_GROUPS: Final = (*_MEANS, "jain", "completion_time", *COMPLETION_PERCENTILES)
"""What groups may have."""
COLUMNS: Final = (
    *("metric", "mean", "difference", "std", "runs", "failed", "relative", "baseline", "unit"),
    *("half_width", "low", "high", "differs"),
)
"""What tables of intervals and differences have beside axes."""


def intervals(
    samples: pl.DataFrame, keys: Sequence[str], metrics: Sequence[str], *, level: float, units: Mapping[str, str]
) -> pl.DataFrame:
    """One row per combination of ``keys`` and metric, with Student's t interval over the samples that have it.

    Raises:
        KeyError: for what is no metric.
    """
    _known(samples, keys, metrics)
    grouped = _grouped(samples, keys)
    parts = []
    for name in metrics:
        value = pl.col(name).drop_nulls().drop_nans()
        part = grouped.agg(
            pl.lit(name).alias("metric"),
            value.mean().cast(pl.Float64).alias("mean"),
            value.std(ddof=1).cast(pl.Float64).alias("std"),
            value.len().cast(pl.Int64).alias("runs"),
            _failures(samples),
            pl.lit(units.get(name, "")).alias("unit"),
        )
        parts.append(part)
    table = pl.concat(parts)
    if "_all" in table.columns:
        table = table.drop("_all")
    return _with_bounds(table, "mean", level)


def differences(
    samples: pl.DataFrame,
    keys: Sequence[str],
    axis: str,
    baseline: object,
    metrics: Sequence[str],
    *,
    level: float,
    units: Mapping[str, str],
) -> pl.DataFrame:
    """Paired differences from the rows whose ``axis`` is ``baseline``, matched by all other keys and the seed.

    Raises:
        KeyError: for what is no metric, or a baseline that no row has.
    """
    _known(samples, keys, metrics)
    rest = [name for name in keys if name != axis]
    base = samples.filter(pl.col(axis) == baseline)
    if base.is_empty():
        raise unknown(f"value of {axis}", baseline, map(str, samples[axis].unique(maintain_order=True)))
    match = [*rest, "seed"]
    base = base.select(*match, *(pl.col(name).alias(f"{name} of baseline") for name in metrics))
    others = samples.filter(pl.col(axis) != baseline)
    pairs = others.join(base, on=match, how="inner", maintain_order="left", nulls_equal=True)
    parts = []
    for name in metrics:
        value, against = pl.col(name).cast(pl.Float64), pl.col(f"{name} of baseline").cast(pl.Float64)
        difference = value - against
        # What both runs of a pair have; the baseline's mean is over the same pairs.
        both = difference.is_not_null() & difference.is_not_nan()
        difference, against = difference.filter(both), against.filter(both)
        part = pairs.group_by([*rest, axis], maintain_order=True).agg(
            pl.lit(str(baseline)).alias("baseline"),
            pl.lit(name).alias("metric"),
            difference.mean().alias("difference"),
            difference.std(ddof=1).alias("std"),
            difference.len().cast(pl.Int64).alias("runs"),
            (difference.mean() / against.mean()).alias("relative"),
            pl.lit(units.get(name, "")).alias("unit"),
        )
        parts.append(part)
    table = _with_bounds(pl.concat(parts), "difference", level)
    return table.with_columns(((pl.col("low") > 0) | (pl.col("high") < 0)).alias("differs"))


def usual(samples: pl.DataFrame, by: str) -> list[str]:
    """The metrics that people ask for first, as far as they say something here: the part marked only where a packet was."""
    marked = "mark_rate" in samples.columns and bool(samples["mark_rate"].fill_null(0.0).sum())
    return [name for name in DEFAULT[by] if name in samples.columns and (name != "mark_rate" or marked)]


def groups(flows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Means per flow of each run's groups, and Jain's index among the members; missing where nobody received anything."""
    rate = pl.col("goodput")
    # Of nothing there are no shares: not a number is missing, as for whole runs.
    jain = (rate.sum() ** 2 / (rate.len() * (rate**2).sum())).fill_nan(None)
    means = [pl.col(name).mean() for name in _MEANS if name in flows.columns]
    times = []
    if "messages" in flows.columns:  # A mean over messages, not over flows, of which one may have few.
        many = pl.col("messages")
        times = [((pl.col("completion_time") * many).sum() / many.sum()).fill_nan(None).alias("completion_time")]
    # What each member has of the whole group; sweeps of earlier versions have none.
    told = [name for name in COMPLETION_PERCENTILES if f"{OF_THE_GROUP}{name}" in flows.columns]
    times += [pl.col(f"{OF_THE_GROUP}{name}").first().alias(name) for name in told]
    table = flows.group_by([*keys, "group"], maintain_order=True).agg(
        pl.len().alias("flow_count"), *means, jain.alias("jain"), *times
    )
    return table.with_columns(pl.lit(None, dtype=pl.String).alias("error"))


def wide(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """One row per combination of ``keys``, two columns per metric. Its number of runs is that of the metric that most of them
    have."""
    key = list(keys)
    parts = [table.filter(pl.col("metric") == name) for name in table["metric"].unique(maintain_order=True)]
    shown = [part for part in parts if part["mean"].null_count() < part.height]
    # All parts come from the same groups in the same order.
    joined = (parts or [table])[0].select(*key, "runs", "failed")
    if parts:
        joined = joined.with_columns(
            pl.DataFrame([part["runs"].alias(str(place)) for place, part in enumerate(parts)])
            .max_horizontal()
            .alias("runs")
        )
    for part in shown:
        name = part["metric"][0]
        joined = joined.hstack(
            part.select(pl.col("mean").alias(name), pl.col("half_width").alias(f"{name}_half_width"))
        )
    return joined


def _grouped(samples: pl.DataFrame, keys: Sequence[str]) -> pl.dataframe.group_by.GroupBy:
    if keys:
        return samples.group_by(list(keys), maintain_order=True)
    return samples.group_by(pl.lit(0).alias("_all"), maintain_order=True)


def _failures(samples: pl.DataFrame) -> pl.Expr:
    failed = pl.col("error").is_not_null().sum() if "error" in samples.columns else pl.lit(0)
    return failed.cast(pl.Int64).alias("failed")


def _with_bounds(table: pl.DataFrame, centre: str, level: float) -> pl.DataFrame:
    """The half-width and the ends of the intervals; missing where one sample says nothing about the spread."""
    if not (isinstance(level, int | float) and 0.0 < level < 1.0):
        raise refused("level", level, "a number above 0 and below 1, for example 0.95")
    counts = [count for count in table["runs"].unique() if count > 1]
    quantiles = {count: student_t(count - 1, level) for count in counts}
    t = pl.col("runs").replace_strict(quantiles, default=None, return_dtype=pl.Float64) if quantiles else pl.lit(None)
    width = (t.cast(pl.Float64) * pl.col("std") / pl.col("runs").sqrt()).alias("half_width")
    return table.with_columns(width).with_columns(
        (pl.col(centre) - pl.col("half_width")).alias("low"), (pl.col(centre) + pl.col("half_width")).alias("high")
    )


_NAMING = frozenset({"variant", "seed", "run_seed"})
"""Numbers in a table of runs that say which run it was, beside the swept fields."""
_LISTED = "; name several one after the other, without a list"


def metrics_of(samples: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    """The columns that are metrics; ``keys`` are the swept fields, some of which are numbers too."""
    naming = _NAMING.union(keys)
    return [name for name, kind in samples.schema.items() if kind.is_numeric() and name not in naming]


def _known(samples: pl.DataFrame, keys: Sequence[str], metrics: Sequence[str]) -> None:
    known = metrics_of(samples, keys)
    for name in metrics:
        if callable(name):
            called = getattr(name, "__name__", "mine")
            word = called if called.isidentifier() else "mine"
            allowed = f"a column; runs.measured({word}={called}) makes one of a function of a result, to name here"
            raise ArgumentError(f"metric: the function {called} is not allowed; expected {allowed}")
        if not isinstance(name, str) or name not in known:
            raise unknown("metric", name, known, _LISTED if isinstance(name, list | tuple) else "")
