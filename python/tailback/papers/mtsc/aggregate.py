"""What the clients' aggregate is like without anybody beside them: estimates of H, tables of levels, and entropy over time scales.
Figures 1 to 3 show parts of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from tailback.analysis import lrd
from tailback.papers.item import Fidelity, Parameter
from tailback.papers.mtsc.network import BIN, COMMON, TOLERANCE, Calibrated, Setting, calibrated

if TYPE_CHECKING:
    from tailback.papers.lab import Lab

T = TypeVar("T")

TABLES = (0.5, 1.0, 2.0, 5.0)
"""Seconds: the time scales of figure 2."""
SCALES = (0.25, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0)
"""Seconds: the time scales of figure 3."""
FINEST = 1.0
"""Seconds: estimates rest on scales from here on; below, round trips and windows shape the traffic."""


class Estimates(NamedTuple):
    """How far an aggregate's memory reaches."""

    load: float
    """bit/s."""
    hurst: dict[str, tuple[float, float]]
    """Estimate and half-width per estimator."""


class Levels(NamedTuple):
    """What the recent past says of the near future."""

    expected: dict[float, list[float]]
    """E[L2 | L1] per time scale and level; not a number where the level was seen less than 20 times."""
    span: dict[float, float]
    """The range of these."""
    table: list[list[float]]
    """Pr{L2 | L1} at 2 s."""


def estimates(found: Calibrated) -> Estimates:
    """H by five estimators."""
    series = found.aggregate.astype(np.float64)
    fine = round(FINEST / BIN)
    each = (
        lrd.rescaled_range(series, shortest=fine),
        lrd.variance_time(series, shortest=fine),
        lrd.local_whittle(series),
        lrd.wavelet(series, shortest=fine),
        lrd.dfa(series, shortest=fine),
    )
    return Estimates(float(series.mean()) * 8.0 / BIN, {one.method: (one.hurst, one.half_width) for one in each})


def levels(found: Calibrated) -> Levels:
    """Tables of levels at four time scales."""
    series = found.aggregate.astype(np.float64)
    tables = {time: lrd.predict(series, BIN, time).table for time in TABLES}
    return Levels(
        expected={time: np.where(table.populated(), table.expected, np.nan).tolist() for time, table in tables.items()},
        span={time: table.span() for time, table in tables.items()},
        table=np.nan_to_num(tables[2.0].probability).tolist(),
    )


def by_scale(found: Calibrated) -> list[dict[str, float]]:
    """A row per time scale: entropies, mutual information, predictability."""
    rows: list[dict[str, float]] = lrd.by_time_scale(found.aggregate.astype(np.float64), BIN, SCALES).to_dicts()
    return rows


def observed(lab: Lab, look: Callable[[Calibrated], T], settings: Sequence[Setting]) -> list[T]:
    """Calibrates each setting and looks at the clients' aggregate in it, without anybody beside them."""
    return lab.once(look, lab.once(calibrated, settings))


def seconds(fidelity: Fidelity, quick: float = 4_000.0) -> float:
    """How long a run is; tables of levels need the full length to see the outer ones often enough."""
    return 10_000.0 if fidelity == "full" else quick


def parameters(fidelity: Fidelity, quick: float = 4_000.0) -> tuple[Parameter, ...]:
    """Those of the figures about the aggregate alone."""
    length = seconds(fidelity, quick)
    return (
        *COMMON,
        Parameter(
            "load",
            f"5 Mbit/s at the bottleneck, held within {100 * TOLERANCE:.0f} % at each shape",
            "inferred",
            "§4.3.1 has it for Fig. 9",
        ),
        Parameter("length", f"{length:g} s", "stated" if length == 10_000.0 else "inferred", "§4.1: 10 000 s"),
        Parameter("traces", "10 ms", "stated", "§4.1"),
    )
