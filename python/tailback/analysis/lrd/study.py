"""All that `tailback lrd` says of a trace: every estimate of H, what time scale is predictable, and a verdict. Pictures are drawn
by ``tailback.plot.lrd``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from tailback.analysis.arguments import expect_positive
from tailback.analysis.lrd import doubts
from tailback.analysis.lrd.dfa import dfa
from tailback.analysis.lrd.estimate import LEAST, Estimate, Floats
from tailback.analysis.lrd.levels import LEVELS, Quantiser
from tailback.analysis.lrd.prediction import Prediction, predict
from tailback.analysis.lrd.rescaled_range import rescaled_range
from tailback.analysis.lrd.spectrum import local_whittle, log_periodogram, periodogram
from tailback.analysis.lrd.time_scales import by_time_scale
from tailback.analysis.lrd.trace import Trace
from tailback.analysis.lrd.variance_time import variance_time
from tailback.analysis.lrd.wavelet import wavelet
from tailback.calls import checked_call
from tailback.errors import ArgumentError, refused, unknown

_FIT = 0.05
"""The probability from which a line of the wavelets fits; octaves below are left out (Veitch, Abry and Taqqu 2003)."""
_BESIDE = ("variance-time", "DFA")
"""Who may contradict the trusted. R/S is biased (Taqqu, Teverovsky and Willinger 1995), and the periodogram is local Whittle's."""
TRUSTED = ("local Whittle", "wavelet")
"""Whose intervals the verdict rests on: theory gives them, and neither takes a trend or a shift for memory lightly."""


@dataclass(frozen=True)
class Study:
    """What was found in a trace."""

    trace: Trace
    estimates: Sequence[Estimate]
    scales: pl.DataFrame
    """Per time scale: entropy, mutual information, predictability (``by_time_scale``)."""
    prediction: Prediction
    """The table of levels at the time scale asked for."""
    halves: tuple[float, float] = field(default=(math.nan, math.nan))
    """The local Whittle estimate of each half: where they differ much, the trace is not stationary."""
    doubts: Sequence[str] = ()
    """What speaks against a verdict: estimates that contradict each other, change with the scale, or make no sense."""

    def estimate(self, method: str) -> Estimate:
        """An estimate by its name.

        Raises:
            NotFoundError: where there is none of this name.
        """
        found = {each.method: each for each in self.estimates}
        if method not in found:
            raise unknown("estimate", method, found)
        return found[method]

    @property
    def table(self) -> pl.DataFrame:
        """A row per estimator: ``method``, ``hurst``, ``low`` and ``high`` of its 95 % interval, ``shortest`` and ``longest``
        of the times that it looked at, in seconds."""
        rows = []
        for each in self.estimates:
            x = each.x[each.used]
            times = 2.0 * np.pi / x if "frequency" in each.x_label else x
            low, high = float(times.min()) * self.trace.bin, float(times.max()) * self.trace.bin
            found = each.interval
            rows.append((each.method, each.hurst, found.low, found.high, low, high))
        return pl.DataFrame(rows, schema=["method", "hurst", "low", "high", "shortest", "longest"], orient="row")

    @property
    def long_range_dependent(self) -> bool | None:
        """Whether it is: ``True`` where both of the trusted intervals lie above 1/2, ``False`` where neither does, ``None``
        where they differ, or where there are ``doubts``."""
        if self.doubts:
            return None
        above = [each.interval.low > 0.5 for each in self._trusted.values()]
        return True if all(above) else None if any(above) else False

    @property
    def _trusted(self) -> dict[str, Estimate]:
        return {name: self.estimate(name) for name in TRUSTED}

    @property
    def verdict(self) -> str:
        """In words."""
        found = [each.hurst for each in self._trusted.values()]
        low, high = min(found), max(found)
        said = f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"
        if self.doubts:
            return f"Undecided: {'; '.join(self.doubts)}."
        if self.long_range_dependent is None:
            return f"Undecided: H is {said}, and only one of {' and '.join(TRUSTED)} excludes 1/2."
        if not self.long_range_dependent:
            return f"Not long-range dependent: H is {said}, and no interval lies above 1/2."
        if low >= 1.0:
            return f"More than long-range dependent: H is {said}; a trend, a change of level, or no stationary series at all."
        return f"Long-range dependent: H is {said}."


