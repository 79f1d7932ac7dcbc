"""What speaks against a verdict on long-range dependence: estimates that no stationary series has, that contradict each
other, or that change with the scales looked at. The estimators, and the verdict itself, live elsewhere.

An estimate that is one of a scaling law does not depend on where in its range the line begins. With short memory it falls
toward 1/2 as finer scales are left out (Veitch and Abry 1999 choose the finest octave by goodness of fit for this reason).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tailback.analysis.lrd.estimate import Estimate, Floats
from tailback.analysis.lrd.spectrum import local_whittle, periodogram
from tailback.errors import ArgumentError

COARSE_BANDWIDTH = 0.55
"""m = n^0.55 in place of n^0.65: the lowest third of the frequencies of 2^16 samples."""
_CLEAR = 3.0 / 1.96
"""Half-widths of 95 % to three standard errors: chance alone exceeds them in 0.3 % of cases."""
_HALVES = 0.15
"""H by which halves differ that are worth telling, however well they are known."""


def whittle(values: Floats, bandwidth: float | None = None) -> Estimate | None:
    """The local Whittle estimate of a series, or of its longest scales alone by a smaller ``bandwidth``; ``None`` where it is too
    short for one."""
    try:
        return local_whittle(values if bandwidth is None else periodogram(values, bandwidth))
    except ArgumentError:
        return None


def meaningless(found: Mapping[str, Estimate]) -> list[str]:
    """Estimates below 0 or above 1, by more than chance; not where all lie above 1, which has a verdict of its own."""
    if all(each.hurst >= 1.0 for each in found.values()):
        return []
    return [
        f"H is {each.hurst:.2f} by {name}, which no stationary series has: expected 0 to 1"
        for name, each in found.items()
        if each.interval.high < 0.0 or each.interval.low > 1.0
    ]


def disagreeing(trusted: Mapping[str, Estimate], others: Mapping[str, Estimate]) -> list[str]:
    """Estimators that contradict each other. Trends raise the ``others``, so that only lower values of theirs count."""
    (one, first), (two, second) = trusted.items()
    width = math.hypot(first.half_width, second.half_width)
    said = []
    if abs(first.hurst - second.hurst) > _CLEAR * width:
        said.append(f"{one} and {two} disagree ({first.hurst:.2f} and {second.hurst:.2f})")
    least = min(trusted.values(), key=lambda each: each.interval.low)
    for name, each in others.items():
        if least.interval.low > 0.5 and each.interval.high < least.interval.low:
            said.append(f"{name} sees less memory ({each.hurst:.2f})")
    return said


def changing(whole: Estimate, longest: Estimate | None) -> list[str]:
    """Whether the estimate changes as shorter scales are left out. Both rest on the same series, so that the variance of their
    difference is the difference of their variances (Hausman 1978)."""
    if longest is None:
        return []
    chance = math.sqrt(max(longest.half_width**2 - whole.half_width**2, 0.0))
    if abs(longest.hurst - whole.hurst) > _CLEAR * chance:
        return [f"H changes with the scale: {whole.hurst:.2f} in all, {longest.hurst:.2f} at the longest scales alone"]
    if whole.interval.low > 0.5 and longest.interval.low <= 0.5:
        return [f"at the longest scales alone, 1/2 is not excluded ({longest.hurst:.2f})"]
    return []


def unlike(halves: tuple[Estimate | None, Estimate | None]) -> list[str]:
    """Halves that differ by more than chance: the series may not be stationary."""
    first, second = halves
    if first is None or second is None:
        return []
    if abs(first.hurst - second.hurst) > max(_HALVES, math.hypot(first.half_width, second.half_width)):
        return [f"its halves differ ({first.hurst:.2f} and {second.hurst:.2f}): it may not be stationary"]
    return []
