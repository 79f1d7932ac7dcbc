"""What the traffic level of the recent past says of the near future: the table Pr{L2 | L1}, off line and on line, and figures
made of it. How it changes with the time scale lives in ``time_scales.py``.

Tuan and Park, "Multiple time scale congestion control for self-similar network traffic", §2.3, §2.4 and Appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailback.analysis.arguments import expect_positive
from tailback.analysis.lrd.estimate import Floats, checked
from tailback.analysis.lrd.levels import LEVELS, Quantiser, check, edges, on_line, quantise
from tailback.calls import checked_call
from tailback.errors import ArgumentError, refused

How = Literal["off-line", "on-line"]


@dataclass(frozen=True)
class Table:
    """How often each level was followed by each other: counts with a row per L1 and a column per L2, both from 1.

    Raises:
        ArgumentError: for counts that are not whole, are negative, or have not as many rows as columns.
    """

    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        given = np.asarray(self.counts)
        if given.ndim != 2 or given.shape[0] != given.shape[1] or not given.size:
            shape = " by ".join(map(str, given.shape)) or "one"
            raise ArgumentError(f"counts: {shape} are not allowed; expected as many rows as columns")
        if given.dtype.kind not in "iu" or given.min() < 0:
            raise ArgumentError(
                "counts: negative or broken numbers are not allowed; expected whole numbers of at least 0"
            )
        object.__setattr__(self, "counts", given)

    @property
    def levels(self) -> int:
        """m."""
        return int(self.counts.shape[0])

    @property
    def seen(self) -> NDArray[np.int64]:
        """h_l: how often each L1 was seen."""
        return np.asarray(self.counts.sum(axis=1))

    def populated(self, least: int = 20) -> NDArray[np.bool_]:
        """The levels L1 that were seen often enough to say anything."""
        return np.asarray(self.seen >= least)

    @property
    def probability(self) -> Floats:
        """Pr{L2 = column | L1 = row} (Appendix A.1); rows never seen are not a number."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.counts / self.seen[:, None])

    @property
    def expected(self) -> Floats:
        """E[L2 | L1] per row (§3.2.2); not a number where the level was never seen."""
        return np.asarray(self.probability @ np.arange(1, self.levels + 1))

    def span(self, least: int = 20) -> float:
        """By how many levels E[L2 | L1] differs between levels seen at least so often; 0 where there are fewer than two."""
        found = self.expected[self.populated(least)]
        return float(found.max() - found.min()) if found.size > 1 else 0.0

    def marginals(self, least: int = 20) -> tuple[Floats, Floats]:
        """Pr{L2 | L1} for the lowest and the highest level seen at least so often (Fig. 8).

        Raises:
            ArgumentError: where no level was.
        """
        rows = np.flatnonzero(self.populated(least))
        if rows.size == 0:
            raise ArgumentError(
                f"table: no level was seen {least} times; expected a longer series or a shorter time scale"
            )
        return self.probability[rows[0]], self.probability[rows[-1]]

    def total_variation(self, least: int = 20) -> float:
        """The total-variation distance between those two, from 0 (conditioning says nothing) to 1."""
        low, high = self.marginals(least)
        return 0.5 * float(np.abs(low - high).sum())

    def entropies(self, *, corrected: bool = False) -> Floats:
        """S_l in bits, per row (§2.4); not a number where the level was never seen.

        Few observations make any distribution look concentrated: the entropy of n of them over K values seen falls short by
        about (K - 1) / (2 n ln 2) bits, which ``corrected`` adds (Miller 1955; Madow).
        """
        seen = self.seen
        with np.errstate(divide="ignore", invalid="ignore"):
            p = self.probability
            found = -np.where(p > 0.0, p * np.log2(p), 0.0).sum(axis=1)
            if corrected:
                found = found + ((self.counts > 0).sum(axis=1) - 1) / (2.0 * seen * np.log(2.0))
        found[seen == 0] = np.nan
        return np.asarray(found)

    def average_entropy(self, *, corrected: bool = False) -> float:
        """The mean of S_l over all m levels, in bits (§2.4). As the sum there is over all m, a level never seen counts as
        one that is perfectly predictable: with few observations that alone makes the average fall."""
        return float(np.nansum(self.entropies(corrected=corrected)) / self.levels)

    def conditional_entropy(self, *, corrected: bool = True) -> float:
        """H(L2 | L1) in bits: the mean of S_l weighted by how often each level was seen, which few observations of rare
        levels do not disturb."""
        found, seen = self.entropies(corrected=corrected), self.seen
        known = seen > 0
        return float(np.average(found[known], weights=seen[known])) if known.any() else float("nan")

    @property
    def mutual_information(self) -> float:
        """I(L1; L2) in bits: what L1 says of L2. Corrected for few observations as entropies are; never below 0."""
        n = max(int(self.counts.sum()), 1)
        joint = _entropy(self.counts.ravel(), n)
        return max(_entropy(self.seen, n) + _entropy(self.counts.sum(axis=0), n) - joint, 0.0)


