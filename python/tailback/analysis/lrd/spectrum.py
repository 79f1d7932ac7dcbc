"""H from the spectrum near frequency zero: the log-periodogram regression, and the local Whittle estimator.

Long-range dependence is a spectral density f(λ) ~ c λ^(1-2H) as λ → 0 (Tuan and Park §2.1 in the frequency domain). Both look
at the lowest m Fourier frequencies only; what lies above may be anything.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.fft
from numpy.typing import ArrayLike

from tailback.analysis.lrd.estimate import Estimate, Floats, checked, line
from tailback.calls import checked_call
from tailback.errors import refused

_BANDWIDTH = 0.65
"""m = n^0.65: wide enough for an error of 0.013 at 2^16 samples, narrow enough that f is still a power law for traffic."""


class Spectrum(NamedTuple):
    """A periodogram at its lowest frequencies."""

    frequencies: Floats
    """Radians per sample, without zero."""
    power: Floats
    samples: int


@checked_call
def periodogram(series: ArrayLike, bandwidth: float = _BANDWIDTH) -> Spectrum:
    """The periodogram at the lowest n^bandwidth Fourier frequencies.

    Raises:
        ArgumentError: for a series that is too short, constant or not finite, or a bandwidth outside 0.3 to 1.
    """
    values = checked(series)
    if not 0.3 <= bandwidth <= 1.0:
        raise refused("bandwidth", bandwidth, "0.3 to 1")
    # Lengths with large prime factors transform slowly: a few samples at the end are left out.
    length = scipy.fft.prev_fast_len(values.size, real=True)
    count = min(int(length**bandwidth), (length - 1) // 2)
    transform = scipy.fft.rfft(values[:length] - values[:length].mean())[1 : count + 1]
    frequencies = 2.0 * np.pi * np.arange(1, count + 1) / length
    power = np.maximum(np.abs(transform) ** 2 / (2.0 * np.pi * length), 1e-300)
    return Spectrum(frequencies, power, length)


@checked_call
def log_periodogram(series: ArrayLike | Spectrum) -> Estimate:
    """H by regression of the logarithm of the periodogram (Geweke and Porter-Hudak 1983; Robinson 1995a).

    log I = c - (2H - 1) log λ + an error of variance π²/6, so H has the standard error π / √(24 m).

    Raises:
        ArgumentError: for a series that is too short, constant or not finite.
    """
    found = series if isinstance(series, Spectrum) else periodogram(series)
    x, y = np.log(found.frequencies), np.log(found.power)
    slope, intercept = line(x, y)
    # The variance of the slope in the regression at hand: (π²/6) / Σ (x - mean x)².
    error = np.pi / np.sqrt(6.0 * np.sum((x - x.mean()) ** 2))
    return _estimate(
        "periodogram", 0.5 * (1.0 - slope), 1.96 * 0.5 * error, found, slope=slope, intercept=intercept + np.euler_gamma
    )


@checked_call
def local_whittle(series: ArrayLike | Spectrum) -> Estimate:
    """H by maximum of the local Whittle likelihood (Künsch 1987; Robinson 1995b): the least value over H of
    log(mean(I λ^(2H-1))) - (2H - 1) mean(log λ). Its standard error is 1 / (2 √Σ (log λ - mean log λ)²), by the expected
    curvature there, the least of those here. It comes to 1 / (2 √m) as m grows, which is a tenth too little in 500 samples.

    Raises:
        ArgumentError: for a series that is too short, constant or not finite.
    """
    from scipy.optimize import minimize_scalar

    found = series if isinstance(series, Spectrum) else periodogram(series)
    logs = np.log(found.frequencies)
    centred = logs - logs.mean()

    def contrast(hurst: float) -> float:
        return float(np.log(np.mean(found.power * np.exp((2.0 * hurst - 1.0) * centred))))

    hurst = float(minimize_scalar(contrast, bounds=(-0.5, 2.0), method="bounded", options={"xatol": 1e-7}).x)
    slope = 1.0 - 2.0 * hurst
    level = float(np.log(np.mean(found.power * np.exp(-slope * logs))))
    error = 0.5 / np.sqrt(np.sum(centred * centred))
    return _estimate("local Whittle", hurst, 1.96 * error, found, slope=slope, intercept=level)


def _estimate(
    method: str, hurst: float, half_width: float, found: Spectrum, *, slope: float, intercept: float
) -> Estimate:
    x, y = _smoothed(found)
    return Estimate(
        method=method,
        hurst=float(hurst),
        half_width=float(half_width),
        x=x,
        y=y,
        used=np.ones(x.size, dtype=np.bool_),
        slope=float(slope),
        intercept=float(intercept),
        per_hurst=-2.0,
        x_label="frequency (radians per sample)",
        y_label="periodogram",
    )


def _smoothed(found: Spectrum) -> tuple[Floats, Floats]:
    """For the picture: the mean over bands of equal width in logarithms; single frequencies where they are sparse."""
    most = 300  # Bands, more than a picture shows.
    count = found.frequencies.size
    edges = np.unique(np.round(np.geomspace(1, count + 1, min(most, count) + 1)).astype(np.int64)) - 1
    sizes = np.diff(edges)
    x = np.exp(np.add.reduceat(np.log(found.frequencies), edges[:-1]) / sizes)
    return x, np.add.reduceat(found.power, edges[:-1]) / sizes
