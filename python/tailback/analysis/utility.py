"""How a network's capacity is divided when every flow's utility is maximised together: weighted proportional fairness,
alpha-fairness and max-min fairness as concave programmes, with the prices of links and a check of optimality.

The programme (Kelly, Maulloo and Tan 1998; Mo and Walrand 2000; Xia et al., appendix, equation 13)::

    maximise  sum_i U_i(x_i)   subject to   sum over flows i through link l of x_i <= c_l
    U_i(x) = s_i log x  for alpha = 1,   s_i x^(1 - alpha) / (1 - alpha)  otherwise

has one optimum, at which flow i's rate follows from the prices p_l of its links: ``U_i'(x_i) = sum of p_l over its
route``. The prices solve the dual, which has one variable per link however many flows there are; it is solved here by
a primal-dual interior-point method (Boyd and Vandenberghe 2004, §11.7) in some fifteen steps, a hundredth of a second
for 100 links and 1000 flows, and a few seconds for 20 000 links and 10 000 flows. ``oracle`` solves the programme as it
stands with a general convex solver, as an independent answer (needs the extra ``oracle``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import splu

from tailback.analysis.arguments import expect_positive, positive_row, routes_over, row
from tailback.calls import checked_call
from tailback.errors import ArgumentError

Floats = NDArray[np.float64]

MOST_STEPS = 300
ACCURACY = 1e-11
"""Of the solver: what links have left may differ from what the conditions ask by this part of a mean link's capacity."""

DENSE = 2500
"""Up to so many links, of which a whole matrix takes 50 MB."""
SOLVED = 1e-6
"""A residual that the solver always meets, by far, where the numbers of a computer allow a solution."""


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


@checked_call
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
        ArgumentError: where that makes no programme, or one whose rates or prices are too far apart for a computer's numbers,
            as with an alpha of hundreds (:func:`max_min` is its limit).
    """
    problem = _problem(routes, capacities, weights)
    incidence, limits, shares = problem
    expect_positive(alpha=alpha)
    # Units of one for the solver: capacities around 1, weights around 1.
    unit, weight = float(np.exp(np.log(limits).mean())), float(np.exp(np.log(shares).mean()))
    try:
        with np.errstate(all="ignore"):
            prices, steps = _dual(incidence, limits / unit, shares / weight, alpha)
            rates = _demand(incidence.T @ prices, shares / weight, alpha) * unit
            prices = prices * weight * unit**-alpha
            residual = _residual(problem, alpha, rates, prices)
            held = residual < SOLVED and _unbound(problem, rates) < SOLVED
    except (LinAlgError, OverflowError):
        held = False
    if not held:
        raise ArgumentError(
            f"alpha: {alpha} is not allowed with these capacities and weights, as rates or prices would be too far apart for a "
            "computer's numbers; expected an alpha nearer to 1, or capacities and weights nearer to each other"
        )
    return Allocation(rates, prices, residual, steps)


@checked_call
def proportional(
    routes: Sequence[Sequence[int]], capacities: ArrayLike, weights: ArrayLike | None = None
) -> Allocation:
    """The weighted proportionally fair rates: :func:`alpha_fair` with alpha 1.

    Raises:
        ArgumentError: as :func:`alpha_fair`.
    """
    return alpha_fair(routes, capacities, weights, 1.0)


@checked_call
def max_min(routes: Sequence[Sequence[int]], capacities: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """The weighted max-min fair rates: no flow's rate over its weight can grow but at the cost of one that has less
    (Bertsekas and Gallager 1992, §6.5.2, progressive filling).

    Raises:
        ArgumentError: where a route names no link, or capacities or weights are not above 0 and finite.
    """
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


@checked_call
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

    Raises:
        ArgumentError: where that makes no programme, rates are not above 0, or there are not as many rates as routes and prices
            as links.
    """
    problem = _problem(routes, capacities, weights)
    expect_positive(alpha=alpha)
    found, costs = positive_row("rates", rates), row("prices", prices)
    for name, values, wanted in (("rates", found, problem.shares.size), ("prices", costs, problem.limits.size)):
        if values.size != wanted:
            raise ArgumentError(f"{name}: {values.size} are given; expected {wanted}")
    return _residual(problem, alpha, found, costs)


