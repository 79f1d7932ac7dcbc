"""Where commands put what comes out, so that nothing that differs is lost in silence. How a folder is written is in
``files.py``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from tailback.paths import exists, isdir
from tailback.results.files import make_folder


@dataclass(frozen=True)
class Place:
    """A folder for a result."""

    folder: Path
    said: str = ""
    """What the user should know of other results near it; begins with the comma that joins it to where the result is."""


@contextmanager
def place(asked: Path | None, usual: Path, same: Callable[[Path], bool]) -> Iterator[Place]:
    """The folder for a result: the one that was ``asked`` for, or else the ``usual`` one, or the first of ``usual``-2,
    ``usual``-3, … that is free or holds a result of the ``same`` plan, which is replaced.

    While the block runs, other processes that look for a place beside it wait, so that two never take the same one.

    Args:
        asked: the user's own choice, which replaces whatever result is there.
        usual: where results of this kind go.
        same: whether a folder that exists holds a result of the same plan.

    Raises:
        StorageError: where the folder around it cannot be made.
    """
    target = usual if asked is None else asked
    make_folder(target.parent)
    with _turn(target.parent):
        if asked is not None:
            other = not _free(asked) and not same(asked)
            yield Place(asked, ", in place of another result that was there" if other else "")
            return
        places = (usual if number == 1 else usual.with_name(f"{usual.name}-{number}") for number in count(1))
        kept: list[Path] = []
        for folder in places:
            if _free(folder) or same(folder):
                others = f"{kept[0]} to {kept[-1]} hold" if len(kept) > 1 else f"{usual} holds"
                yield Place(folder, f", for {others} results of other plans" if kept else "")
                return
            kept.append(folder)


def written(folder: Path, file: str) -> Mapping[str, Any]:
    """What a JSON file of a folder says; nothing where it cannot be read."""
    try:
        found = json.loads((folder / file).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def as_written(data: object) -> Any:
    """Data as it comes back from a JSON file, to be compared with what is there."""
    return json.loads(json.dumps(data))


def _free(folder: Path) -> bool:
    try:
        return not exists(folder) or (isdir(folder) and not any(folder.iterdir()))
    except OSError:  # Whatever it holds, nothing can be written there.
        return False


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """One process at a time, by a lock on the folder itself, which ends with the process and leaves no file."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):  # Another system: two at once are then the user's affair.
        yield
        return
    try:
        with suppress(OSError):  # A file system without locks.
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
