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
    holds: bool


@dataclass(frozen=True)
class Outcome:
    """What an item measured and how its claim fared."""

    measured: Mapping[str, Any]
    """The ledger's keys, which go into the JSON, and others that only the report shows."""
    checks: Sequence[Check]
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

    @property
    def holds(self) -> bool:
        """Whether the claim is reproduced: every check holds."""
        return bool(self.checks) and all(check.holds for check in self.checks)


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
