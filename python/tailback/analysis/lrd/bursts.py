"""Self-similar traffic from heavy-tailed bursts, as series of volumes per bin: many sources that switch on and off, and
sessions that arrive at random (M/G/∞). Traffic of real transport protocols comes from scenarios, not from here.

Both have bursts of Pareto length with shape alpha, and for alpha between 1 and 2 become long-range dependent with
H = (3 - alpha) / 2 (Willinger, Taqqu, Sherman, Wilson 1997, theorem 1; Cox 1984 for M/G/∞).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tailback.analysis.arguments import expect_whole
from tailback.analysis.lrd.estimate import Floats
from tailback.analysis.lrd.fractional_noise import MOST
from tailback.calls import checked_call
from tailback.errors import refused


@checked_call
def hurst_of(alpha: float) -> float:
    """H = (3 - alpha) / 2 of bursts with this shape, and 1/2 for a shape of 2 and more.

    Raises:
        ArgumentError: for a shape of 1 or less, whose bursts have no mean.
    """
    if not alpha > 1.0:
        raise refused("alpha", alpha, "above 1")
    return max(0.5, 0.5 * (3.0 - alpha))


def pareto(alpha: float, mean: float, count: int | tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Pareto values with a mean: P(X > x) = (k / x)^alpha with k = mean (alpha - 1) / alpha."""
    least = mean * (alpha - 1.0) / alpha
    made: Floats = least * rng.random(count) ** (-1.0 / alpha)
    return made


@checked_call
def on_off(
    alpha: float,
    samples: int,
    rng: np.random.Generator,
    *,
    sources: int = 50,
    mean_on: float = 10.0,
    mean_off: float = 20.0,
) -> Floats:
    """The sum of sources that send 1 per bin while on: Pareto bursts with shape ``alpha``, exponential pauses; means in
    bins. Sources begin in their stationary state: on with probability mean_on / (mean_on + mean_off), with the rest of a
    burst that time, not count, has chosen.

    Raises:
        ArgumentError: for an alpha outside 1 to 2 (or its ends), or other values not above zero.
    """
    _check(alpha, samples, sources=sources, mean_on=mean_on, mean_off=mean_off)
    expect_whole(sources=sources)
    volume = np.zeros(samples + 1)
    for _ in range(sources):
        begins, ends = _periods(alpha, samples, rng, mean_on, mean_off)
        _add(volume, begins, ends)
    return np.asarray(_filled(volume, samples))


@checked_call
def m_g_infinity(
    alpha: float, samples: int, rng: np.random.Generator, *, arrivals: float = 2.0, mean: float = 10.0
) -> Floats:
    """How many sessions are active, averaged over each bin: Poisson arrivals, ``arrivals`` per bin, each of Pareto length
    with shape ``alpha`` and a mean in bins. Begins in the stationary state.

    Raises:
        ArgumentError: for an alpha outside 1 to 2 (or its ends), or other values not above zero.
    """
    _check(alpha, samples, arrivals=arrivals, mean=mean)
    if arrivals * (mean + samples) > MOST:
        raise refused(
            "arrivals", arrivals, f"at most {MOST / (mean + samples):.3g} per bin here: {MOST} sessions in all"
        )
    volume = np.zeros(samples + 1)
    present = rng.poisson(arrivals * mean)
    _add(volume, np.zeros(present), _rest(alpha, mean, present, rng))
    begins = samples * rng.random(rng.poisson(arrivals * samples))
    _add(volume, begins, begins + pareto(alpha, mean, begins.size, rng))
    return np.asarray(_filled(volume, samples))


def _rest(alpha: float, mean: float, count: int, rng: np.random.Generator) -> Floats:
    """What is left of Pareto lengths that are under way at any time: density P(X > x) / mean. With probability
    (alpha - 1) / alpha it is uniform below the least length k, and else has the tail (k / x)^(alpha - 1)."""
    least = mean * (alpha - 1.0) / alpha
    body = rng.random(count) < (alpha - 1.0) / alpha
    u = rng.random(count)
    with np.errstate(over="ignore"):  # At shapes next to 1 a rest may be infinite, which is right.
        tail = least * u ** (-1.0 / (alpha - 1.0))
    return np.where(body, least * u, tail)


def _periods(
    alpha: float, samples: int, rng: np.random.Generator, mean_on: float, mean_off: float
) -> tuple[Floats, Floats]:
    """Beginnings and ends of one source's bursts up to the last bin."""
    begins, ends = [], []
    now = 0.0
    if rng.random() < mean_on / (mean_on + mean_off):
        begins.append(np.zeros(1))
        ends.append(_rest(alpha, mean_on, 1, rng))
        now = float(ends[0][0])
    while now < samples:
        count = 64 + int((samples - now) / (mean_on + mean_off))
        offs, ons = rng.exponential(mean_off, count), pareto(alpha, mean_on, count, rng)
        cycle = np.cumsum(offs + ons)
        ends.append(now + cycle)
        begins.append(now + cycle - ons)
        now += float(cycle[-1])
    return np.concatenate(begins), np.concatenate(ends)


def _add(volume: NDArray[np.float64], begins: Floats, ends: Floats) -> None:
    """Notes by how much the sum rises in each bin and keeps rising after: a burst that begins at t adds a part of its first
    bin, and 1 per bin from there on, until its end takes the same away."""
    last = volume.size - 1
    for times, sign in ((begins, 1.0), (ends, -1.0)):
        inside = times[times < last]
        whole = inside.astype(np.int64)
        part = inside - whole
        np.add.at(volume, whole, sign * (1.0 - part))
        np.add.at(volume, whole + 1, sign * part)


def _filled(volume: Floats, samples: int) -> Floats:
    made: Floats = np.maximum(np.cumsum(volume)[:samples], 0.0)  # What rounding leaves below zero is zero.
    return made


def _check(alpha: float, samples: int, **others: float) -> None:
    if not 1.0 < alpha < 2.0:
        raise refused("alpha", alpha, "above 1 and below 2")
    expect_whole(samples=samples)
    if samples > MOST:
        raise refused("samples", samples, f"a whole number from 1 to {MOST}")
    for name, value in others.items():
        if not 0.0 < value < math.inf:
            raise refused(name, value, "more than zero, and finite")
