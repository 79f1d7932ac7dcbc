"""Flows that their scheme switches on and off: when each was off, for how long, and what that left them beside TCP.
Figures of it are in ``tailback.plot.gates``."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import polars as pl

from tailback.analysis.fairness import jain
from tailback.units import counted, scaled

if TYPE_CHECKING:
    from tailback.results.result import Result

SWITCHED: Final = frozenset({"probabilistic"})
"""Schemes whose purpose is to switch flows off: that nobody was is worth saying."""
NEAR: Final = 1e-6
"""Seconds that are none: what is left of sums of times."""


class Gated(NamedTuple):
    """What became of one group of flows that were switched on and off, from ``warm_up`` to the end."""

    group: str
    flows: int
    on: float
    """The part of the time that its flows were on, on average over flows."""
    least_on: float
    """The same of the flow that was on least."""
    most_on: float
    """And of the one that was on most."""
    never_off: int
    """Flows that were always on."""
    closings: int
    """How often any of them was switched off."""
    median_off: float | None
    """The median time off, in seconds, of those that ended; ``None`` where none did, or time series were not recorded."""
    longest_off: float | None
    """The longest, those included that the end of the run cut short."""
    cut: int
    """How many off-times the end of the run cut short."""
    rate: float
    """Mean throughput of its flows, in bit/s."""
    jain: float | None
    """Jain's index of their throughputs."""
    tcp_flows: int
    """Flows of reliable transports beside them that nothing switches off."""
    tcp_rate: float | None
    """Mean throughput of those, in bit/s."""
    friendliness: float | None
    """A flow's mean throughput over that of a TCP flow beside it: at 1 the group takes what as many TCP flows would."""


def gated_groups(result: Result) -> list[str]:
    """The groups of which a flow was switched off, or whose scheme is there for that."""
    flows = result.flows
    if "closings" not in flows.columns:  # A result of an earlier version.
        return []
    chosen = flows.filter((pl.col("closings") > 0) | (pl.col("closed") > NEAR) | pl.col("scheme").is_in(list(SWITCHED)))
    return [str(group) for group in chosen["group"].unique(maintain_order=True)]


def off_times(result: Result, *, after_warm_up: bool = True) -> pl.DataFrame:
    """Every time that a flow was off, of those that end after ``warm_up`` unless all are wanted: ``flow``, ``group``, when
    it ``began`` and ``ended``, how long it was ``off`` (all in seconds), and whether the run's end cut it short
    (``is_cut``).

    Made of what is recorded per bin: exact, unless a flow was on for less than a bin between two of them.
    """
    schema = {
        "flow": pl.String, "group": pl.String, "began": pl.Float64, "ended": pl.Float64, "off": pl.Float64,
        "is_cut": pl.Boolean,
    }  # fmt: skip
    rows: list[tuple[Any, ...]] = []
    if "closed" in result.flow_series.columns and result.flow_series.height:
        groups = dict(result.flows.select("flow", "group").iter_rows())
        some = result.flow_series.filter(pl.col("closed") > NEAR).select("flow", "time", "closed")
        for (flow,), part in some.group_by("flow", maintain_order=True):
            spells = _spells(part["time"].to_numpy(), part["closed"].to_numpy(), result.bin)
            for began, ended in spells:
                is_cut = ended >= result.duration - NEAR
                if ended > result.warm_up or not after_warm_up:
                    rows.append((flow, groups[flow], began, ended, ended - began, is_cut))
    return pl.DataFrame(rows, schema=schema, orient="row")


def _spells(times: Any, closed: Any, width: float) -> list[tuple[float, float]]:
    """Times off from what was closed in the bins that end at ``times``, none of them zero."""
    found: list[tuple[float, float]] = []
    # Bins that follow each other belong together.
    for run in np.split(np.arange(len(times)), np.flatnonzero(np.diff(times) > 1.5 * width) + 1):
        first, last = run[0], run[-1]
        began = float(times[first] - closed[first])  # It lasts to the end of its first bin, ...
        ended = float(times[last] - width + closed[last])  # ... and began its last one closed.
        found.append((began, ended if len(run) > 1 else float(times[first])))
    return found


