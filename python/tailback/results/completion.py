"""How long transfers took: completion times of one run's files and bursts. They are drawn in ``plot/transfers.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tailback import _core
from tailback.calls import checked_call
from tailback.results.empty_path import least_times

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
    path (Alizadeh et al. 2013, §5, normalised completion time).

    The least time is that of packets, headers included, that all leave at once, one behind another: their transmission at
    each link of the flow's own path and its propagation, and the same of the last acknowledgement on its way back. So
    whatever keeps a sender from this is part of the slowdown: slow start, a handshake, pacing, delayed acknowledgements and
    those that wait for each other. Links whose rate or delay changes are taken as they begin."""
    table = result.counted_messages()
    network = _core.network(result.scenario.to_json())
    rows = {name: row for row, name in enumerate(network["flows"])}
    flows = np.fromiter((rows[name] for name in table["flow"]), dtype=np.intp, count=table.height)
    named = table.join(result.flows.select("flow", "group"), on="flow", how="left", maintain_order="left")
    least = least_times(network, flows, table["size"].to_numpy().astype(np.float64))
    return named.with_columns(slowdown=table["completion_time"].to_numpy() / least)


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
