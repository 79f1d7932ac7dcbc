"""How long transfers took: completion times of one run's files and bursts. They are drawn in ``plot/transfers.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tailback import _core
from tailback.calls import checked_call
from tailback.errors import refused
from tailback.units import option

if TYPE_CHECKING:
    from tailback.results.result import Result


@checked_call
def completion_times(result: Result, percents: Sequence[float] = (50, 95, 99)) -> pl.DataFrame:
    """Per group of flows, the number, mean and percentiles of the seconds from a message's beginning at its sender until
    its sender knows that all of it has arrived (RFC 5166 §2.1.2: per-connection transfer time), over messages that began
    from ``warm_up`` on and ended within the run. A long message that the end of the run cuts short is in none of them."""
    named = result.counted_messages().join(
        result.flows.select("flow", "group"), on="flow", how="left", maintain_order="left"
    )
    time = pl.col("completion_time")
    return named.group_by("group", maintain_order=True).agg(
        pl.len().alias("messages"),
        time.mean(),
        *(time.quantile(percent / 100.0, "linear").alias(f"completion_time_p{percent:g}") for percent in percents),
    )


@checked_call
def slowdown(result: Result) -> pl.DataFrame:
    """The messages that began from ``warm_up`` on with ``slowdown``: completion time over the least possible on the empty
    path, one round trip of propagation and the transmission of the message at the rate of the slowest link of its flow's
    own path (Alizadeh et al. 2013, §5, normalised completion time)."""
    flows = result.flows.select("flow", "group", "round_trip").join(
        _slowest(result), on="flow", how="left", maintain_order="left"
    )
    table = result.counted_messages().join(flows, on="flow", how="left", maintain_order="left")
    least = pl.col("round_trip") + pl.col("size") * 8.0 / pl.col("slowest")
    return table.with_columns((pl.col("completion_time") / least).alias("slowdown")).drop("round_trip", "slowest")


@checked_call
def slowdown_by_size(
    result: Result, bounds: Sequence[str] = ("100 kB", "1 MB", "10 MB"), percents: Sequence[float] = (50, 95, 99)
) -> pl.DataFrame:
    """Percentiles of :func:`slowdown` by size of message: a row for those below the first of ``bounds``, for those from there to
    the next, and so on; ``from`` and ``to`` in bytes. Sizes without messages have no row.

    Raises:
        ArgumentError: for bounds that are no sizes in rising order.
    """
    edges = [option("bounds", bound, "data", positive=True) for bound in bounds]
    if edges != sorted(set(edges)):
        raise refused("bounds", list(bounds), "sizes in rising order, such as ('100 kB', '1 MB')")
    table = slowdown(result)
    step = np.searchsorted(edges, table["size"].to_numpy().astype(np.float64), side="right")
    ends = pl.DataFrame({"step": range(len(edges) + 1), "from": [0.0, *edges], "to": [*edges, None]})
    value = pl.col("slowdown")
    grouped = table.with_columns(pl.Series("step", step, dtype=pl.Int64)).group_by("step", maintain_order=True)
    found = grouped.agg(
        pl.len().alias("messages"),
        *(value.quantile(percent / 100.0, "linear").alias(f"slowdown_p{percent:g}") for percent in percents),
    )
    ends = ends.with_columns(pl.col("step").cast(pl.Int64), pl.col("from", "to").cast(pl.Float64))
    return ends.join(found, on="step", how="inner", maintain_order="left").drop("step")


def _slowest(result: Result) -> pl.DataFrame:
    """Per flow, the rate of the slowest link that its data passes, in bit/s."""
    network = _core.network(result.scenario.to_json())
    slowest = [min(network["rate_bits"][link] for link in route) for route in network["routes"]]
    return pl.DataFrame(
        {"flow": network["flows"], "slowest": slowest}, schema={"flow": pl.String, "slowest": pl.Float64}
    )


@checked_call
def by_size(result: Result, bins: int = 12) -> pl.DataFrame:
    """Median and 95th percentile of completion times by size of message, in ``bins`` steps of equal ratio, over messages that
    began from ``warm_up`` on; ``size`` is the geometric mean of the step's messages, in bytes."""
    table = result.counted_messages()
    if table.is_empty():
        return pl.DataFrame(schema={"size": pl.Float64, "messages": pl.UInt32, "median": pl.Float64, "p95": pl.Float64})
    sizes = table["size"].to_numpy().astype(np.float64)
    edges = np.geomspace(max(sizes.min(), 1.0), sizes.max() * 1.0001, bins + 1)
    step = np.clip(np.searchsorted(edges, sizes, side="right") - 1, 0, bins - 1)
    time = pl.col("completion_time")
    grouped = (
        table.with_columns(pl.Series("step", step))
        .group_by("step", maintain_order=True)
        .agg(
            pl.col("size").log().mean().exp(),
            pl.len().alias("messages"),
            time.median().alias("median"),
            time.quantile(0.95, "linear").alias("p95"),
        )
    )
    return grouped.sort("step").drop("step")
