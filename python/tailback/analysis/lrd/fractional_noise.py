"""Fractional Gaussian noise, exact: the reference series of known H. Traffic made of bursts lives in ``bursts.py``.

Davies and Harte, "Tests for Hurst effect", Biometrika 74 (1987): the covariance matrix of n samples is the corner of a
circulant one of 2n, whose eigenvalues a Fourier transform gives; for fractional Gaussian noise none is negative.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tailback.analysis.arguments import expect_whole
from tailback.calls import checked_call
from tailback.errors import refused

Floats = NDArray[np.float64]

MOST = 1 << 28
"""Samples of a series that is made: more do not fit into the memory of most machines."""


@checked_call
def autocovariance(hurst: float, lags: int) -> Floats:
    """Of fractional Gaussian noise of variance 1 at lags 0, 1, …, lags - 1:
    (|k + 1|^2H - 2 |k|^2H + |k - 1|^2H) / 2 (Mandelbrot and van Ness 1968).

    Raises:
        ArgumentError: for an H outside 0 to 1, or no lags, or more than 2^28.
    """
    _check(hurst, lags=lags)
    k = np.arange(lags, dtype=np.float64)
    power = 2.0 * hurst
    return 0.5 * (np.abs(k + 1.0) ** power - 2.0 * k**power + np.abs(k - 1.0) ** power)


@checked_call
def fractional_noise(hurst: float, samples: int, rng: np.random.Generator) -> Floats:
    """Fractional Gaussian noise of mean 0 and variance 1.

    Raises:
        ArgumentError: for an H outside 0 to 1, or no samples, or more than 2^28.
    """
    _check(hurst, samples=samples)
    half = 1 << (samples - 1).bit_length()  # A power of two transforms fastest.
    root = _root(hurst, half)
    # Independent complex normal numbers of variance 1 per part; the first and the last are real.
    normal = rng.standard_normal((2, half + 1))
    spectrum = root * (normal[0] + 1j * normal[1])
    spectrum[0], spectrum[half] = np.sqrt(2.0) * spectrum[0].real, np.sqrt(2.0) * spectrum[half].real
    made: Floats = np.fft.irfft(spectrum, 2 * half)[:samples]
    return made


def _check(hurst: float, **counts: int) -> None:
    if not 0.0 < hurst < 1.0:
        raise refused("hurst", hurst, "above 0 and below 1")
    expect_whole(**counts)
    for name, count in counts.items():
        if count > MOST:
            raise refused(name, count, f"a whole number from 1 to {MOST}")


@lru_cache(maxsize=8)
def _root(hurst: float, half: int) -> Floats:
    """Square roots of the circulant's eigenvalues, scaled so that the inverse transform has variance 1."""
    first = autocovariance(hurst, half + 1)
    eigenvalues = np.fft.rfft(np.concatenate([first, first[-2:0:-1]])).real
    made: Floats = np.sqrt(np.maximum(eigenvalues, 0.0) * half)
    made.setflags(write=False)
    return made
