"""How a network's capacity is divided when every flow's utility is maximised together: weighted proportional fairness,
alpha-fairness and max-min fairness as concave programmes, with the prices of links and a check of optimality.

The programme (Kelly, Maulloo and Tan 1998; Mo and Walrand 2000; ``accumulation.txt``, appendix, equation 13)::

    maximise  sum_i U_i(x_i)   subject to   sum over flows i through link l of x_i <= c_l
    U_i(x) = s_i log x  for alpha = 1,   s_i x^(1 - alpha) / (1 - alpha)  otherwise

has one optimum, at which flow i's rate follows from the prices p_l of its links: ``U_i'(x_i) = sum of p_l over its
route``. The prices solve the dual, which has one variable per link however many flows there are; it is solved here by
Newton's method on a logarithmic barrier. ``oracle`` solves the programme as it stands with a general convex solver, as
an independent answer (needs the extra ``oracle``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Allocation:
    """Rates and prices at the optimum."""

    rates: Floats
    """Per flow, in the unit of the capacities."""
    prices: Floats
    """Per link, the Lagrange multiplier of its capacity: utility per unit of capacity. With proportional fairness and
    accumulations in bytes as weights and capacities in byte/s, the queueing delay in seconds (Proposition 1)."""
    kkt_residual: float
    """The largest violation of the conditions of optimality, see :func:`kkt_residual`."""
    iterations: int
    """Newton steps taken."""


def alpha_fair(
    routes: Sequence[Sequence[int]], capacities: ArrayLike, weights: ArrayLike | None = None, alpha: float = 1.0
) -> Allocation:
    """The alpha-fair rates: 1 is proportional fairness, 2 least potential delay, ever larger tends to max-min.

    Args:
        routes: per flow, the indices of the links that it passes.
        capacities: per link, in any unit.
        weights: per flow, above 0; 1 for all by default.
        alpha: above 0.

    Raises:
        ValueError: where that makes no programme.
    """
    incidence, limits, shares = _problem(routes, capacities, weights)
    if not 0.0 < alpha < np.inf:
        raise ValueError(f"alpha: {alpha} is not allowed; expected a number above 0")
    # Units of one for the solver: capacities around 1, weights around 1.
    unit, weight = float(np.exp(np.log(limits).mean())), float(np.exp(np.log(shares).mean()))
    prices, steps = _dual(incidence, limits / unit, shares / weight, alpha)
    rates = _demand(incidence.T @ prices, shares / weight, alpha) * unit
    prices = prices * weight * unit**-alpha
    return Allocation(rates, prices, kkt_residual(routes, limits, rates, prices, weights=shares, alpha=alpha), steps)


def proportional(
    routes: Sequence[Sequence[int]], capacities: ArrayLike, weights: ArrayLike | None = None
) -> Allocation:
    """The weighted proportionally fair rates: :func:`alpha_fair` with alpha 1."""
    return alpha_fair(routes, capacities, weights, 1.0)


def max_min(routes: Sequence[Sequence[int]], capacities: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """The weighted max-min fair rates: no flow's rate over its weight can grow but at the cost of one that has less
    (Bertsekas and Gallager 1992, §6.5.2, progressive filling)."""
    incidence, limits, shares = _problem(routes, capacities, weights)
    rates = np.zeros(shares.size)
    growing = np.ones(shares.size, dtype=bool)
    while growing.any():
        demand = incidence @ (shares * growing)
        room = limits - incidence @ (rates * ~growing)
        with np.errstate(divide="ignore", invalid="ignore"):
            levels = np.where(demand > 0, room / demand, np.inf)
        level = levels.min()
        full = levels <= level * (1 + 1e-12)
        stopped = growing & (incidence[full].sum(axis=0) > 0)
        rates[stopped] = level * shares[stopped]
        growing &= ~stopped
    return rates


def kkt_residual(
    routes: Sequence[Sequence[int]],
    capacities: ArrayLike,
    rates: ArrayLike,
    prices: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    alpha: float = 1.0,
) -> float:
    """The largest violation of the conditions of optimality (Proposition 2), each relative to its own scale: marginal
    utility equals the route's price; no link is overfull; a link that is not full has no price; no price is negative.
    """
    incidence, limits, shares = _problem(routes, capacities, weights)
    x, p = np.asarray(rates, dtype=float), np.asarray(prices, dtype=float)
    marginal = shares * x**-alpha
    slack = 1.0 - (incidence @ x) / limits
    # A link's price in units of what its flows' prices are.
    carried = incidence.sum(axis=1) > 0
    scale = np.where(carried, (incidence @ (shares * x ** (1.0 - alpha))) / limits, 1.0)
    relative = p / scale
    parts = [
        np.abs(incidence.T @ p / marginal - 1.0).max(),
        np.maximum(-slack, 0.0).max(),
        np.maximum(-relative, 0.0).max(),
        np.abs(relative * slack)[carried].max(),
    ]
    return float(max(parts))


def oracle(
    routes: Sequence[Sequence[int]], capacities: ArrayLike, weights: ArrayLike | None = None, alpha: float = 1.0
) -> Floats:
    """The alpha-fair rates by a general convex solver: an independent answer, slower.

    Raises:
        ModuleNotFoundError: without the extra ``oracle``.
        ValueError: where that makes no programme.
    """
    import cvxpy

    incidence, limits, shares = _problem(routes, capacities, weights)
    unit = float(np.exp(np.log(limits).mean()))
    x = cvxpy.Variable(shares.size, pos=True)
    utility: Any = cvxpy.log(x) if alpha == 1.0 else cvxpy.power(x, 1.0 - alpha) / (1.0 - alpha)
    problem = cvxpy.Problem(cvxpy.Maximize(shares / shares.mean() @ utility), [incidence @ x <= limits / unit])
    problem.solve(solver=cvxpy.CLARABEL)
    return np.asarray(x.value, dtype=float) * unit


def _problem(
    routes: Sequence[Sequence[int]], capacities: ArrayLike, weights: ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    """The incidence of links (rows) and flows (columns), capacities and weights, checked."""
    limits = np.atleast_1d(np.asarray(capacities, dtype=float))
    shares = np.ones(len(routes)) if weights is None else np.atleast_1d(np.asarray(weights, dtype=float))
    if not routes:
        raise ValueError("routes: none is given; expected at least one")
    if shares.size != len(routes):
        raise ValueError(f"weights: {shares.size} are given; expected {len(routes)}, one per route")
    for name, values in (("capacities", limits), ("weights", shares)):
        if values.size == 0 or not (np.isfinite(values) & (values > 0)).all():
            raise ValueError(f"{name}: {values} is not allowed; expected finite numbers above 0")
    incidence = np.zeros((limits.size, len(routes)))
    for flow, route in enumerate(routes):
        links = np.asarray(list(route), dtype=int)
        if links.size == 0 or links.min() < 0 or links.max() >= limits.size:
            raise ValueError(f"routes[{flow}]: {list(route)} is not allowed; expected links 0 to {limits.size - 1}")
        incidence[links, flow] = 1.0
    return incidence, limits, shares


def _demand(prices: Floats, shares: Floats, alpha: float) -> Floats:
    """What flows take at the prices of their routes: where marginal utility equals price."""
    rates: Floats = (shares / prices) ** (1.0 / alpha)
    return rates


def _dual(incidence: Floats, limits: Floats, shares: Floats, alpha: float) -> tuple[Floats, int]:
    """The prices that minimise the dual, by Newton steps along a barrier that vanishes; and how many steps."""
    used = incidence.sum(axis=1) > 0
    # Routes are short: products with a sparse incidence cost a tenth.
    rows, limits = csr_array(incidence[used]), limits[used]
    columns = csr_array(rows.T)
    # Exact where all links of a route are equally dear.
    prices = ((rows @ (shares / columns.sum(axis=1))) / limits) ** alpha
    barrier, steps = 0.1 * float(shares.mean()), 0
    while True:
        last = barrier < 1e-8 * shares.mean()
        for _ in range(50):
            route = columns @ prices
            rates = _demand(route, shares, alpha)
            gradient = limits - rows @ rates - barrier / prices
            curvature = (rows @ diags_array(rates / (alpha * route)) @ columns).toarray()
            curvature[np.diag_indices_from(curvature)] += barrier / prices**2
            step = -np.linalg.solve(curvature, gradient)
            decrement = float(-gradient @ step)
            steps += 1
            if decrement < (1e-9 if last else 1e-3) * barrier:
                break
            prices = _search(
                prices,
                step,
                decrement,
                columns=columns,
                limits=limits,
                shares=shares,
                alpha=alpha,
                barrier=barrier,
            )
        if last:
            break
        barrier *= 0.02
    full = np.zeros(used.size)
    full[used] = prices
    return full, steps


def _search(
    prices: Floats,
    step: Floats,
    decrement: float,
    *,
    columns: csr_array,
    limits: Floats,
    shares: Floats,
    alpha: float,
    barrier: float,
) -> Floats:
    """A step that keeps prices positive and lowers the barrier's function enough (Armijo)."""

    def value(at: Floats) -> float:
        route = columns @ at
        if alpha == 1.0:
            conjugate = -(shares * np.log(route)).sum()
        else:
            conjugate = (route * _demand(route, shares, alpha)).sum() * alpha / (1.0 - alpha)
        return float(limits @ at + conjugate - barrier * np.log(at).sum())

    falling = step < 0
    length = min(1.0, 0.95 * float(np.min(-prices[falling] / step[falling]))) if falling.any() else 1.0
    here = value(prices)
    for _ in range(40):
        there = prices + length * step
        if value(there) <= here - 0.1 * length * decrement or length * decrement < 1e-14 * abs(here):
            return there
        length *= 0.5
    return prices + length * step
