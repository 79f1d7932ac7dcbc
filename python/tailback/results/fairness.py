"""Fairness of one run by the field's definitions, against time too. The indices themselves are in
``tailback.analysis``; metrics of efficiency are in ``metrics.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tailback.analysis.fairness import epsilon_fairness
from tailback.calls import checked_call
from tailback.results.bins import bins_of_window, expect_part
from tailback.results.metrics import goodput
from tailback.results.warnings import no_number

if TYPE_CHECKING:
    from tailback.results.result import Result

Floats = NDArray[np.float64]
_INSTANT = 0.5e-9
"""Seconds: simulated time counts nanoseconds, so what is nearer is the same instant, except for the rounding of sums."""


@checked_call
def epsilon(result: Result) -> float:
    """The smallest epsilon for which the flows' goodputs are epsilon-fair, ``1 - min/max``, over the window from
    ``warm_up`` to the end (RFC 5166 §2.3.1); 0 is perfectly fair, not a number where nobody received anything."""
    shares = goodput(result)
    return epsilon_fairness(shares) if shares.any() else float("nan")


@checked_call
def jain_over_time(result: Result, window: float) -> tuple[Floats, Floats]:
    """Jain's index of the watched flows' goodputs in successive windows of ``window`` seconds, from the start of the
    run (RFC 8868 §3 asks for 1, 5 and 20 s). A flow takes part from its start on; windows in which fewer than two
    flows were there, or nobody received anything, are left out.

    Returns:
        The windows' ends, and the index in each.

    Raises:
        ValueError: for a window that is no multiple of a bin.
    """
    per = bins_of_window(result, window)
    table = result.flow_series.select("time", "flow", "goodput_bytes")
    names = table["flow"].unique(maintain_order=True).to_list()
    if not names:
        return np.array([]), np.array([])
    bins = table.height // len(names)
    whole = bins // per * per
    counts = table["goodput_bytes"].to_numpy().astype(np.float64).reshape(len(names), bins)[:, :whole]
    shares = counts.reshape(len(names), -1, per).sum(axis=2)
    ends = table["time"].to_numpy()[:whole].reshape(-1, per)[:, -1]
    starts = dict(result.flows.select("flow", "start").iter_rows())
    present = (
        np.array([starts.get(name, 0.0) for name in names])[:, None] <= (ends - per * result.bin + _INSTANT)[None, :]
    )
    shares = np.where(present, shares, 0.0)
    count, square = present.sum(axis=0), (shares**2).sum(axis=0)
    valid = (count >= 2) & (square > 0)
    return ends[valid], (shares.sum(axis=0)[valid] ** 2) / (count[valid] * square[valid])


@checked_call
def delta_fair_convergence(result: Result, first: str, second: str, delta: float = 0.2, window: float = 1.0) -> float:
    """Seconds from the start of the later of two flows until both have close to a fair share of what they have
    together: shares between ``(1 - delta)/2`` and ``(1 + delta)/2`` in a window of ``window`` seconds (RFC 5166
    §2.3 after Bansal et al. 2001). The end of the first such window; not a number where there is none, and a warning says how
    near they came.

    Raises:
        KeyError: for a flow without a time series.
        ValueError: for a ``delta`` that is not from 0 to below 1, or a window that is no multiple of a bin.
    """
    expect_part("delta", delta)
    per = bins_of_window(result, window)
    rates = [_windows(result, name, per) for name in (first, second)]
    ends, one, two = rates[0][0], rates[0][1], rates[1][1]
    starts = dict(result.flows.select("flow", "start").iter_rows())
    later = max(starts[first], starts[second])
    both = one + two
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(both > 0, one / both, 0.0)
    fair = (ends - per * result.bin + _INSTANT >= later) & (np.abs(share - 0.5) <= 0.5 * delta)
    if fair.any():
        return float(ends[fair][0] - later)
    low, high = (1.0 - delta) / 2, (1.0 + delta) / 2
    there = share[(ends - per * result.bin + _INSTANT >= later) & (both > 0)]
    nearest = there[np.argmin(np.abs(there - 0.5))] if there.size else None
    said = (
        "both never received anything together"
        if nearest is None
        else f"the nearest share of {first} was {nearest:.3g}"
    )
    return no_number(
        f"delta_fair_convergence: no window of {window:g} s with shares from {low:.3g} to {high:.3g} after both flows began, at "
        f"{later:g} s; {said}"
    )


def _windows(result: Result, flow: str, per: int) -> tuple[Floats, Floats]:
    """The ends of successive windows of so many bins, and a flow's goodput in each."""
    table = result.series(flow=flow)
    whole = table.height // per * per
    rates = table["goodput"].to_numpy()[:whole].reshape(-1, per).mean(axis=1)
    return table["time"].to_numpy()[:whole].reshape(-1, per)[:, -1], rates


@checked_call
def by_group(result: Result) -> pl.DataFrame:
    """One row per group: flows, mean goodput per flow, and its ratio to the mean of all flows, over the window from
    ``warm_up`` to the end (1 is a fair share; RFC 5166 §2.3.1 compares flows, groups serve mixed schemes)."""
    mean = float(goodput(result).mean()) if result.flows.height else 0.0
    return result.flows.group_by("group", maintain_order=True).agg(
        pl.len().alias("flows"),
        pl.col("goodput").mean(),
        (pl.col("goodput").mean() / mean).alias("share") if mean else pl.lit(float("nan")).alias("share"),
    )
