"""How long transfers took: completion times of one run's files and bursts. They are drawn in ``plot/transfers.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tailback import _core
from tailback.calls import checked_call
from tailback.errors import refused
from tailback.results.empty_path import least_times
from tailback.units import option

if TYPE_CHECKING:
    from tailback.results.result import Result


@checked_call
def completion_times(result: Result, percents: Sequence[float] = (50, 95, 99)) -> pl.DataFrame:
    """Per group of flows, the number, mean and percentiles of the seconds from a message's beginning at its sender until
    its sender knows that all of it has arrived (RFC 5166 §2.1.2: per-connection transfer time), over messages that began
    from ``warm_up`` on and ended within the run. ``unfinished`` is how many began from then on and had not ended when the
    run did: the others' times say nothing of these, which are mostly the longest. It is missing where nobody counted them."""
    named = result.counted_messages().join(
        result.flows.select("flow", "group"), on="flow", how="left", maintain_order="left"
    )
    time = pl.col("completion_time")
    ended = named.group_by("group", maintain_order=True).agg(
        pl.len().alias("messages"),
        time.mean(),
        *(time.quantile(percent / 100.0, "linear").alias(f"completion_time_p{percent:g}") for percent in percents),
    )
    cut = unfinished(result)
    # Behind the others, groups of which nothing has ended.
    none = cut.filter(pl.col("unfinished") > 0).join(ended, on="group", how="anti", maintain_order="left")
    both = ended.join(cut, on="group", how="left", maintain_order="left")
    return pl.concat([both, none.with_columns(messages=pl.lit(0, pl.UInt32))], how="diagonal").select(
        "group", "messages", "unfinished", pl.exclude("group", "messages", "unfinished")
    )


@checked_call
def unfinished(result: Result) -> pl.DataFrame:
    """Per group, how many messages that began from ``warm_up`` on had not ended when the run did, as ``unfinished``."""
    flows = result.flows
    if "begun_messages" not in flows.columns:  # A result that was saved before anybody counted them.
        flows = flows.with_columns(begun_messages=pl.lit(None, pl.UInt64))
    ended = result.counted_messages().group_by("flow", maintain_order=True).agg(pl.len().alias("ended"))
    counted = flows.select("flow", "group", "begun_messages").join(ended, on="flow", how="left", maintain_order="left")
    left = pl.col("begun_messages").cast(pl.Int64) - pl.col("ended").fill_null(0)
    # Null, and not the zero of an empty sum, where nothing is known.
    known = pl.when(pl.col("begun_messages").is_not_null().all()).then(left.sum().clip(lower_bound=0))
    return counted.group_by("group", maintain_order=True).agg(known.alias("unfinished"))


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


@checked_call
def by_size(result: Result, bins: int = 12) -> pl.DataFrame:
    """Median, 95th and 99th percentile of completion times by size of message, in ``bins`` steps of equal ratio, over messages that
    began from ``warm_up`` on; ``size`` is the geometric mean of the step's messages, in bytes."""
    table = result.counted_messages()
    if table.is_empty():
        times = dict.fromkeys(("median", "p95", "p99"), pl.Float64)
        return pl.DataFrame(schema={"size": pl.Float64, "messages": pl.UInt32, **times})
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
            time.quantile(0.99, "linear").alias("p99"),
        )
    )
    return grouped.sort("step").drop("step")
