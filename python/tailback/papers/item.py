"""What the code of one item of the ledger looks like. Running items and writing their outcome lives in
``reproduce.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

Fidelity = Literal["quick", "full"]
Word = Literal["holds", "fails", "open", "refuted"]
"""How a claim fared: every test of the ledger holds; one does not; none fails but one could not be run here; or the claim is
shown to be false, and what is true instead passes its own tests."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of an item's set-up, and where it comes from."""

    name: str
    value: str
    origin: Literal["stated", "inferred"]
    """Whether the paper says so, or we had to conclude or choose it."""
    why: str = ""
    """The place in the paper, or the reason for the choice."""


@dataclass(frozen=True)
class Check:
    """One test of a claim."""

    claim: str
    measured: str
    allowed: str
    holds: bool | None
    """``None`` where this machine or this version cannot run it."""


@dataclass(frozen=True)
class ChangedTest:
    """A test other than the ledger's, shown beside it and never counted in its place."""

    checks: Sequence[Check]
    why: str
    """Why the ledger's test, as it is written, does not settle the claim."""

    @property
    def holds(self) -> bool:
        """Whether every check of it holds."""
        return _all_hold(self.checks)


@dataclass(frozen=True)
class Refutation:
    """Why a claim of a paper is false, and tests of what is true instead."""

    proof: str
    checks: Sequence[Check]

    @property
    def holds(self) -> bool:
        """Whether what is said to be true instead passes its tests."""
        return _all_hold(self.checks)


def _all_hold(checks: Sequence[Check]) -> bool:
    return bool(checks) and all(check.holds for check in checks)


@dataclass(frozen=True)
class Outcome:
    """What an item measured and how its claim fared."""

    measured: Mapping[str, Any]
    """The ledger's keys, which go into the JSON, and others that only the report shows."""
    checks: Sequence[Check]
    """The ledger's tests, as they are written there."""
    data: pl.DataFrame
    """The figure's data, tidy."""
    units: Mapping[str, str]
    """The unit of each column of ``data`` that has one."""
    why: str
    """The remaining difference explained; empty where there is none."""
    scenario: str = ""
    """One of the scenarios that were run, as TOML, for the reader who wants to try it."""
    notes: Sequence[str] = field(default_factory=tuple)
    """Remarks for the report."""
    changed: ChangedTest | None = None
    """A second test, where the ledger's does not settle the claim."""
    refutation: Refutation | None = None
    """The proof, where the claim is false."""

    @property
    def verdict(self) -> Word:
        """How the claim fared by the ledger's tests."""
        failed = not self.checks or any(check.holds is not None and not check.holds for check in self.checks)
        if failed:
            return "refuted" if self.refutation and self.refutation.holds else "fails"
        return "open" if any(check.holds is None for check in self.checks) else "holds"

    @property
    def tests(self) -> Sequence[tuple[str, Sequence[Check]]]:
        """All tests under their headings: the ledger's have none."""
        found: list[tuple[str, Sequence[Check]]] = [("", self.checks)]
        if self.changed:
            found.append(("Changed test, not counted", self.changed.checks))
        if self.refutation:
            found.append(("What is true instead", self.refutation.checks))
        return found

    @property
    def holds(self) -> bool:
        """Whether the claim is reproduced: every test of the ledger holds."""
        return self.verdict == "holds"


class Item(Protocol):
    """A module under ``papers/``: these three names at its top."""

    def parameters(self, fidelity: Fidelity) -> Sequence[Parameter]:
        """Every parameter of the set-up."""
        ...

    def measure(self, lab: Lab) -> Outcome:
        """Runs what is needed and judges it."""
        ...

    def draw(self, outcome: Outcome) -> Figure:
        """The figure, from the outcome's data alone."""
        ...
