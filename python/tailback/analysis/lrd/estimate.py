"""What every estimator of the Hurst parameter gives back, the lines that they fit, and the scales that they look at. The
estimators live in files of their own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailback.analysis.arguments import expect_whole, positive_row
from tailback.analysis.confidence import Interval
from tailback.errors import ArgumentError

Floats = NDArray[np.float64]

LEAST = 256
"""Samples: below this no estimator says anything."""
_LARGEST = 1e120
"""A sample: squares of sums of so many as fit into memory, and what is left of squares of small differences, are numbers."""
_FEWEST = 10
"""Samples of a block in the noise of :func:`spread`: in shorter ones H does not show."""
_SIMULATED = 1 << 15
"""Samples of that noise."""
_RUNS, _MOST_RUNS = 40, 400
"""How often it is drawn: enough to know a deviation within a tenth. Of a short series more often, as long as all draws together
have no more than ``_DRAWN`` samples: it costs no more, and the same draws serve all series, so that a deviation that is 20 % too
small is too small for all of them."""
_DRAWN = _RUNS << 14


@dataclass(frozen=True)
class Estimate:
    """An estimate of H with what it was read off: points on logarithmic scales, and the line through those that count."""

    method: str
    """The name, as people call it."""
    hurst: float
    """H. Estimates are not forced into 0 to 1: what lies outside says that the series is no such process."""
    half_width: float
    """Of the 95 % confidence interval."""
    x: Floats
    """Where the points lie: samples per block or per scale, or radians per sample for frequencies."""
    y: Floats
    """The statistic at each."""
    used: NDArray[np.bool_]
    """Which points the estimate rests on."""
    slope: float
    """Of the fitted line in the logarithms of both."""
    intercept: float
    """Natural logarithm of the line's value at x = 1."""
    per_hurst: float
    """By how much the slope grows when H grows by 1."""
    x_label: str
    y_label: str

    @property
    def interval(self) -> Interval:
        """The 95 % confidence interval of H."""
        return Interval(self.hurst, self.half_width, 0.95, int(self.used.sum()))

    def fitted(self, x: ArrayLike) -> Floats:
        """The line.

        Raises:
            ArgumentError: for what is not above zero, and finite.
        """
        return np.exp(self.intercept + self.slope * np.log(positive_row("x", x)))