def _residual(problem: _Problem, alpha: float, x: Floats, p: Floats) -> float:
    """See :func:`kkt_residual`; rates x and prices p."""
    incidence, limits, shares = problem
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


def _unbound(problem: _Problem, rates: Floats) -> float:
    """The largest part of their capacities that all links of some route have left: none at the optimum, as all want more. Prices
    that are small beside others do not show it in the residual."""
    slack = 1.0 - (problem.incidence @ rates) / problem.limits
    passed = problem.incidence.tocsc()
    return float(np.minimum.reduceat(slack[passed.indices], passed.indptr[:-1]).max())


@checked_call
def oracle(
    routes: Sequence[Sequence[int]], capacities: ArrayLike, weights: ArrayLike | None = None, alpha: float = 1.0
) -> Allocation:
    """The alpha-fair rates and prices by a general convex solver: an independent answer, slower.

    Raises:
        ModuleNotFoundError: without the extra ``oracle``.
        ArgumentError: where that makes no programme.
    """
    # Imported so, it is the same to the type checker whether it is installed or not.
    cvxpy: Any = import_module("cvxpy")
    programme = _problem(routes, capacities, weights)
    expect_positive(alpha=alpha)
    incidence, limits, shares = programme
    unit, weight = float(np.exp(np.log(limits).mean())), float(shares.mean())
    x = cvxpy.Variable(shares.size, pos=True)
    utility = cvxpy.log(x) if alpha == 1.0 else cvxpy.power(x, 1.0 - alpha) / (1.0 - alpha)
    problem = cvxpy.Problem(cvxpy.Maximize(shares / weight @ utility), [incidence @ x <= limits / unit])
    problem.solve(solver=cvxpy.CLARABEL)
    rates = np.asarray(x.value, dtype=float) * unit
    prices = np.asarray(problem.constraints[0].dual_value, dtype=float) * weight * unit**-alpha
    residual = _residual(programme, alpha, rates, prices)
    return Allocation(rates, prices, residual, int(problem.solver_stats.num_iters))


class _Problem(NamedTuple):
    """What makes a programme, except for its utility."""

    incidence: csr_array
    """1 where a link (row) is passed by a flow (column)."""
    limits: Floats
    shares: Floats


def _problem(routes: Sequence[Sequence[int]], capacities: ArrayLike, weights: ArrayLike | None) -> _Problem:
    """The programme's numbers, checked."""
    limits = positive_row("capacities", capacities)
    found = routes_over(limits.size, routes)
    shares = np.ones(len(found)) if weights is None else positive_row("weights", weights)
    if shares.size != len(found):
        raise ArgumentError(f"weights: {shares.size} are given; expected {len(found)}, one per route")
    lengths = np.fromiter(map(len, found), dtype=np.intp, count=len(found))
    links = np.fromiter(chain.from_iterable(found), dtype=np.intp, count=int(lengths.sum()))
    flows = np.repeat(np.arange(lengths.size), lengths)
    passes = csr_array((np.ones(links.size), (links, flows)), shape=(limits.size, lengths.size))
    # A link that a route names twice is one constraint.
    passes.data[:] = 1.0
    return _Problem(passes, limits, shares)


def _demand(prices: Floats, shares: Floats, alpha: float) -> Floats:
    """What flows take at the prices of their routes: where marginal utility equals price."""
    rates: Floats = (shares / prices) ** (1.0 / alpha)
    return rates


