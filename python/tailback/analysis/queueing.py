"""Closed forms for single queues: M/M/1/n, M/D/1 and M/G/1. Networks of queues do not live here.

Loads are offered loads: the mean service time divided by the mean time between arrivals. Times come out in mean
service times, rates as fractions of the service rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailback.calls import checked_call
from tailback.errors import ArgumentError

Floats = NDArray[np.float64]
_MOST_STATES = 10_000_000
"""Of all loads together: more do not fit into the memory of a small machine."""


@dataclass(frozen=True)
class MM1n:
    """Equilibrium of the M/M/1/n queue at one or many offered loads."""

    load: Floats
    """Offered load, arrivals per mean service time."""
    loss: Floats
    """Probability that an arrival finds n packets in the system and is lost."""
    throughput: Floats
    """Departures per mean service time: ``load * (1 - loss)``, which is also the server's utilization."""
    in_system: Floats
    """Mean number in the system, waiting and in service."""


@checked_call
def mm1n(load: ArrayLike, n: int) -> MM1n:
    """The M/M/1/n queue: Poisson arrivals, exponential service, room for ``n`` packets *including* the one in service.

    With ``p_i`` the probability of ``i`` packets in the system, ``p_i`` is proportional to ``load**i`` for
    ``i = 0..n`` and arrivals are lost with probability ``p_n`` (Kleinrock, Queueing Systems I, §3.6). The sum is
    evaluated term by term, so that a load of exactly one needs no special case.

    Raises:
        ValueError: for a negative load or a system without room.
    """
    rho = np.atleast_1d(np.asarray(load, dtype=np.float64))
    if rho.ndim != 1:
        raise ArgumentError(f"load: {rho.ndim} dimensions are not allowed; expected one load, or a row of loads")
    if not (n >= 1 and float(n).is_integer()):
        raise ArgumentError(f"n: {n} is not allowed; expected a whole number of at least 1, with the place in service")
    wrong = rho[(rho < 0) | ~np.isfinite(rho)]
    if wrong.size:
        raise ArgumentError(f"load: {wrong[0]:g} is not allowed; expected finite loads of at least 0")
    if n * rho.size > _MOST_STATES:
        raise ArgumentError(f"n: {n} is not allowed; expected at most {_MOST_STATES // rho.size} with so many loads")
    states = np.arange(n + 1, dtype=np.float64)
    # Weights relative to the likeliest end of the range, so that no power overflows at large loads.
    flipped = np.where(rho > 1.0, 1.0 / np.maximum(rho, 1e-300), rho)[:, None]
    exponent = np.where((rho > 1.0)[:, None], n - states, states)
    weights = flipped**exponent
    probability = weights / weights.sum(axis=1, keepdims=True)
    loss = probability[:, -1]
    # Utilization is the probability that anybody is there; summed up so, no digits are lost at low or high loads.
    busy = probability[:, 1:].sum(axis=1)
    return MM1n(load=rho, loss=loss, throughput=busy, in_system=probability @ states)


@checked_call
def penalised_throughput(throughput: ArrayLike, loss: ArrayLike, k: float) -> Floats:
    """Throughput with a polynomial penalty for loss: ``(1 - loss)**k * throughput``.

    Eq. (4) of Tuan and Park's multiple time scale congestion control; ``k = 0`` is raw throughput.

    Raises:
        ValueError: for a loss outside 0 to 1, a ``k`` below 0, or what is not finite.
    """
    nu, c = np.asarray(throughput, dtype=np.float64), np.asarray(loss, dtype=np.float64)
    wrong = c[~((c >= 0.0) & (c <= 1.0))]
    if wrong.size:
        raise ArgumentError(f"loss: {wrong[0]:g} is not allowed; expected probabilities from 0 to 1")
    if not np.isfinite(nu).all():
        raise ArgumentError(f"throughput: {nu[~np.isfinite(nu)][0]:g} is not allowed; expected finite numbers")
    if nu.shape != c.shape and 1 not in {nu.size, c.size}:
        raise ArgumentError(f"loss: {c.size} numbers are given; expected {nu.size}, one per throughput, or one for all")
    if not 0.0 <= k < np.inf:
        raise ArgumentError(f"k: {k} is not allowed; expected a finite number of at least 0")
    return np.asarray((1.0 - c) ** k * nu, dtype=np.float64)


@dataclass(frozen=True)
class MG1:
    """Equilibrium of the M/G/1 queue without limit."""

    load: float
    """Offered load, below one."""
    waiting: float
    """Mean number waiting, not counting the one in service."""
    in_system: float
    """Mean number waiting and in service."""
    delay: float
    """Mean waiting time before service, in mean service times."""


MD1 = MG1
"""The M/D/1 queue has the same figures."""


@checked_call
def mg1(load: float, squared_variation: float) -> MG1:
    """The M/G/1 queue by the Pollaczek-Khinchine formula.

    ``squared_variation`` is the squared coefficient of variation of the service time: 0 for constant, 1 for
    exponential service.

    Raises:
        ValueError: for a load outside 0 to 1 (1 excluded), or a negative variation.
    """
    if not 0.0 <= load < 1.0:
        raise ArgumentError(
            f"load: {load} is not allowed; expected at least 0 and below 1, or the queue grows for ever"
        )
    if not 0.0 <= squared_variation < np.inf:
        raise ArgumentError(
            f"squared_variation: {squared_variation} is not allowed; expected a finite number of at least 0"
        )
    delay = load * (1.0 + squared_variation) / (2.0 * (1.0 - load))
    return MG1(load=load, waiting=load * delay, in_system=load + load * delay, delay=delay)


@checked_call
def md1(load: float) -> MD1:
    """The M/D/1 queue: Poisson arrivals of packets of one size on a link of constant rate."""
    return mg1(load, 0.0)
