"""H by wavelets: how the energy of details grows with their scale, octave by octave. The transform is PyWavelets'.

Abry and Veitch, "Wavelet analysis of long-range-dependent traffic", IEEE Trans. Information Theory 44 (1998), and Veitch and
Abry, "A wavelet-based joint estimator of the parameters of long-range dependence", same journal 45 (1999), whose equation
numbers stand below. Wavelets with N vanishing moments are blind to trends that are polynomials of degree below N.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincc, psi, zeta

from tailback.analysis.arguments import expect_whole
from tailback.analysis.lrd.estimate import Estimate, Floats, checked, line
from tailback.calls import checked_call
from tailback.errors import ArgumentError, refused

LN2 = float(np.log(2.0))
_FEWEST = 16
"""Details of an octave that counts."""


@checked_call
def wavelet(
    series: ArrayLike, *, moments: int = 2, shortest: int = 8, longest: int | None = None, fit: float = 0.0
) -> Estimate:
    """H by the logscale diagram.

    Args:
        series: the samples.
        moments: vanishing moments of Daubechies' wavelet, 1 (Haar) to 10.
        shortest: samples of the finest scale that counts; octaves are powers of two, the nearest above is taken.
        longest: of the coarsest, the nearest power of two below is taken; by default all octaves with at least 16 details.
        fit: where above 0, finer scales are left out until the line fits with this probability (Veitch, Abry and Taqqu
            2003 choose the onset of scaling so): 0.05, for example.

    Raises:
        ArgumentError: for a series that is too short, constant or not finite, or too few octaves, or one with
            fewer than 16 details.
    """
    if not 1 <= moments <= 10:
        raise refused("moments", moments, "1 to 10")
    if not 0.0 <= fit < 1.0:
        raise refused("fit", fit, "a probability from 0 up to below 1")
    for name, samples in [("shortest", shortest), ("longest", longest)]:
        if samples is not None:
            expect_whole(**{name: samples})
    energies, counts = details(checked(series), moments)
    octaves = np.arange(1, energies.size + 1, dtype=np.float64)
    # Eq. 2.9 of 1999: the logarithm of a mean of n squares falls short of that of its expectation by g(n).
    half = 0.5 * counts
    shortfall = psi(half) / LN2 - np.log2(half)
    variance = zeta(2.0, half) / LN2**2
    y = np.log2(energies) - shortfall
    first = max(int(np.ceil(np.log2(max(shortest, 2)) - 1e-9)), 1)
    most = int((counts >= _FEWEST).sum())
    last = most if longest is None else int(np.floor(np.log2(longest) + 1e-9))
    if last > most:
        raise refused(
            "longest", longest, f"below {2 ** (most + 1)} samples here, for scales with {_FEWEST} details or more"
        )
    used = (octaves >= first) & (octaves <= last)
    if used.sum() < 3:
        raise ArgumentError(
            f"series: {used.sum()} octaves with {_FEWEST} details from {shortest} samples up; expected three or more"
        )
    if fit > 0.0:
        used = _onset(octaves, y, variance, used, fit)
    slope, intercept = line(octaves[used], y[used], 1.0 / variance[used])
    error = 1.0 / np.sqrt(_spread(octaves[used], variance[used]))
    return Estimate(
        method="wavelet",
        hurst=0.5 * (1.0 + slope),
        half_width=1.96 * 0.5 * float(error),
        x=2.0**octaves,
        y=2.0**y,
        used=used,
        slope=slope,
        intercept=intercept * LN2,
        per_hurst=2.0,
        x_label="scale (samples)",
        y_label="mean energy of details",
    )


def details(values: Floats, moments: int) -> tuple[Floats, Floats]:
    """Per octave the mean square of the wavelet coefficients, and how many there are. Those that reach beyond an end of the
    series are left out."""
    import pywt

    name = f"db{moments}"
    length = 2 * moments
    energies, counts = [], []
    rest = values - values.mean()
    while rest.size >= 4 * length:
        rest, found = pywt.dwt(rest[: rest.size // 2 * 2], name, mode="zero")
        # The first and last few mix in the zeros around: moments - 1 at each end, at every octave anew.
        rest, inside = rest[moments - 1 : rest.size - moments + 1], found[moments - 1 : found.size - moments + 1]
        energies.append(max(float(np.mean(inside * inside)), 1e-300))
        counts.append(float(inside.size))
    return np.array(energies), np.array(counts)


def _spread(x: Floats, variance: Floats) -> float:
    """The inverse of the slope's variance: Σ w (x - mean)², w = 1 / variance (eq. 2.15 of 1999)."""
    weights = 1.0 / variance
    centre = np.average(x, weights=weights)
    return float(np.sum(weights * (x - centre) ** 2))


def _onset(x: Floats, y: Floats, variance: Floats, used: NDArray[np.bool_], fit: float) -> NDArray[np.bool_]:
    """Without the finest scales, as many as it takes that the χ² of the rest is likely enough; or with the three coarsest."""
    while True:
        slope, intercept = line(x[used], y[used], 1.0 / variance[used])
        chi = float(np.sum((y[used] - intercept - slope * x[used]) ** 2 / variance[used]))
        free = int(used.sum()) - 2
        if free < 2 or gammaincc(0.5 * free, 0.5 * chi) >= fit:
            return used
        used = used.copy()
        used[int(np.argmax(used))] = False
