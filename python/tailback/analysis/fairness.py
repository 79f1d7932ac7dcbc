"""How evenly a resource is shared (RFC 5166 §2.3). Rates may be weighted by the caller before they come here."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailback.calls import checked_call
from tailback.errors import ArgumentError


def _rates(rates: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(rates, dtype=np.float64).ravel()
    if values.size == 0:
        raise ArgumentError("rates: expected at least one")
    wrong = values[(values < 0) | ~np.isfinite(values)]
    if wrong.size:
        raise ArgumentError(f"rates: {wrong[0]:g} is not allowed; expected finite rates of at least 0")
    return values


@checked_call
def jain(rates: ArrayLike) -> float:
    """Jain's index, ``(sum x)**2 / (n sum x**2)``: 1 when all are equal, 1/n when one has everything.

    Nobody getting anything counts as fair, 1.
    """
    values = _rates(rates)
    top = float(values.max())
    if top == 0.0:
        return 1.0
    shares = values / top  # Scaled first, so that tiny rates do not vanish when squared.
    return float(shares.sum() ** 2 / (shares.size * (shares**2).sum()))


@checked_call
def epsilon_fairness(rates: ArrayLike) -> float:
    """The smallest epsilon for which the shares are epsilon-fair: ``1 - min / max``; 0 is perfectly fair."""
    values = _rates(rates)
    top = float(values.max())
    return 0.0 if top == 0.0 else 1.0 - float(values.min()) / top


@checked_call
def product_measure(rates: ArrayLike) -> float:
    """The geometric mean of the rates: the product measure of RFC 5166 §2.3, brought back to the rates' unit."""
    values = _rates(rates)
    return 0.0 if np.any(values == 0) else float(np.exp(np.log(values).mean()))