def _dual(incidence: csr_array, limits: Floats, shares: Floats, alpha: float) -> tuple[Floats, int]:
    """The prices that minimise the dual, and how many steps that took.

    The conditions of optimality are ``r(p) = s`` and ``p s = 0`` with ``r``, the dual's gradient, what links have left at
    prices p. Newton steps go to ``p s = barrier`` instead, which is positive and vanishes as they go. Each step's length is
    found on the dual with its logarithmic barrier, a convex function that every step lowers: they converge from anywhere.
    """
    used = incidence.sum(axis=1) > 0
    rows, limits = incidence[used], limits[used]
    columns = csr_array(rows.T)
    # Exact where all links of a route are equally dear.
    prices = ((rows @ (shares / columns.sum(axis=1))) / limits) ** alpha
    # A tenth of what each link earns: links of very different size meet their conditions together.
    barrier = 0.1 * prices * limits
    slack, steps = barrier / prices, 0
    for steps in range(MOST_STEPS):  # noqa: B007 (counted)
        route = columns @ prices
        rates = _demand(route, shares, alpha)
        left, earned = limits - rows @ rates, rows @ (rates * route)
        if max((np.abs(left - slack) / limits).max(), (prices * slack / earned).max()) < ACCURACY:
            break
        curvature = rows @ diags_array(rates / (alpha * route)) @ columns
        gradient = left - barrier / prices
        step = -(_solved if prices.size <= DENSE else _solved_sparsely)(curvature, slack / prices, gradient)
        slack_step = barrier / prices - slack - slack / prices * step
        dual = _Dual(columns, limits, shares, alpha, barrier)
        prices = _search(dual, prices, step, float(-gradient @ step))
        slack += min(1.0, 0.995 * _reach(slack, slack_step)) * slack_step
        barrier *= min(1.0, 0.1 * float((prices * slack / barrier).mean()))
    full = np.zeros(used.size)
    full[used] = prices
    return full, steps


def _solved(curvature: csr_array, diagonal: Floats, vector: Floats) -> Floats:
    """The solution for a positive definite matrix, whose rows may differ by many orders of magnitude, or be the same but
    for rounding: links that the same flows pass have one price between them. What is to be added to its diagonal is given
    apart."""
    matrix: Floats = curvature.toarray()
    matrix[np.diag_indices_from(matrix)] += diagonal
    scale = 1.0 / np.sqrt(matrix.diagonal())
    unit = matrix * np.outer(scale, scale)
    unit[np.diag_indices_from(unit)] += 1e-13
    solution: Floats = scale * cho_solve(cho_factor(unit, check_finite=False), scale * vector, check_finite=False)
    return solution


def _solved_sparsely(curvature: csr_array, diagonal: Floats, vector: Floats) -> Floats:
    """The same where the whole matrix would take gigabytes. Most of so many links are hosts' own, which few flows pass."""
    matrix = curvature + diags_array(diagonal)
    scale = 1.0 / np.sqrt(matrix.diagonal())
    unit = diags_array(scale) @ matrix @ diags_array(scale) + diags_array(np.full(scale.size, 1e-13))
    try:
        # Symmetric and positive definite: the diagonal needs no pivots.
        factors = splu(unit.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError as error:
        raise LinAlgError(str(error)) from None
    solution: Floats = scale * factors.solve(scale * vector)
    return solution


def _reach(values: Floats, step: Floats) -> float:
    """How many steps lead to the first value that is 0."""
    falling = step < 0
    return float(np.min(-values[falling] / step[falling])) if falling.any() else np.inf


class _Dual(NamedTuple):
    """The dual with a barrier before negative prices."""

    columns: csr_array
    limits: Floats
    shares: Floats
    alpha: float
    barrier: Floats

    def value(self, prices: Floats) -> float:
        """What is minimised."""
        route = self.columns @ prices
        if self.alpha == 1.0:
            conjugate = -(self.shares * np.log(route)).sum()
        else:
            demand = _demand(route, self.shares, self.alpha)
            conjugate = (route * demand).sum() * self.alpha / (1.0 - self.alpha)
        return float(self.limits @ prices + conjugate - self.barrier @ np.log(prices))


def _search(dual: _Dual, prices: Floats, step: Floats, decrement: float) -> Floats:
    """Prices a step further that are positive and lower the dual enough (Armijo)."""
    length = min(1.0, 0.995 * _reach(prices, step))
    here = dual.value(prices)
    for _ in range(40):
        there = prices + length * step
        if dual.value(there) <= here - 0.1 * length * decrement or length * decrement < 1e-14 * abs(here):
            break
        length *= 0.5
    return there
