"""When two simulators agree: the tolerances, and the verdict on each figure of a row. Runs nothing."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tailback.validation.reference import Estimate, Row


class Verdict(StrEnum):
    """What a comparison came to."""

    AGREES = "agrees"
    DIFFERS = "differs"
    NOT_COMPARED = "not compared"


@dataclass(frozen=True)
class Tolerance:
    """How far apart two means may lie."""

    relative: float = 0.0
    """As a fraction of the reference."""
    absolute: float = 0.0
    """In the figure's own unit."""
    deviations: float = 2.0
    """In standard deviations of the reference's seeds; the largest of the three counts."""

    def allowed(self, reference: Estimate) -> float:
        """The largest difference that still agrees."""
        return max(self.relative * abs(reference.mean), self.absolute, self.deviations * reference.deviation)


# Where queues fill: utilization within two points, and loss, throughput and queue as fractions.
CONGESTED: dict[str, Tolerance] = {
    "throughput": Tolerance(relative=0.03),
    "utilization": Tolerance(absolute=0.02),
    "loss": Tolerance(relative=0.10),
    "mean_queue": Tolerance(relative=0.10),
}
# Where loss is given from outside, only what the flows make of it can differ: strictly within 5 %.
INDEPENDENT: Mapping[str, Tolerance] = {"goodput": Tolerance(relative=0.05, deviations=0.0)}
# How flows of different ways share: their goodput. Of finite transfers: how long they take.
SHARES: dict[str, Tolerance] = {
    name: Tolerance(relative=0.03) for name in ("tcp_goodput", "crossing_goodput", "reverse_goodput")
}
FINITE: Mapping[str, Tolerance] = {"completion": Tolerance(relative=0.03)}
PER_FLOW = Tolerance(relative=0.03, deviations=0.0)


@dataclass(frozen=True)
class Comparison:
    """One figure of one row, here and there."""

    row: Row
    figure: str
    reference: Estimate
    measured: Estimate | None
    """``None`` where the row could not be run."""
    allowed: float
    """The largest difference of the means that agrees."""
    verdict: Verdict
    reason: str = ""
    """Why it differs, or why it was not compared."""

    @property
    def difference(self) -> float | None:
        """Measured less reference."""
        return None if self.measured is None else self.measured.mean - self.reference.mean


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and sample standard deviation over seeds."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return Estimate(statistics.fmean(values), deviation)


def tolerances(row: Row) -> Mapping[str, Tolerance]:
    """The figures of a row that are compared, with how closely."""
    if row.group == "bernoulli":
        return INDEPENDENT
    if row.group == "fair":
        flows = {f"flow_{index}": PER_FLOW for index in range(len(row.flow_goodput))}
        # Four competing flows of five seeds settle anywhere in a wide band; only their sum is sharp.
        shared = {"tcp_goodput": PER_FLOW, "constant_goodput": PER_FLOW}
        return shared if row.queue == "droptail" else flows
    if row.group == "further":
        figures = INDEPENDENT if row.loss else FINITE if row.options["size"] != "0" else CONGESTED | SHARES
        return {name: tolerance for name, tolerance in figures.items() if name in row.figures}
    return CONGESTED


def expected(row: Row, figure: str) -> Estimate | None:
    """ns-2's value of a figure, or ``None`` where it has none."""
    if figure.startswith("flow_"):
        return Estimate(row.flow_goodput[int(figure.removeprefix("flow_"))], 0.0)
    if row.group == "further":
        return row.figures.get(figure)
    if figure == "tcp_goodput":
        return Estimate(sum(row.flow_goodput[:-1]), 0.0)
    if figure == "constant_goodput":
        return Estimate(row.flow_goodput[-1], 0.0)
    return row.figures.get(figure)


def compare(row: Row, measured: Mapping[str, Sequence[float]], reasons: Mapping[str, str]) -> list[Comparison]:
    """Compares a row's figures, one value per seed each, with the reference.

    Args:
        row: the reference.
        measured: values by figure, one per seed.
        reasons: why a figure of this row is known to differ.
    """
    comparisons = []
    for figure, tolerance in tolerances(row).items():
        reference = expected(row, figure)
        if reference is None:
            continue
        here = estimate(measured[figure])
        allowed = tolerance.allowed(reference)
        # Means that are equal by construction (a full link) may differ in the last bit.
        agrees = abs(here.mean - reference.mean) <= allowed + 1e-9
        verdict = Verdict.AGREES if agrees else Verdict.DIFFERS
        reason = "" if agrees else reasons.get(figure, "not yet explained")
        comparisons.append(Comparison(row, figure, reference, here, allowed, verdict, reason))
    return comparisons


def left_out(row: Row, reason: str) -> list[Comparison]:
    """The figures of a row that cannot be run."""
    return [
        Comparison(row, figure, reference, None, tolerance.allowed(reference), Verdict.NOT_COMPARED, reason)
        for figure, tolerance in tolerances(row).items()
        if (reference := expected(row, figure)) is not None
    ]