@checked_call
def study(
    trace: Trace,
    *,
    shortest: float | None = None,
    longest: float | None = None,
    time: float = 2.0,
    times: Sequence[float] | None = None,
    quantiser: Quantiser = "sigma",
    levels: int = LEVELS,
) -> Study:
    """Looks at a trace with every estimator.

    Args:
        trace: the volumes.
        shortest: seconds of the finest scale that estimates in time rest on. By default 1 s (16 bins at least) where
            the trace has 1000 s or more: below, round trips and windows shape traffic, not sources. In a shorter one, 16 bins,
            or a 256th of the trace where that is less.
        longest: seconds of the coarsest; each estimator's own by default.
        time: T1 = T2 of the table of levels, in seconds.
        times: the time scales of entropy and predictability; by default 16 up to a hundredth of the trace.
        quantiser: how volumes become levels.
        levels: m.

    Raises:
        ArgumentError: for a trace that is too short or constant, or times that it does not have.
    """
    values, bin = trace.values, trace.bin
    expect_positive(bin=bin)
    for name, time_ in (("shortest", shortest), ("longest", longest)):
        if time_ is not None:
            expect_positive(**{name: time_})
    if values.size < LEAST:
        raise ArgumentError(f"{trace.name}: {values.size} bins of {bin:g} s are too few; expected at least {LEAST}")
    fine, coarse = _bounds(trace, shortest, longest)
    spectrum = periodogram(values)
    estimates = (
        rescaled_range(values, shortest=fine, longest=coarse),
        variance_time(values, shortest=fine, longest=coarse and max(min(coarse, values.size // 20), 4 * fine)),
        log_periodogram(spectrum),
        local_whittle(spectrum),
        # Of the coarsest scale, too, there must be details enough.
        wavelet(values, shortest=fine, longest=coarse and min(coarse, values.size // 20), fit=_FIT),
        dfa(values, shortest=fine, longest=coarse),
    )
    half = values.size // 2
    halves = doubts.whittle(values[:half]), doubts.whittle(values[half:])
    return Study(
        trace=trace,
        estimates=estimates,
        scales=by_time_scale(values, bin, times, quantiser=quantiser, levels=levels),
        prediction=predict(values, bin, _fitting(time, trace), quantiser=quantiser, levels=levels),
        halves=(_hurst(halves[0]), _hurst(halves[1])),
        doubts=_doubts({each.method: each for each in estimates}, values, halves),
    )


def _bounds(trace: Trace, shortest: float | None, longest: float | None) -> tuple[int, int | None]:
    """The scales in bins."""
    size, bin = trace.values.size, trace.bin
    if shortest is None:
        second = round(1.0 / bin)
        # Never so coarse that no line is left to fit: the wavelets need three octaves with 16 details.
        fine = max(second, 16) if second * 1000 <= size else min(16, max(size // 256, 2))
    else:
        fine = round(shortest / bin)
        if not 2 <= fine <= size // 256:
            raise refused("shortest", f"{shortest:g} s", f"{2 * bin:g} s to {size // 256 * bin:g} s here")
    if longest is None:
        return fine, None
    coarse = round(longest / bin)
    if not 8 * fine <= coarse <= size // 8:
        raise refused("longest", f"{longest:g} s", f"{8 * fine * bin:g} s to {size // 8 * bin:g} s here")
    return fine, coarse


def _fitting(time: float, trace: Trace) -> float:
    """The time scale in whole bins, and short enough for 8 blocks."""
    if not (math.isfinite(time) and time > 0.0):
        raise refused("time", time, "a time above zero")
    most = trace.values.size // 16
    return max(1, min(round(time / trace.bin), most)) * trace.bin


def _doubts(
    estimates: Mapping[str, Estimate], values: Floats, halves: tuple[Estimate | None, Estimate | None]
) -> Sequence[str]:
    trusted = {name: estimates[name] for name in TRUSTED}
    return (
        *doubts.meaningless(trusted),
        *doubts.disagreeing(trusted, {name: estimates[name] for name in _BESIDE}),
        *doubts.changing(estimates["local Whittle"], doubts.whittle(values, doubts.COARSE_BANDWIDTH)),
        *doubts.unlike(halves),
    )


def _hurst(found: Estimate | None) -> float:
    return math.nan if found is None else found.hurst
