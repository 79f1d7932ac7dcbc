"""Confidence intervals for simulation output: over independent seeds, over pairs with common random numbers, and
over batches of one long run. Hypothesis tests beyond that do not live here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailback.calls import checked_call
from tailback.errors import ArgumentError, refused


@dataclass(frozen=True)
class Interval:
    """A mean with its two-sided confidence interval."""

    mean: float
    half_width: float
    """Infinite when there is only one sample: one run says nothing about its spread."""
    level: float
    """Probability with which such intervals cover the true mean, for example 0.95."""
    samples: int

    @property
    def low(self) -> float:
        """Lower end."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end."""
        return self.mean + self.half_width

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.mean:.4g} ± {self.half_width:.2g}" if math.isfinite(self.half_width) else f"{self.mean:.4g}"


@lru_cache(maxsize=256)
def student_t(freedom: float, level: float) -> float:
    """The two-sided quantile of Student's t distribution, of whole degrees of freedom or not."""
    from scipy.special import stdtrit  # scipy.stats would take a second to import

    return float(stdtrit(freedom, 0.5 + level / 2.0))


@checked_call
def mean_interval(samples: ArrayLike, level: float = 0.95) -> Interval:
    """Student's t interval for the mean of independent samples, one per seed.

    Exact where samples are normal, as means over long runs nearly are. Skewed samples are covered less often: of ten
    exponential ones the mean is in 90 % of intervals of 95 %, of ten Pareto ones with shape 1.5, whose variance is infinite,
    in 63 %. Whoever compares means of heavy-tailed quantities wants many seeds, or medians.

    Raises:
        ValueError: without samples, for one that is not a finite number, or for a level outside 0 to 1.
    """
    return _mean_interval("samples", _finite("samples", samples), level)


def _mean_interval(name: str, values: NDArray[np.float64], level: float) -> Interval:
    _expect_level(level)
    # In a power of two near the largest: squares neither overflow nor vanish, and no digit changes.
    scale = _power_of_two(values)
    scaled = np.ldexp(values, -scale)
    mean, half_width = _unscaled(name, float(scaled.mean()), scale), math.inf
    if values.size > 1:
        error = float(scaled.std(ddof=1)) / math.sqrt(values.size)
        half_width = _unscaled(name, student_t(values.size - 1, level) * error, scale)
    return Interval(mean, half_width, level, int(values.size))


def _power_of_two(values: NDArray[np.float64]) -> int:
    """The exponent of the least power of two above all values."""
    return int(np.frexp(np.abs(values).max())[1])


def _unscaled(name: str, value: float, scale: int) -> float:
    try:
        return math.ldexp(value, scale)
    except OverflowError:
        raise ArgumentError(
            f"{name}: the interval of such large numbers is not allowed, as no number is so large; expected a larger unit"
        ) from None


def _expect_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level: {level} is not allowed; expected above 0 and below 1, for example 0.95")


def _finite(name: str, given: ArrayLike) -> NDArray[np.float64]:
    """The values as numbers. One that is none would make a mean that is none, without a word."""
    values = np.asarray(given, dtype=np.float64).ravel()
    if values.size == 0:
        raise ArgumentError(f"{name}: none are not allowed; expected at least one")
    wrong = values[~np.isfinite(values)]
    if wrong.size:
        how_many = f"{wrong.size} of {values.size} {'is' if wrong.size == 1 else 'are'} not"
        raise ArgumentError(
            f"{name}: {wrong[0]:g} is not allowed; expected finite numbers, and {how_many}; leave out what has no value where "
            "a mean of the others makes sense"
        )
    return values


@checked_call
def paired_interval(first: ArrayLike, second: ArrayLike, level: float = 0.95) -> Interval:
    """Student's t interval for the mean of ``first - second``, sample by sample.

    For variants run with the same seeds: common random numbers cancel in the difference.

    Raises:
        ValueError: where the two differ in length, or one has a value that is not a finite number.
    """
    a, b = _finite("first", first), _finite("second", second)
    if a.size != b.size:
        raise ArgumentError(f"second: {b.size} samples are given; expected {a.size}, as many as of the first")
    with np.errstate(over="ignore"):
        difference = a - b
    if not np.isfinite(difference).all():
        raise ArgumentError("first: a difference that no number holds is not allowed; expected a larger unit")
    return _mean_interval("first", difference, level)


@checked_call
def difference_interval(first: ArrayLike, second: ArrayLike, level: float = 0.95) -> Interval:
    """Welch's t interval for the difference of the means of two independent samples, which need not have the same spread
    (Welch, 1947, equation 28 for the degrees of freedom).

    Raises:
        ValueError: without samples, for one that is not a finite number, or for a level outside 0 to 1.
    """
    a, b = _finite("first", first), _finite("second", second)
    _expect_level(level)
    scale = max(_power_of_two(a), _power_of_two(b))
    spreads = [np.ldexp(values, -scale) for values in (a, b)]
    sizes = np.array([a.size, b.size])
    samples = int(sizes.sum())
    mean = _unscaled("first", float(spreads[0].mean() - spreads[1].mean()), scale)
    if sizes.min() < 2:
        return Interval(mean, math.inf, level, samples)
    errors = np.array([one.var(ddof=1) / one.size for one in spreads])
    total = float(errors.sum())
    if total == 0.0:
        return Interval(mean, 0.0, level, samples)
    # By parts of the whole, whose squares do not vanish or overflow whatever the unit.
    freedom = 1.0 / float(((errors / total) ** 2 / (sizes - 1)).sum())
    half_width = student_t(freedom, level) * math.sqrt(total)
    return Interval(mean, _unscaled("first", half_width, scale), level, samples)


@checked_call
def batch_means(series: ArrayLike, batches: int = 20, level: float = 0.95) -> Interval:
    """An interval for the mean of one long, correlated series, by non-overlapping batch means.

    The series is cut into ``batches`` of equal length (a remainder at the start, where the transient is, is left
    out), whose means are nearly independent when batches are much longer than the correlation: of an AR(1) process, an
    interval of 95 % covers the mean in 94 % of cases with batches of 25 correlation times, in 90 % with 2.5, and in 63 % with
    half of one.

    **Too narrow under long-range dependence**, where the correlation of neighbours, ``2**(2 H - 1) - 1``, is the same however
    long batches are. In fractional Gaussian noise 20 batches cover the mean in 86 % of cases at H = 0.6, 69 % at 0.7, 54 % at
    0.8 and 33 % at 0.9; longer series do not help. Take the means of runs with different seeds there (:func:`mean_interval`).

    Raises:
        ValueError: with fewer values than batches, fewer than two batches, or a value that is not a finite number.
    """
    values = _finite("series", series)
    if values.size < 2:
        raise ArgumentError("series: one value is not allowed; expected at least two")
    if not 2 <= batches <= values.size:
        raise refused("batches", batches, f"from 2 to the {values.size} values")
    length = values.size // batches
    scale = _power_of_two(values)
    means = np.ldexp(values[-length * batches :], -scale).reshape(batches, length).mean(axis=1)
    return _mean_interval("series", np.ldexp(means, scale), level)