def checked(series: ArrayLike, least: int = LEAST) -> Floats:
    """A series fit for estimation.

    Raises:
        ArgumentError: for one with fewer than ``least`` samples, samples that are no finite numbers, or all the same, or so large
            or so near to each other that their squares would overflow or vanish.
    """
    try:
        if np.iscomplexobj(series):
            raise TypeError
        values = np.ascontiguousarray(series, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError("series: others than numbers are not allowed; expected numbers") from error
    if values.ndim != 1:
        raise ArgumentError(f"series: {values.ndim} dimensions are not allowed; expected one")
    if values.size < least:
        raise ArgumentError(f"series: {values.size} samples are not allowed; expected at least {least}")
    low, high = float(values.min()), float(values.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ArgumentError("series: numbers that are not finite are not allowed; expected finite numbers")
    if low == high:
        raise ArgumentError(f"series: every sample is {low:g}; expected some that differ")
    if max(-low, high) > _LARGEST or high - low < 1.0 / _LARGEST:
        raise ArgumentError(
            f"series: samples from {low:g} to {high:g} are not allowed; expected {_LARGEST:g} at most, and {1.0 / _LARGEST:g} "
            "apart or more: in another unit"
        )
    return values


def scales(shortest: int, longest: int, samples: int, per_octave: int = 3) -> NDArray[np.int64]:
    """Whole block lengths from ``shortest`` to ``longest``, evenly spread over logarithms, in a series of so many samples.

    Raises:
        ArgumentError: where fewer than three fit, the longest has no two blocks, or a length is not whole.
    """
    if longest > samples // 2:
        raise ArgumentError(f"longest: {longest} samples are not allowed; expected half of the {samples} at most")
    if shortest < 1 or longest < 4 * shortest:
        raise ArgumentError(
            f"scales: from {shortest} to {longest} samples are not allowed; expected two octaves or more, by a longer series, or "
            "another shortest or longest"
        )
    expect_whole(shortest=shortest, longest=longest)
    count = math.floor(per_octave * math.log2(longest / shortest)) + 1
    return np.unique(np.round(shortest * 2.0 ** (np.arange(count) / per_octave)).astype(np.int64))


def line(x: Floats, y: Floats, weights: Floats | None = None) -> tuple[float, float]:
    """Slope and intercept of the (weighted) least-squares line through y over x."""
    w = np.ones_like(x) if weights is None else weights
    centre, level = np.average(x, weights=w), np.average(y, weights=w)
    slope = float(np.sum(w * (x - centre) * (y - level)) / np.sum(w * (x - centre) ** 2))
    return slope, float(level - slope * centre)


class Scales(NamedTuple):
    """The block lengths that an estimate rests on, and what was found at each."""

    lengths: NDArray[np.int64]
    logs: Floats
    """The logarithm of the statistic."""
    blocks: NDArray[np.int64]
    """How many blocks each is the mean of."""


def spread(
    statistic: Callable[[Floats, NDArray[np.int64]], Floats],
    hurst_of: Callable[[Floats], float],
    found: Scales,
    hurst: float,
    samples: int,
) -> float:
    """The half-width of a 95 % interval by parametric bootstrap: the estimate's scatter over fractional Gaussian noise with
    the H that was found. Points of one regression are correlated, so its residuals say little of the error.

    More than 2^15 samples are not simulated. In a longer series the error comes from the longest blocks, of which there are
    few: as many as in the noise, however long the series is. So blocks in the noise are as many times shorter as the noise is,
    which is the same to a self-similar process. What differs is how far the line reaches below them: the scatter falls roughly
    with the square of the octaves that it spans. For blocks that are too short for this, the noise has blocks of their own
    length, and their error is smaller by the root of how many more there are in the series.

    Args:
        statistic: logarithms at block lengths in a series.
        hurst_of: the estimate from those at ``found.lengths``.
        found: the series' own.
        hurst: the estimate.
        samples: of the series.
    """
    from tailback.analysis.lrd.fractional_noise import fractional_noise

    rng = np.random.default_rng(1997)  # Any: what matters is that equal series get equal intervals.
    near = min(max(hurst, 0.05), 0.98)
    size = min(samples, _SIMULATED)
    runs = min(max(_DRAWN // size, _RUNS), _MOST_RUNS)
    is_long = (found.lengths * size >= _FEWEST * samples) | (size == samples)
    errors = np.zeros((runs, found.lengths.size))
    for chosen, lengths in (
        (is_long, np.round(found.lengths * (size / samples)).astype(np.int64)),
        (~is_long, np.minimum(found.lengths, size // 10)),
    ):
        if chosen.any():
            logs = [statistic(fractional_noise(near, size, rng), lengths[chosen]) for _ in range(runs)]
            parts = np.sqrt(size // lengths[chosen] / found.blocks[chosen])
            errors[:, chosen] = (logs - np.mean(logs, axis=0)) * np.minimum(parts, 1.0)
    return 1.96 * float(np.std([hurst_of(found.logs + error) for error in errors], ddof=1))


def sampled_blocks(values: Floats, length: int, most: int) -> Floats:
    """Non-overlapping blocks of a length as rows: all, or as many as have ``most`` samples together (but at least 64),
    evenly spread over the series."""
    count = values.size // length
    rows = values[: count * length].reshape(count, length)
    keep = max(most // length, 64)
    if count <= keep:
        return rows
    return rows[np.linspace(0, count - 1, keep).astype(np.int64)]


def count_sampled(lengths: NDArray[np.int64], samples: int, most: int) -> NDArray[np.int64]:
    """How many blocks of each length :func:`sampled_blocks` takes from a series of so many samples."""
    return np.minimum(samples // lengths, np.maximum(most // lengths, 64))
