"""At which time scale traffic is predictable: average entropy, mutual information and predictability against T1 = T2.

Tuan and Park, §2.4 and Fig. 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from tailback.analysis.arguments import expect_positive, row
from tailback.analysis.confidence import mean_interval
from tailback.analysis.lrd.estimate import checked
from tailback.analysis.lrd.levels import LEVELS, Quantiser
from tailback.analysis.lrd.prediction import predict, whole
from tailback.calls import checked_call
from tailback.errors import ArgumentError, refused


@checked_call
def by_time_scale(
    series: ArrayLike,
    bin: float,
    times: Sequence[float] | None = None,
    *,
    quantiser: Quantiser = "sigma",
    levels: int = LEVELS,
    phases: int = 8,
) -> pl.DataFrame:
    """A row per time scale T1 = T2: ``time`` in seconds, ``blocks``, ``entropy`` as published and ``entropy_corrected``,
    ``mutual_information`` (all in bits), ``predictability`` and ``span``, each averaged over ``phases`` starts of the blocks;
    and ``entropy_ci95``, by the scatter over eight parts of the series.

    Args:
        series: volumes per bin.
        bin: the width of a bin, in seconds.
        times: the time scales; by default 16, evenly spread over logarithms, up to a hundredth of the series.
        quantiser: how volumes become levels.
        levels: m.
        phases: at how many starts, evenly spread over a block.

    Raises:
        ArgumentError: for no times, or a series that is too short for any of them.
    """
    values = checked(series, 16)
    expect_positive(bin=bin)
    if phases < 1:
        raise refused("phases", phases, "at least 1")
    if times is None:
        times = default_times(values.size, bin)
    rows = []
    for time in row("times", times).tolist():
        width = whole(time, bin, "times")
        if 18 * width > values.size:
            raise refused("times", time, f"at most {values.size // 18 * bin:g} s here, so that 8 pairs of blocks fit")
        found = [
            predict(values, bin, time, quantiser=quantiser, levels=levels, offset=2 * width * phase // phases * bin)
            for phase in range(min(phases, 2 * width))
        ]
        rows.append(
            {
                "time": float(time),
                "blocks": found[0].past.size,
                "entropy": _mean([each.table.average_entropy() for each in found]),
                "entropy_ci95": _scatter(values, bin, time, quantiser, levels),
                "entropy_corrected": _mean([each.table.average_entropy(corrected=True) for each in found]),
                "conditional_entropy": _mean([each.table.conditional_entropy() for each in found]),
                "mutual_information": _mean([each.table.mutual_information for each in found]),
                "predictability": _mean([each.predictability for each in found]),
                "span": _mean([each.table.span() for each in found]),
            }
        )
    return pl.DataFrame(rows)


def default_times(samples: int, bin: float) -> list[float]:
    """At most 16 times, evenly spread over logarithms, up to a hundredth of the series: whole bins, all different. The
    shortest is a bin, or a 3000th of the longest where that is more.

    Raises:
        ArgumentError: for fewer than 200 samples.
    """
    if samples < 200:
        raise ArgumentError(f"series: {samples} samples are not allowed; expected at least 200")
    longest = samples // 100
    widths = np.unique(np.round(np.geomspace(max(1, longest / 3000), longest, 16)).astype(np.int64))
    return [float(width) * bin for width in widths]


def _scatter(values: np.ndarray, bin: float, time: float, quantiser: Quantiser, levels: int) -> float:
    """The half-width of the entropy's 95 % interval, from eight parts of the series; not a number where these are too short."""
    try:
        found = [predict(part, bin, time, quantiser=quantiser, levels=levels) for part in np.array_split(values, 8)]
    except ArgumentError:
        return float("nan")
    return mean_interval([each.table.average_entropy() for each in found]).half_width


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