def switched(result: Result) -> list[Gated]:
    """What became of every group of flows that were switched on and off."""
    spells = off_times(result)
    return [_of_group(result, group, spells.filter(pl.col("group") == group)) for group in gated_groups(result)]


def _of_group(result: Result, group: str, spells: pl.DataFrame) -> Gated:
    flows = result.flows.filter((pl.col("group") == group) & (pl.col("start") < result.duration))
    begun = np.maximum(flows["start"].to_numpy(), result.warm_up)
    ended = flows["finished"].fill_null(result.duration).to_numpy()
    present = np.maximum(np.minimum(ended, result.duration) - begun, 0.0)
    closed = flows["closed"].to_numpy()
    on = 1.0 - np.divide(closed, present, out=np.zeros(len(closed)), where=present > 0).clip(0.0, 1.0)
    whole = spells.filter(~pl.col("is_cut"))["off"].to_numpy()
    every = spells["off"].to_numpy()
    rates = flows["throughput"].to_numpy()
    tcp = _beside(result)["throughput"].to_numpy()
    rate = float(rates.mean()) if rates.size else 0.0
    tcp_rate = float(tcp.mean()) if tcp.size else None
    return Gated(
        group=group,
        flows=flows.height,
        on=float(on.mean()) if on.size else 0.0,
        least_on=float(on.min(initial=1.0)),
        most_on=float(on.max(initial=0.0)),
        never_off=int((closed <= NEAR).sum()),
        closings=int(flows["closings"].sum()),
        median_off=float(np.median(whole)) if whole.size else None,
        longest_off=float(every.max()) if every.size else None,
        cut=len(every) - len(whole),
        rate=rate,
        jain=jain(rates) if rates.any() else None,
        tcp_flows=len(tcp),
        tcp_rate=tcp_rate,
        friendliness=rate / tcp_rate if tcp_rate else None,
    )


def _beside(result: Result) -> pl.DataFrame:
    """Flows of reliable transports that nothing switches off."""
    groups = gated_groups(result)
    chosen = ~pl.col("group").is_in(groups) & pl.col("scheme").is_in(list(_reliable()))
    return result.flows.filter(chosen & (pl.col("start") < result.duration))


@cache
def _reliable() -> frozenset[str]:
    from tailback import _core

    schemes = json.loads(_core.registry())["schemes"]
    return frozenset(scheme["name"] for scheme in schemes if scheme.get("reliability", "datagram") != "datagram")


def told(gated: Gated) -> str:
    """It in words, for a terminal or a page."""
    flows = counted(gated.flows, "flow")
    if gated.closings == 0 and gated.on >= 1.0 - NEAR:
        return f"{gated.group}: none of {flows} was switched off{_shares(gated)}"
    spread = f" ({_percent(gated.least_on)} to {_percent(gated.most_on)})" if gated.flows > 1 else ""
    verb = "were" if gated.flows != 1 else "was"
    parts = [f"{gated.group}: {flows} {verb} on {_percent(gated.on)} of the time{spread}"]
    if gated.median_off is not None:
        parts.append(f"off for {gated.median_off:.3g} s (median)")
    if gated.longest_off is not None:
        parts.append(f"at longest {gated.longest_off:.3g} s{' and on' if gated.median_off is None else ''}")
    if gated.flows > 1:
        parts.append(f"{gated.never_off} never off")
    return ", ".join(parts) + _shares(gated)


def _shares(gated: Gated) -> str:
    jain_said = "" if gated.jain is None or gated.flows < 2 else f"; Jain's index among them {gated.jain:.3f}"
    if gated.friendliness is None or gated.tcp_rate is None:
        return f"{jain_said}; no TCP beside them."
    both = (scaled(rate, "bit/s") for rate in (gated.rate, gated.tcp_rate))
    rates = " against ".join(f"{value:.4g} {unit}" for value, unit in both)
    return f"{jain_said}; a flow got {gated.friendliness:.2f} of what a TCP flow beside it got ({rates})."


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %"
