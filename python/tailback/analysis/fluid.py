"""The fluid model of accumulation-based congestion control (Xia et al., equations 1 to 6), with delays: windows
follow their flows' accumulations, queues follow the windows. Also the gains beyond which the linearised loop is unstable.

Bits flow like water: flow i's rate is ``x_i = w_i / rtt_i``, ``rtt_i = rtt_pi + sum of q_l / c_l over its route``; a queue
grows by what arrives beyond ``c_l``; accumulation is ``a_i = x_i * sum of q_l / c_l`` by Little's law, and the source
learns it one round trip later. Half of the propagation delay lies before the queues and half behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailback.analysis.arguments import expect_positive, expect_whole, positive_row, routes_over
from tailback.calls import checked_call
from tailback.errors import ArgumentError, one_of, refused

Floats = NDArray[np.float64]
Law = Literal["aiad", "mw", "p"]
"""Equation 3, 5 or 6, as the schemes ``accumulation-…`` name them."""
_LONGEST = 1000
"""Round trips of a lag."""
_MOST = 100_000_000
"""Numbers of a solution: more do not fit into the memory of a small machine."""


@dataclass(frozen=True)
class Fluid:
    """How a network moved; rows are instants."""

    times: Floats
    """Seconds."""
    windows: Floats
    """Packets, per flow."""
    rates: Floats
    """Packets per second, per flow."""
    accumulations: Floats
    """Packets, per flow."""
    queues: Floats
    """Packets, per link."""


@checked_call
def solve(
    routes: Sequence[Sequence[int]],
    capacities: ArrayLike,
    propagation: ArrayLike,
    *,
    law: Law = "p",
    kappa: float = 0.5,
    targets: ArrayLike = 3.0,
    start: float = 2.0,
    duration: float = 10.0,
    step: float = 1e-3,
) -> Fluid:
    """Integrates the delay-differential equations by Euler's method.

    Args:
        routes: per flow, the indices of its links.
        capacities: packets per second, per link.
        propagation: seconds, round trip propagation delay per flow.
        law: equation 3, 5 or 6.
        kappa: the law's gain: packets per round trip, packets per second, or a number.
        targets: packets, per flow or for all.
        start: packets, every window in the beginning.
        duration: seconds.
        step: seconds; a tenth of the shortest round trip or less.

    Raises:
        ArgumentError: where a route names no link, numbers are not above 0 and finite or not one per flow, the law is none of
            the three, or the step is too long for the delays or too short for the memory.
    """
    limits = positive_row("capacities", capacities)
    routes = routes_over(limits.size, routes)
    delays = positive_row("propagation", propagation, len(routes))
    wanted = positive_row("targets", targets, len(routes))
    if law not in get_args(Law):
        raise refused("law", law, one_of(str(law), get_args(Law)))
    expect_positive(kappa=kappa, start=start, duration=duration, step=step)
    if step > 0.1 * delays.min() + 1e-15:
        raise ArgumentError(f"step: {step} s is not allowed; expected at most a tenth of the shortest round trip")
    size = 3 * len(routes) + limits.size
    if duration / step * size > _MOST:
        raise refused("duration", duration, f"at most {step * _MOST / size:.3g} s with steps of {step:g} s here")
    passes: Floats = np.zeros((limits.size, len(routes)))
    for flow, route in enumerate(routes):
        passes[list(route), flow] = 1.0
    count = round(duration / step) + 1
    windows: Floats = np.full((count, len(routes)), start, dtype=np.float64)
    rates, accumulations = np.zeros_like(windows), np.zeros_like(windows)
    queues = np.zeros((count, limits.size))
    half = np.maximum(np.round(delays / (2 * step)).astype(int), 1)
    flows = np.arange(len(routes))
    for now in range(count):
        waiting = passes.T @ (queues[now] / limits)
        rtt = delays + waiting
        rates[now] = windows[now] / rtt
        accumulations[now] = rates[now] * waiting
        if now + 1 == count:
            break
        arriving = passes @ rates[np.maximum(now - half, 0), flows]
        queues[now + 1] = np.maximum(queues[now] + step * (arriving - limits), 0.0)
        behind = np.maximum(now - np.round(rtt / step).astype(int), 0)
        error = accumulations[behind, flows] - wanted
        change = _change(law, kappa, error, window=windows[now], delay=delays, rtt=rtt)
        windows[now + 1] = np.maximum(windows[now] + step * change, 1.0)
    times: Floats = np.arange(count, dtype=np.float64) * step
    return Fluid(times, windows, rates, accumulations, queues)


def _change(law: Law, kappa: float, error: Floats, *, window: Floats, delay: Floats, rtt: Floats) -> Floats:
    if law == "aiad":
        return -kappa * np.sign(error) / rtt
    if law == "mw":
        return -kappa * delay * error / (window * rtt)
    return -kappa * error / rtt


@checked_call
def sampled_radius(kappa: float, lag: int = 1) -> float:
    """The largest modulus among the poles of the proportional law as it is carried out, once per round trip: below 1 it
    is stable.

    Linearised at rest, a flow's accumulation is its window less a constant: ``w(n + 1) = w(n) - kappa (a(n - lag) - a*)``
    with ``a = w - x rtt_p``. Each change is measured ``lag`` round trips later than the next decision: 1 where a pair of
    control packets leaves with every change of the window and sees the queue as the window before left it.

    Raises:
        ArgumentError: for a gain that is not finite and above 0, or a lag that is no whole number from 0 to 1000.
    """
    expect_positive(kappa=kappa)
    expect_whole(0, lag=lag)
    if lag > _LONGEST:  # The poles of a polynomial of this degree take a second.
        raise refused("lag", lag, f"a whole number from 0 to {_LONGEST}")
    polynomial = np.zeros(lag + 2)
    polynomial[0], polynomial[1] = 1.0, -1.0
    polynomial[-1] += kappa
    return float(np.abs(np.roots(polynomial)).max())


@checked_call
def critical_gain(lag: int = 1) -> float:
    """The gain beyond which the sampled loop is unstable: ``2 sin(pi / (2 (2 lag + 1)))``, 1 for a lag of one.

    Raises:
        ArgumentError: for a lag that is no whole number of at least 0.
    """
    expect_whole(0, lag=lag)
    return float(2.0 * np.sin(np.pi / (2 * (2 * lag + 1))))


@checked_call
def interleaved_gain(flows: int) -> float:
    """The gain beyond which flows that share a queue are unstable together, where their round trips are as long but each
    decides at its own time: ``flows * critical_gain(flows)``.

    In between two decisions of one flow all others decide once, and what each changes is 1/flows of the sum of windows W:
    ``W(k + 1) = W(k) - kappa / flows (W(k - flows) - W*)``. One flow alone is the sampled loop, 1; many are the continuous
    loop of equation 6 with a delay of one round trip, pi / 2.

    Raises:
        ArgumentError: for what is no whole number of flows.
    """
    expect_whole(flows=flows)
    return flows * critical_gain(flows)
