"""What a reader of a run's figures should know before reading them. Whether a scenario is allowed is decided in the core."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from tailback.callers import warn
from tailback.errors import NotFoundError
from tailback.scenario.far_hosts import far_hosts

if TYPE_CHECKING:
    from tailback.results.result import Result

FULL: Final = 0.95
"""A host's link that is used more than this part of the time limits its flows, ..."""
SPARE: Final = 0.9
"""... if no other link is used as much as this."""
_SOME: Final = 3
_FAR: Final = 0.1
"""Of a flow's part of a link: whoever takes Mbit/s for bit/s is below it by far more."""


def no_number(why: str) -> float:
    """Not a number, for a metric that a result does not have; says why."""
    warn(why)
    return math.nan


def found(result: Result) -> tuple[str, ...]:
    """The warnings about a result, each a sentence."""
    invalid = [f"the run does not count: {reason}" for reason in result.real.get("reasons", [])]
    return (
        *invalid,
        *_without_bins(result),
        *far_hosts(result.scenario_data),
        *_hosts_that_limit(result),
        *_ways_back(result),
        *_nothing_received(result),
        *_other_units(result),
    )


def _without_bins(result: Result) -> list[str]:
    if result.bin <= result.duration:
        return []
    return [f"there are no time series: record.bin, {result.bin:g} s, is longer than the run, {result.duration:g} s"]


def _hosts_that_limit(result: Result) -> list[str]:
    inner = result.links.filter(~pl.col("is_access"))
    full = result.links.filter(pl.col("is_access") & (pl.col("utilization") > FULL))
    most = inner.sort("utilization", descending=True, maintain_order=True)
    if full.is_empty() or most.is_empty() or most["utilization"][0] >= SPARE:
        return []
    between = f"{most['link'][0]} is used {100 * most['utilization'][0]:.0f} %"
    return [
        f"hosts' links limit their flows, not the links between routers: {_named(full['link'])} used to the full, while "
        f"{between}; see `access.rate`"
    ]


def _ways_back(result: Result) -> list[str]:
    """Traces drive one direction. The other has a rate of its own, 10 Mbit/s where none is said: little for the acknowledgements
    of a fast trace, and for lost ones the flows get less, and are thought to be limited by the trace."""
    links = result.links
    traced = links.filter("is_traced").select(pl.col("to").alias("from"), pl.col("from").alias("to"), there="rate")
    back = links.filter(~pl.col("is_traced")).join(traced, on=["from", "to"], how="inner", maintain_order="left")
    dropped = pl.col("dropped_overflow_packets") + pl.col("dropped_early_packets")
    full = back.filter((pl.col("rate") < pl.col("there")) & ((pl.col("utilization") > SPARE) | (dropped > 0)))
    return [
        f"the way back is slower than the trace, and full: {row['link']}, at {row['rate'] / 1e6:g} Mbit/s, is used "
        f"{100 * row['utilization']:.0f} % and dropped {row['dropped_packets']:,} packets; see `reverse.rate`"
        for row in full.iter_rows(named=True)
    ]


def _nothing_received(result: Result) -> list[str]:
    begun = result.flows.filter(pl.col("start") < result.duration)
    silent = begun.filter(pl.col("sent_packets") == 0)
    # The rows of a multicast's receivers never send: that of its sender counts what was sent.
    silent = silent.filter(~pl.col("flow").is_in(_receivers(result, silent["flow"])))
    silent = silent.filter(pl.col("group").is_in(greedy(result)) & pl.col("finished").is_null())
    said = []
    if silent.height:
        why = "a window or rate of 0, or a stop before"
        if result.links["dropped_packets"].sum():
            why = f"what they had sent was lost and they wait for a time-out, {why}"
        said.append(
            f"{_named(silent['flow'])} sent nothing from warm-up to end although there was always something to send; {why}"
        )
    if begun.height and begun["goodput_bytes"].sum() == 0:
        deaf = result.links.filter((pl.col("loss_rate") == 1.0) & (pl.col("dropped_packets") > 0))["link"]
        lost = f"; {_named(deaf)} lost every packet" if deaf.len() else ""
        said.append(f"no flow received anything from warm-up to end: indices of fairness say nothing{lost}")
    return said


