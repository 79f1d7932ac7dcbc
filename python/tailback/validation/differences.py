"""Why a figure of a row lies outside its tolerance, and who is right: written by people, after looking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch

from tailback.validation.reference import Row


@dataclass(frozen=True)
class Difference:
    """A known difference."""

    rows: str
    """A pattern of row names, as in a shell."""
    figures: tuple[str, ...]
    reason: str


KNOWN: tuple[Difference, ...] = ()


def reasons(row: Row) -> Mapping[str, str]:
    """The known differences of a row, by figure."""
    return {figure: known.reason for known in KNOWN if fnmatch(row.name, known.rows) for figure in known.figures}
