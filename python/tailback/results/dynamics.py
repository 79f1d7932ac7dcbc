"""How smoothly and how fast one run's flows move: oscillation, response and convergence by RFC 5166 §2.2 and tcpeval
§5.2. All read time series, whose bins bound what can be resolved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tailback.calls import checked_call
from tailback.errors import refused
from tailback.results.bins import bins_in, bins_of_window, expect_part
from tailback.results.metrics import coefficient_of_variation, longest_scale
from tailback.results.warnings import no_number

if TYPE_CHECKING:
    from tailback.results.result import Result

SCALES = (0.2, 1.0, 5.0, 20.0)
"""Seconds: the media window and the three fairness windows of RFC 8868 §3."""
SEGMENT = 1500
"""Bytes: the unit of tcpeval's convergence times."""


@checked_call
def smoothness(result: Result, flow: str) -> float:
    """The largest relative reduction of a flow's sending rate from one round trip time to the next, from ``warm_up``
    on (RFC 5166 §2.2.2); 0 is perfectly smooth, a halving 0.5. Round trips are of the flow's mean length, rounded to
    whole bins, one bin where it is shorter.

    Raises:
        KeyError: for a flow without a time series.
    """
    rates = _per_round_trip(result, flow)
    before, after = rates[:-1], rates[1:]
    sending = before > 0
    return float(np.max(1.0 - after[sending] / before[sending], initial=0.0))


@checked_call
def aggressiveness(result: Result, flow: str) -> float:
    """The largest increase of a flow's sending rate from one round trip time to the next, in bit/s, from ``warm_up``
    on (RFC 5166 §2.2.1). Round trips as in :func:`smoothness`.

    Raises:
        KeyError: for a flow without a time series.
    """
    return float(np.max(np.diff(_per_round_trip(result, flow)), initial=0.0))


@checked_call
def responsiveness(result: Result, flow: str, since: float) -> float:
    """Round trip times of sustained congestion until a flow has halved its sending rate (RFC 5166 §2.2.1): from
    ``since``, when congestion begins (a link becomes slower, say), to the end of the first round trip in which it sends
    at most half as much as in the mean of the ten before. Round trips are of the flow's mean length until then, or one
    bin where that is shorter, which bounds what can be resolved. Not a number, with a warning, where it never halves.

    Args:
        result: of a run in which congestion lasts from ``since`` on.
        flow: its name.
        since: seconds since the start of the run.

    Raises:
        KeyError: for a flow without a time series.
        ValueError: where there are no ten round trips before ``since``, or nothing was sent in them.
    """
    series = result.series(flow=flow)
    ends, rates = series["time"].to_numpy(), series["sending_rate"].to_numpy()
    earlier = ends <= since + 0.5 * result.bin
    mean = series.filter(pl.Series(earlier))["rtt"].drop_nulls().drop_nans().mean()
    per = max(round(float(mean) / result.bin), 1) if isinstance(mean, float) else 1
    usual = rates[earlier][-10 * per :]
    if usual.size < 10 * per or not usual.mean() > 0:
        raise refused("since", since, f"seconds, with ten round trips of {flow} before it, in which it sends")
    later = rates[~earlier]
    means = np.convolve(later, np.full(per, 1.0 / per), mode="valid") if later.size >= per else later[:0]
    halved = np.flatnonzero(means <= 0.5 * usual.mean())
    length = float(mean) if isinstance(mean, float) and mean > result.bin else result.bin
    if halved.size:
        return float((halved[0] + per) * result.bin / length)
    return no_number(f"responsiveness: {flow} never halved its {usual.mean():.4g} bit/s after {since:g} s")


@checked_call
def variation(result: Result, flow: str, scales: Sequence[float] = SCALES) -> pl.DataFrame:
    """The coefficient of variation of a flow's goodput at several time scales from ``warm_up`` on (RFC 5166 §2.2.2):
    columns ``scale`` in seconds and ``variation``. Scales that are no multiple of a bin, or longer than half the window,
    are left out.

    Raises:
        KeyError: for a flow without a time series.
    """
    rows: list[tuple[float, float]] = []
    half = longest_scale(result, result.series(flow=flow, after_warm_up=True).height)
    for scale in scales:
        if bins_in(result, scale) is not None and scale <= half:
            rows.append((scale, coefficient_of_variation(result, flow, scale)))
    return pl.DataFrame(rows, schema={"scale": pl.Float64, "variation": pl.Float64}, orient="row")


@checked_call
def convergence_time(result: Result, flow: str, exponent: int = 2) -> float:
    """Seconds from a flow's start until the receiver has its ``1500 * 10**exponent``-th byte in order: how fast a
    newcomer gets going (tcpeval §5.2). Interpolated within a bin; not a number, with a warning, where that byte never came.

    Raises:
        KeyError: for a flow without a time series.
    """
    series = result.series(flow=flow)
    wanted = float(SEGMENT * 10**exponent)
    total = np.cumsum(series["goodput_bytes"].to_numpy().astype(np.float64))
    row = int(np.searchsorted(total, wanted))
    if row >= total.size:
        had = f"{flow} had {total[-1] if total.size else 0:,.0f} bytes of {wanted:,.0f}"
        return no_number(f"convergence_time: {had} when the run ended")
    before = float(total[row - 1]) if row else 0.0
    end = float(series["time"][row])
    start = float(result.flows.filter(pl.col("flow") == flow)["start"][0])
    # In the bin in which a flow starts, all its bytes come after that.
    begin = max(end - result.bin, start)
    return begin - start + (end - begin) * (wanted - before) / (float(total[row]) - before)


