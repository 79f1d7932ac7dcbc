"""Linear increase, exponential decrease and selective aggressiveness written down again from Tuan and Park's text alone (eqs. 3
and 4, §3.2, appendix A.2), report by report in plain numbers. What the schemes `lied` and `sac` decide is compared with it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

LEVELS = 8


@dataclass
class Report:
    """What the receiver says, and the rate at which what it speaks of had left."""

    time: float
    load: float
    """λ, bytes per second."""
    raw: float
    """ν, bytes per second."""
    loss: float
    """c."""


@dataclass
class CondProb:
    """The table of appendix A.2, with its clock of two periods and all amounts that were ever seen."""

    period: float
    counts: np.ndarray = field(default_factory=lambda: np.zeros((LEVELS + 1, LEVELS + 1)))
    amounts: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    begun: float | None = None
    closed: int = 0
    first: int = 0
    amount: float = 0.0

    def level(self, which: int, amount: float) -> int:
        """L_k by bands of one standard deviation around the mean (appendix A.1)."""
        seen = np.array(self.amounts[which])
        mean, deviation = seen.mean(), seen.std()
        if deviation == 0.0:
            return 1 if amount < mean else LEVELS // 2 + 1 if amount == mean else LEVELS
        bounds = mean + deviation * np.arange(-3, 4)
        return 1 + int((amount >= bounds).sum())

    def report(self, time: float, amount: float) -> None:
        """Alarms that are due go off; then the report counts to the period that runs."""
        self.begun = time if self.begun is None else self.begun
        while time >= self.begun + (self.closed + 1) * self.period - 1e-9:
            which = self.closed % 2
            self.amounts[which].append(self.amount)
            level = self.level(which, self.amount)
            if which:
                self.counts[self.first, level] += 1.0
            else:
                self.first = level
            self.amount, self.closed = 0.0, self.closed + 1
        self.amount += amount

    def expected(self, first: int) -> float:
        """E(L2 | L1); of all pairs where this L1 was never seen, and the middle without any (our choice: the text has none)."""
        row = self.counts[first] if self.counts[first].sum() else self.counts.sum(axis=0)
        return float(row @ np.arange(LEVELS + 1) / row.sum()) if row.sum() else 0.5 * (LEVELS + 1)


@dataclass
class Law:
    """Equation 3, with the actuation of §3.2.2 on top of it where a unit of aggressiveness is given."""

    increase: float
    """δ, bytes per second per second."""
    decrease: float
    """a, per second."""
    severity: float
    """k."""
    interval: float
    rate: float
    unit: float = 0.0
    """What ε = 1 adds to an increase, in increases."""
    period: float = 2.0

    def run(self, reports: list[Report]) -> Iterator[tuple[float, float]]:
        """The rate after each report, and the aggressiveness in force."""
        table, past, then = CondProb(self.period), [(-math.inf, 0.0)], None
        before: tuple[float, float] | None = None
        for report in reports:
            past.append((report.time, report.raw * self.interval))
            table.report(*past[-1])
            recent = sum(amount for time, amount in past if time > report.time - self.period + 1e-9)
            aggressiveness = 0.0
            if report.time >= past[1][0] + self.period - 1e-9:
                aggressiveness = 1.0 / table.expected(table.level(0, recent))
            throughput = (1.0 - report.loss) ** self.severity * report.raw
            # Without loss, a difference of two throughputs is noise: packets are few in an interval.
            rises = report.loss == 0.0
            if not rises and before is not None:
                rises = (report.load - before[0]) * (throughput - before[1]) > 0.0
            before = (report.load, throughput)
            step = report.time - then if then is not None else self.interval
            then = report.time
            updated = self.rate + self.increase * step if rises else self.rate * math.exp(-self.decrease * step)
            if updated > self.rate:
                updated += self.unit * aggressiveness * self.increase * step
            self.rate = updated
            yield self.rate, aggressiveness
