"""The folder through which a laboratory's process and the one that started it exchange what they know. It goes when both have
ended, however they end: who kills both leaves it to the next run. What lies in it is said in ``run.py`` and ``inside.py``."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, cast

from tailback.errors import StorageError
from tailback.results.files import explained

if TYPE_CHECKING:
    from tailback.results import Result

_RESULT: Final = "result"
_PREFIX: Final = "tailback-lab-"


@contextmanager
def shared() -> Iterator[tuple[Path, int]]:
    """A new folder, and a file by which it is held: whoever has inherited that uses the folder.

    Raises:
        StorageError: where there can be none.
    """
    _remove_abandoned()
    path, holding = _held()
    try:
        yield path, holding
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(holding)


def tell(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes files into the folder.

    Raises:
        StorageError: where that fails.
    """
    try:
        for name, data in files.items():
            (folder / name).write_bytes(data)
    except OSError as error:
        raise explained(folder, error) from error


def hand_over(result: Result, folder: Path, memory: int) -> None:
    """Puts the result into the folder, or, where the disk is full by now, into a file in memory: what was measured in real time
    cannot be had again."""
    from tailback.results.store import save

    try:
        save(result, folder / _RESULT, csv=False)
    except StorageError:
        with open(memory, "wb", closefd=False) as file:
            pickle.dump(result, file)


def handed_over(folder: Path, memory: IO[bytes]) -> Result:
    """The result, from where it was put.

    Raises:
        StorageError: where there is none.
    """
    from tailback.results.store import load

    if os.fstat(memory.fileno()).st_size:
        memory.seek(0)  # Whoever wrote it left off at its end.
        return cast("Result", pickle.load(memory))
    return load(folder / _RESULT)


def _held() -> tuple[Path, int]:
    """A new folder, locked by an open file of this process."""
    import fcntl  # Not on every system on which this file is imported.

    while True:
        try:
            path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        except OSError as error:
            raise StorageError(f"no temporary folder can be made: {error.strerror or error}") from error
        try:
            holding = _opened(path)
        except FileNotFoundError:
            continue  # Somebody who tidies up was quicker than the lock.
        fcntl.flock(holding, fcntl.LOCK_EX)
        if path.exists():
            return path, holding
        os.close(holding)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _remove_abandoned() -> None:
    """Removes folders of this user that nobody holds any more."""
    import fcntl

    try:
        around = Path(tempfile.gettempdir())
    except OSError:  # There is none at all, which is told when one is to be made.
        return
    for path in around.glob(f"{_PREFIX}*"):
        try:
            holding = _opened(path)
        except OSError:  # Another user's, gone meanwhile, or no folder.
            continue
        try:
            if os.fstat(holding).st_uid == os.geteuid():
                fcntl.flock(holding, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        except BlockingIOError:  # In use.
            continue
        finally:
            os.close(holding)
