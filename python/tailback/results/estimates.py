"""How far a scheme's estimate of its accumulation is from the truth. What the truth is, and when it is recorded, is said
in the scenario's field ``record.accumulation``; nothing is simulated here."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tailback.errors import NotFoundError

if TYPE_CHECKING:
    from tailback.results.result import Result


class Bias(NamedTuple):
    """A flow's accumulation and the errors of its estimates, in bytes."""

    exact: float
    """What it had waiting along its path, on average over time."""
    estimate: float
    """The mean of the estimates; not a number where there was none."""
    error: float
    """The mean difference of estimates and truth, each taken for one moment; not a number where there was none."""
    deviation: float
    """The standard deviation of these differences."""


def bias(result: Result, flow: str, begin: float = 0.0, end: float = float("inf")) -> Bias:
    """A flow's estimates of its accumulation against the truth, in the bins that lie between two times in seconds.

    An estimate that was made by sending a packet through the queues becomes known when that packet has passed them, and
    so a queueing time later, which by Little's law is the estimate over the flow's throughput. Errors are taken that long
    ago; bins should be narrow against it, a millisecond or two. The plain means of such estimates do not compare
    so well: where one is made per round trip, long queues, and with them long round trips, are asked for less often. An
    estimate that is an average over a round trip, as Vegas's is, speaks of no moment: compare ``estimate`` and ``exact``.

    Raises:
        KeyError: where the flow has no time series, or its accumulation was not recorded.
    """
    series = result.series(flow=flow)
    if "mean_accumulation" not in series.columns:
        raise NotFoundError(f"flow {flow!r} has no accumulation; scenarios record it with record.accumulation = true")
    width = result.bin
    exact = series["mean_accumulation"].to_numpy()
    estimates = series["estimated_accumulation"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    times = series["time"].to_numpy()
    # A bin ends at its time.
    inside = (times > begin + 0.5 * width) & (times < end + 0.5 * width)
    if not inside.any():
        return Bias(*[float("nan")] * 4)
    kept = float(exact[inside].mean())
    made = np.flatnonzero(inside & np.isfinite(estimates))
    per_bin = float(series["received_bytes"].to_numpy()[inside].mean())
    if made.size == 0 or per_bin == 0.0:
        return Bias(kept, float("nan"), float("nan"), float("nan"))
    ago = np.rint(np.maximum(estimates[made], 0.0) / per_bin).astype(np.int64)
    errors = estimates[made] - exact[np.maximum(made - ago, 0)]
    return Bias(kept, float(estimates[made].mean()), float(errors.mean()), float(errors.std()))
