"""Checksums of the files of a folder, as ``sha256sum`` writes and checks them, so that what has changed since is not
taken for what was measured. Which folders have them is said in their ``store.py``."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tailback.errors import StorageError

FILE = "SHA256SUMS"
HINT = "to look at it anyway: --trust, or trust=True"


def write(folder: Path) -> None:
    """Writes the checksums of all files that are in the folder now."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != FILE)
    lines = [f"{_of(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    (folder / FILE).write_text("".join(lines), encoding="utf-8")


def check(folder: Path) -> None:
    """Complains where a file is not as it was written.

    Raises:
        StorageError: with the names of such files.
    """
    try:
        lines = (folder / FILE).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise StorageError(f"{folder}: its checksums, {FILE}, cannot be read; {HINT}") from error
    changed = [name for known, _, name in (line.partition("  ") for line in lines) if known != _now(folder, name)]
    if changed or not lines:
        raise StorageError(f"{folder}: not as it was written: {', '.join(changed) or FILE}; make it again, or {HINT}")


def _now(folder: Path, name: str) -> str:
    try:
        return _of(folder / name) if name else ""
    except OSError:
        return ""


def _of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