@checked_call
def settling_time(result: Result, flow: str, share: float, tolerance: float = 0.2, window: float = 1.0) -> float:
    """Seconds from a flow's start until its goodput, in windows of ``window`` seconds, first lies within ``tolerance``
    (relative) of ``share`` bit/s. A definition of ours, for the convergence that RFC 5166 §2.3 leaves open; not a
    number where it never does, and a warning says how near it came.

    Raises:
        KeyError: for a flow without a time series.
        ValueError: for a share that is not above 0, a tolerance that is not from 0 to below 1, or a window that is no multiple
            of a bin.
    """
    if not 0 < share < math.inf:
        raise refused("share", share, "a rate above 0 bit/s")
    expect_part("tolerance", tolerance)
    series = result.series(flow=flow)
    per = bins_of_window(result, window)
    whole = series.height // per * per
    rates = series["goodput"].to_numpy()[:whole].reshape(-1, per).mean(axis=1)
    ends = series["time"].to_numpy()[:whole].reshape(-1, per)[:, -1]
    start = float(result.flows.filter(pl.col("flow") == flow)["start"][0])
    near = (ends > start) & (np.abs(rates - share) <= tolerance * share)
    if near.any():
        return float(ends[near][0] - start)
    there = rates[ends > start]
    nearest = f"; the nearest had {there[np.argmin(np.abs(there - share))]:.4g}" if there.size else ""
    return no_number(
        f"settling_time: no window of {window:g} s in which {flow} was within {tolerance:.3g} of {share:.4g} bit/s{nearest}"
    )


@checked_call
def steady_after(
    result: Result, flow: str, since: float, until: float, *, tolerance: float = 0.2, window: float = 1.0
) -> float:
    """Seconds from a change at ``since`` (of the capacity, or of who is there) until a flow's rate is stable, which RFC 8868
    §3 calls convergence time and leaves open: until from there on, its goodput in every window of ``window`` seconds lies
    within ``tolerance`` (relative) of its mean over the second half of the time until ``until``, when the next change comes.
    Not a number where the last window lies outside, and a warning says by how much.

    Args:
        result: of a run whose flow has a time series.
        flow: its name.
        since: seconds since the start of the run.
        until: seconds since the start of the run.
        tolerance: relative to that mean.
        window: seconds; whole bins.

    Raises:
        KeyError: for a flow without a time series.
        ValueError: where there are not two windows between ``since`` and ``until``, a tolerance is not from 0 to below 1, or a
            window is no multiple of a bin.
    """
    expect_part("tolerance", tolerance)
    rates = windows(result, flow, since, until, window)
    if rates.size < 2:
        raise refused("until", until, f"seconds, at least two windows of {window:g} s after {since:g}")
    usual = rates[rates.size // 2 :].mean()
    outside = np.flatnonzero(np.abs(rates - usual) > tolerance * usual)
    if not outside.size:
        return 0.0
    if outside[-1] < rates.size - 1:
        return float(outside[-1] + 1) * window
    return no_number(
        f"steady_after: {flow} had {rates[-1]:.4g} bit/s in the last window of {window:g} s before {until:g} s, which is not "
        f"within {tolerance:.3g} of its usual {usual:.4g}"
    )


@checked_call
def windows(result: Result, flow: str, since: float, until: float, window: float = 1.0) -> NDArray[np.float64]:
    """A flow's mean goodput in bit/s in successive windows of ``window`` seconds between two times; what is left at the end
    is left out.

    Raises:
        KeyError: for a flow without a time series.
        ValueError: for a window that is no multiple of a bin, and where none lies between the two times.
    """
    series = result.series(flow=flow)
    ends, half = series["time"].to_numpy(), 0.5 * result.bin
    rates = series["goodput"].to_numpy()[(ends > since + half) & (ends < until + half)]
    per = bins_of_window(result, window)
    if rates.size < per:
        run = f"and within the run, which ends at {result.duration:g} s"
        raise refused("until", until, f"seconds, at least a window of {window:g} s after {since:g}, {run}")
    means: NDArray[np.float64] = rates[: rates.size // per * per].reshape(-1, per).mean(axis=1)
    return means


def _per_round_trip(result: Result, flow: str) -> NDArray[np.float64]:
    """A flow's sending rate in successive round trips of its mean length, from ``warm_up`` on."""
    series = result.series(flow=flow, after_warm_up=True)
    mean = series["rtt"].drop_nulls().drop_nans().mean()
    per = max(round(float(mean) / result.bin), 1) if isinstance(mean, float) else 1
    rates = series["sending_rate"].to_numpy()
    whole = rates.size // per * per
    means: NDArray[np.float64] = rates[:whole].reshape(-1, per).mean(axis=1)
    return means
