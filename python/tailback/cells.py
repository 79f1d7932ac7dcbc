"""A mean with its half-width as text, with as many digits as say something: for tables of terminals, pages and notebooks, which
are made elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def cell(row: Mapping[str, Any] | None, factor: float, *, signed: bool = False, most: int = 3) -> str:
    """A mean with its half-width, as many digits as the half-width warrants, at most so many of them decimals."""
    if row is None or row["mean"] is None:
        return "—"
    mean, width = row["mean"] * factor, row["half_width"]
    sign = "+" if signed else ""
    if width is None or not width * factor > 0:
        return f"{mean:{sign}.4g}"
    places = decimals(width * factor, most)
    return f"{mean:{sign}.{places}f} ± {width * factor:.{places}f}"


def decimals(width: float, most: int = 3) -> int:
    """Decimals that show the first digit of a half-width, the second too where the first is 1."""
    power = math.floor(math.log10(width))
    return max(0, min(most, -power + (width < 2 * 10.0**power)))
