"""Keeping in a folder what a command has found. Where that fails, it is told all the same: what a long run has measured is not lost
with a full disk. How folders are written is in ``results/``; what is told, in each command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tailback.results.places import Place, place

NOT_SAVED: Final = "Not saved."
"""What stands where the folder would be named; the reason comes last, as an error."""


@dataclass(frozen=True)
class Kept:
    """Where something is kept, or what has kept it from being so."""

    where: Place | None
    why: Exception | None = None

    def folder(self) -> str | None:
        """For those who read with a program: the folder's path, or nothing."""
        return None if self.where is None else str(self.where.folder)

    def expect(self) -> None:
        """Ends a command that has told everything else.

        Raises:
            StorageError: where nothing was saved, with the path and the reason.
        """
        if self.why is not None:
            raise self.why


def kept(out: Path | None, usual: Path, same: Callable[[Path], bool], save: Callable[[Path], object]) -> Kept:
    """Saves something where it was asked for, or in the usual place (:func:`tailback.results.places.place`). What keeps it from
    that is not raised before :meth:`Kept.expect`."""
    try:
        with place(out, usual, same) as where:
            save(where.folder)
    except Exception as error:  # A figure that cannot be drawn is no reason to lose the figures, either.
        return Kept(None, error)
    return Kept(where)
