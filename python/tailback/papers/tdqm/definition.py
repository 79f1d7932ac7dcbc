"""Utilization and burstiness by their definitions (§II, Eqs. 1 and 2), from the times at which packets reached a queue.
Slow and plain, to hold the router's own meters against; nothing is simulated here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


def busy_periods(arrivals: Sequence[float], service: float) -> list[tuple[float, float, float]]:
    """Begin, length and the integral of the queueing delay V of every busy period that has ended.

    V is the service of what waits: a packet that finds the work W adds ``service`` to it for as long as it waits, and so
    ``service * W`` to the integral.
    """
    found: list[tuple[float, float, float]] = []
    begin = end = area = 0.0
    for time in arrivals:
        if time >= end:
            if end > begin:
                found.append((begin, end - begin, area))
            begin = end = time
            area = 0.0
        area += service * (end - time)
        end += service
    return found


def burstiness(periods: Sequence[tuple[float, float, float]], shortest: float) -> Iterator[tuple[float, float]]:
    """When each sample of eta becomes known, and the sample; shorter periods are laid end to end (§II-B)."""
    merged_length = merged_area = 0.0
    for begin, length, area in periods:
        if length > shortest:
            yield begin + length, 2.0 * area / length**2
            continue
        merged_length, merged_area = merged_length + length, merged_area + area
        if merged_length > shortest:
            yield begin + length, 2.0 * merged_area / merged_length**2
            merged_length = merged_area = 0.0


def utilization(periods: Sequence[tuple[float, float, float]], ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """The busy part of each window between two of ``ends``, the first of which ends a window that began at 0."""
    edges = np.array([0.0, *(edge for begin, length, _ in periods for edge in (begin, begin + length))])
    # Busy time up to every edge; it grows with slope one inside busy periods and not at all between them.
    sums = np.concatenate([[0.0], np.cumsum(np.diff(edges) * (np.arange(edges.size - 1) % 2))])
    busy = np.interp(np.concatenate([[0.0], ends]), edges, sums)
    return np.array([(after - before) for before, after in pairwise(busy)]) / np.diff(np.concatenate([[0.0], ends]))


def average(samples: Sequence[float] | NDArray[np.float64], weight: float) -> NDArray[np.float64]:
    """The exponential average after each sample, from 0."""
    out = np.empty(len(samples))
    value = 0.0
    for index, sample in enumerate(samples):
        value += weight * (sample - value)
        out[index] = value
    return out