@dataclass(frozen=True)
class Prediction:
    """A table with the volumes that it was made of."""

    table: Table
    history: float
    """T1, in seconds."""
    horizon: float
    """T2."""
    quantiser: Quantiser
    how: How
    past: Floats
    """V1 of each block."""
    future: Floats
    """V2 of each block."""
    first: NDArray[np.int64]
    """L1 of each block."""
    second: NDArray[np.int64]
    """L2 of each block."""

    @property
    def predictability(self) -> float:
        """The part of the variance of V2 that the mean of V2 per L1 explains, adjusted for the number of levels: 0 says that
        conditioning is of no use, 1 that it tells everything."""
        total = float(np.sum((self.future - self.future.mean()) ** 2))
        groups = np.bincount(self.first)
        means = np.bincount(self.first, weights=self.future) / np.maximum(groups, 1)
        left = float(np.sum((self.future - means[self.first]) ** 2))
        used, n = int((groups > 0).sum()), self.future.size
        if total <= 0.0 or n <= used:
            return 0.0
        return max(1.0 - left / total * (n - 1) / (n - used), 0.0)


@checked_call
def predict(
    series: ArrayLike,
    bin: float,
    history: float = 2.0,
    horizon: float | None = None,
    *,
    quantiser: Quantiser = "sigma",
    levels: int = LEVELS,
    how: How = "off-line",
    offset: float = 0.0,
) -> Prediction:
    """Cuts a series into blocks of T1 + T2, quantises the volumes of both parts, and counts.

    Args:
        series: volumes per bin.
        bin: the width of a bin, in seconds.
        history: T1, in seconds.
        horizon: T2; as T1 where it is not said.
        quantiser: how volumes become levels.
        levels: m.
        how: with edges from all blocks at once, or with those known at each block's time.
        offset: seconds to leave out at the beginning.

    Raises:
        ArgumentError: for times that are no whole bins, fewer than 8 blocks, or a series that is not fit.
    """
    values = checked(series, 16)
    later = history if horizon is None else horizon
    expect_positive(bin=bin)
    if how not in {"off-line", "on-line"}:
        raise refused("how", how, "off-line or on-line")
    first, second = whole(history, bin, "history"), whole(later, bin, "horizon")
    skip = 0 if offset == 0.0 else whole(offset, bin, "offset")
    count = (values.size - skip) // (first + second)
    if count < 8:
        room = (values.size - skip) * bin
        raise ArgumentError(
            f"history: {history:g} s with a horizon of {later:g} s leave {count} blocks of {room:g} s; expected 8"
        )
    blocks = values[skip : skip + count * (first + second)].reshape(count, first + second)
    past, future = blocks[:, :first].sum(axis=1), blocks[:, first:].sum(axis=1)
    l1, l2 = (_levels(volumes, quantiser, levels, how) for volumes in (past, future))
    return Prediction(counted(l1, l2, levels), history, later, quantiser, how, past, future, l1, l2)


@checked_call
def counted(first: ArrayLike, second: ArrayLike, levels: int = LEVELS) -> Table:
    """The table of pairs of levels.

    Raises:
        ArgumentError: for levels outside 1 to ``levels``, or not as many of one as of the other.
    """
    check("equal", levels)
    for name, given in (("first", first), ("second", second)):
        values = np.asarray(given, dtype=np.float64).ravel()
        wrong = values[~((values >= 1) & (values <= levels) & (values == np.floor(values)))]
        if wrong.size:
            raise refused(name, float(wrong[0]), f"whole numbers from 1 to {levels}")
    if np.size(first) != np.size(second):
        raise ArgumentError(
            f"second: {np.size(second)} levels are given; expected {np.size(first)}, as many as of the first"
        )
    pairs = (np.asarray(first, dtype=np.int64) - 1) * levels + np.asarray(second, dtype=np.int64) - 1
    return Table(np.bincount(pairs, minlength=levels * levels).reshape(levels, levels))


def whole(time: float, bin: float, name: str) -> int:
    """A time as a number of bins.

    Raises:
        ArgumentError: where it is none.
    """
    expect_positive(**{name: time})
    count = round(time / bin)
    if count < 1 or abs(count * bin - time) > 1e-6 * time:
        raise ArgumentError(f"{name}: {time:g} s is not allowed; expected a multiple of the bins' {bin:g} s")
    return count


def _levels(volumes: Floats, quantiser: Quantiser, levels: int, how: How) -> NDArray[np.int64]:
    if how == "on-line":
        return on_line(volumes, quantiser, levels)
    return quantise(volumes, edges(volumes, quantiser, levels))


def _entropy(counts: NDArray[np.int64], n: int) -> float:
    p = counts[counts > 0] / n
    return float(-np.sum(p * np.log2(p)) + (p.size - 1) / (2.0 * n * np.log(2.0)))
