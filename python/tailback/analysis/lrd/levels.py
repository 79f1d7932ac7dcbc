"""Traffic levels: volumes of an interval quantised to 1 … m, by bands of the standard deviation or by equal probability.

Tuan and Park, Appendix A.1: m = 8 levels with their edges at μ - 3σ, μ - 2σ, …, μ + 3σ. The "alternative classification which
is based on the uniform distribution" is taken to be levels of equal probability: edges at the quantiles 1/m, 2/m, ….
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailback.analysis.lrd.estimate import Floats
from tailback.calls import checked_call
from tailback.errors import ArgumentError, refused

Quantiser = Literal["sigma", "equal"]
"""``sigma``: bands of the standard deviation; ``equal``: levels of equal probability."""
LEVELS = 8


@checked_call
def edges(volumes: Floats, quantiser: Quantiser = "sigma", levels: int = LEVELS) -> Floats:
    """The levels - 1 edges between levels, from all volumes at once (off line).

    Raises:
        ArgumentError: for fewer than 2 levels, an odd number of bands, another quantiser, no volumes, or some that are no
            finite numbers.
    """
    check(quantiser, levels)
    volumes = _finite("volumes", volumes)
    if not volumes.size:
        raise ArgumentError("volumes: none are not allowed; expected one or more")
    if quantiser == "equal":
        return np.array(np.quantile(volumes, np.arange(1, levels) / levels).tolist())
    # In a power of two near the largest: squares neither overflow nor vanish, and no digit changes.
    scale = int(np.frexp(np.abs(volumes).max())[1])
    scaled = np.ldexp(volumes, -scale)
    return np.ldexp(bands(float(scaled.mean()), float(scaled.std()), levels), scale)


def bands(mean: float, deviation: float, levels: int = LEVELS) -> Floats:
    """Edges one standard deviation apart, as many below the mean as above, and one at it."""
    found: Floats = mean + deviation * (np.arange(1, levels) - levels // 2).astype(np.float64)
    return found


@checked_call
def quantise(volumes: Floats, at: Floats) -> NDArray[np.int64]:
    """Levels from 1 on; a volume at an edge belongs to the level above it.

    Raises:
        ArgumentError: for volumes or edges that are no finite numbers, or edges that fall.
    """
    volumes, at = _finite("volumes", volumes), _finite("at", at)
    if (np.diff(at) < 0.0).any():
        raise ArgumentError("at: edges that fall are not allowed; expected them in rising order")
    return np.searchsorted(at, volumes, side="right").astype(np.int64) + 1


def on_line(volumes: Floats, quantiser: Quantiser = "sigma", levels: int = LEVELS) -> NDArray[np.int64]:
    """Each volume's level by what was known when it came, itself included (Appendix A.2): running mean and standard
    deviation, or its rank among all so far. What was classified before stays as it was.

    Raises:
        ArgumentError: as :func:`edges`.
    """
    check(quantiser, levels)
    if quantiser == "equal":
        return _ranked(volumes, levels)
    count = np.arange(1, volumes.size + 1)
    offset = volumes[0] if volumes.size else 0.0  # Squares of small numbers lose no digits.
    mean = np.cumsum(volumes - offset) / count
    variance = np.maximum(np.cumsum((volumes - offset) ** 2) / count - mean**2, 0.0)
    deviation = np.sqrt(variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        place = np.where(deviation > 0.0, (volumes - offset - mean) / deviation, 0.0)
    found: NDArray[np.int64] = np.clip(np.floor(place) + levels // 2 + 1, 1, levels).astype(np.int64)
    return found


def check(quantiser: str, levels: int) -> None:
    """Complains about a quantiser or a number of levels that there is none of."""
    if quantiser not in {"sigma", "equal"}:
        raise refused("quantiser", quantiser, "sigma or equal")
    if not 2 <= levels <= 64:
        raise refused("levels", levels, "2 to 64")
    if quantiser == "sigma" and levels % 2:
        raise refused("levels", levels, "an even number where levels are bands of the standard deviation")


def _finite(name: str, given: ArrayLike) -> Floats:
    """One row of finite numbers."""
    allowed = "one row of finite numbers"
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name}: others than numbers are not allowed; expected {allowed}") from error
    if values.ndim != 1:
        raise ArgumentError(f"{name}: {values.ndim} dimensions are not allowed; expected {allowed}")
    if not np.isfinite(values).all():
        raise ArgumentError(f"{name}: numbers that are not finite are not allowed; expected {allowed}")
    return values


def _ranked(volumes: Floats, levels: int) -> NDArray[np.int64]:
    known: list[float] = []
    found = np.empty(volumes.size, dtype=np.int64)
    for index, volume in enumerate(volumes.tolist()):
        below = bisect_left(known, volume)
        insort(known, volume)
        # The middle of its rank, so that the first volume of all is in the middle.
        found[index] = min(int((below + 0.5) / (index + 1) * levels), levels - 1) + 1
    return found