def _other_units(result: Result) -> list[str]:
    """Custom controllers that say packets or Mbit/s where a directive has bytes and bit/s: all that they ever allow is less than
    a packet, or than a packet per second. Where links are so slow that this may be meant, it is also far below a flow's part of
    the slowest one."""
    custom = {group["name"] for group in result.scenario_data["flows"] if _is_custom(group)}
    sent = result.flows.filter(pl.col("group").is_in(custom) & (pl.col("sent_packets") > 0))
    if sent.is_empty() or result.flow_series.is_empty():
        return []
    series = result.flow_series.filter(pl.col("flow").is_in(sent["flow"].implode()))
    most = series.group_by("flow", maintain_order=True).agg(pl.col("window").max(), pl.col("directed_rate").max())
    most = most.join(sent.select("flow", packet=pl.col("sent_bytes") / pl.col("sent_packets")), on="flow").sort("flow")
    slowest = result.links.select(pl.col("rate").filter(pl.col("rate") > 0).min()).item()
    far_below = math.inf if slowest is None else _FAR * slowest / result.flows.height
    said = []
    for column, unit, per_packet, what, below in (
        ("window", "B", 1.0, "a window of a whole packet", math.inf),
        ("directed_rate", "bit/s", 8.0, "a rate of a packet per second", far_below),
    ):
        is_low = (pl.col(column) < per_packet * pl.col("packet")) & (pl.col(column) < below)
        low = most.filter((pl.col(column) > 0.0) & is_low)
        if low.height:
            found, packet = low[column][0], per_packet * low["packet"][0]
            said.append(
                f"{_named(low['flow'])} never had {what}: {found:.4g} {unit} at most, where that takes {packet:.4g} {unit}; "
                "directives say windows in bytes and rates in bit/s"
            )
    return said


def without_series(result: Result) -> str:
    """Why a result has no time series, and what makes some."""
    return (
        _too_long_bins(result) or "no time series was recorded; expected record.flows or record.links other than none"
    )


def expect_bins(result: Result) -> None:
    """Complains where a result has no time series, as its bins are longer than the run.

    Raises:
        NotFoundError: with both times.
    """
    if too_long := _too_long_bins(result):
        raise NotFoundError(too_long)


def _too_long_bins(result: Result) -> str:
    record = result.scenario_data.get("record", {})
    if all(record.get(kind) == "none" for kind in ("flows", "links")) or result.bin <= result.duration:
        return ""
    longer = f"record.bin of {result.bin:g} s is longer than the run of {result.duration:g} s"
    return f"{longer}, so that no time series was recorded"


def _receivers(result: Result, flows: pl.Series) -> list[str]:
    """Those of these rows that are receivers', as in "film to near"."""
    groups = result.scenario_data["flows"]
    names = {f"{group['name']} to {name}" for group in groups for name in group.get("receivers") or ()}
    return [name for name in flows if name in names]


def greedy(result: Result) -> set[str]:
    """The groups whose flows always have something to send."""
    return {group["name"] for group in result.scenario_data["flows"] if _source(group) == "bulk"}


def _source(group: dict[str, object]) -> object:
    source = group.get("source", "bulk")
    return source.get("name") if isinstance(source, dict) else source


def _is_custom(group: Mapping[str, Any]) -> bool:
    scheme = group.get("scheme")
    return isinstance(scheme, Mapping) and scheme.get("name") == "custom"


def _named(names: pl.Series) -> str:
    more = f" and {len(names) - _SOME} more" if len(names) > _SOME else ""
    return f"{', '.join(names[:_SOME])}{more}"
