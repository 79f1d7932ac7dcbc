"""Checks of arguments that several formulas have: numbers above zero and whole numbers of bins. Series are checked in
``lrd/estimate.py``."""

from __future__ import annotations

import math

from tailback.errors import refused


def expect_positive(**values: float) -> None:
    """Refuses arguments that are not finite numbers above zero.

    Raises:
        ArgumentError: for the first that is none.
    """
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise refused(name, value, "a finite number above 0")
