"""Writing that leaves either everything or nothing: beside the target first, then renamed onto it; and reading what a
folder says about itself."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tailback.errors import StorageError, refused
from tailback.paths import exists, isdir, isfile
from tailback.results import checksums

_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of linux/fs.h.
_FULL = {errno.ENOSPC: "no space is left", errno.EDQUOT: "the quota is used up", errno.EFBIG: "the file is too large"}

_KNOWN = 40
"""Letters by which a name is known again: with four bytes each, and with what is added to them, they fit into any name."""
_SMALL = 1 << 16
"""Bytes: more than the end of a table."""


def explained(target: Path, error: BaseException) -> StorageError:
    """The error to raise where writing failed; says that nothing was changed."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error).splitlines()[0]
    in_the_way = _in_the_way(target)
    if isinstance(error, FileExistsError | NotADirectoryError) and in_the_way is not None:
        allowed = "a folder, or a path where nothing is yet"
        said = f"cannot be written, {in_the_way} is a file; expected {allowed}"
        return StorageError(f"{target}: {said}; nothing was changed there")
    for code, words in _FULL.items():
        # polars hides the number but keeps the system's words.
        if (isinstance(error, OSError) and error.errno == code) or os.strerror(code) in str(error):
            reason = words
            break
    else:
        if type(error).__module__.startswith("polars") and target.parent.is_dir():
            reason = _by_trial(target.parent) or reason
    return StorageError(f"{target}: cannot be written, {reason}; nothing was changed there")


def _by_trial(folder: Path) -> str | None:
    """Why the system takes no small file in a folder, if it takes none: where the disk is full at the end of a table, polars
    speaks of a bad one."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_SMALL))
    except OSError as error:
        return _FULL.get(error.errno or 0, error.strerror)
    return None


def _in_the_way(target: Path) -> Path | None:
    """The part of a folder's path that is something else, if one is."""
    return next((part for part in (target, *target.parents) if exists(part) and not isdir(part)), None)


def path_of(argument: str, given: Any) -> Path:
    """The path that was given for an argument.

    Raises:
        ArgumentError: where it is none.
    """
    if not isinstance(given, str | os.PathLike) or "\0" in str(given):
        raise refused(argument, given, "a path: a text, or a pathlib.Path")
    return Path(given)


def make_folder(folder: Path) -> None:
    """Makes a folder, with those that it lies in, where it is not there yet.

    Raises:
        StorageError: where that fails, because a file stands in the way for example.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise explained(folder, error) from error


def write_file(target: Path, write: Callable[[Path], object]) -> None:
    """Calls ``write`` with a path beside the target and renames the file onto the target when all is on disk.

    Raises:
        StorageError: where that fails; an older file of that name is then still there, whole. Where there is no file but a
            device, a pipe or a folder, which a file would take the place of.
    """
    if exists(target) and not isfile(target):
        found = "a folder" if isdir(target) else "no regular file"
        allowed = "the path of a file, or one where nothing is yet"
        raise StorageError(f"{target}: cannot be written, is {found}; expected {allowed}; nothing was changed there")
    try:
        beside = _unused(target, lambda path: os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)))
    except (OSError, ValueError) as error:  # A name that no system has is a wrong value.
        raise explained(target, error) from error
    try:
        write(beside)
        _to_disk(beside)
        beside.replace(target)
    except BaseException as error:
        # Found out while the disk is as full as it was.
        told = explained(target, error) if isinstance(error, Exception) and _is_storage(error) else None
        beside.unlink(missing_ok=True)
        if told is not None:
            raise told from error
        raise


def expect_room(target: Path, *, mine: Callable[[Path], bool]) -> None:
    """Refuses early what :func:`new_folder` would refuse when all is measured. Nothing is left of the trial.

    Raises:
        StorageError: where no folder can be made there, or something that is not ours stands in the way.
    """
    _refuse_foreign(target, mine)
    try:
        around = next(part for part in target.absolute().parents if exists(part))
        os.rmdir(tempfile.mkdtemp(prefix=f".{target.name[:_KNOWN]}.", dir=around))
        with suppress(FileNotFoundError, NotADirectoryError):
            os.stat(target)  # Which fails for a name that is too long.
    except OSError as error:
        raise explained(target, error) from error


def _refuse_foreign(target: Path, mine: Callable[[Path], bool]) -> None:
    try:
        str(target).encode()
    except UnicodeEncodeError:  # A name that the system has and no table's library takes.
        raise StorageError(f"{str(target)!r}: cannot be written; expected a name in UTF-8") from None
    try:
        is_foreign = isdir(target) and not mine(target) and any(target.iterdir())
    except OSError as error:  # Whose it is cannot be seen.
        raise explained(target, error) from error
    if exists(target) and not isdir(target):
        raise explained(target, NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))
    if is_foreign:
        # It may well be ours: a result where a report is to be written.
        raise StorageError(
            f"{target}: exists and holds something else; expected a new or empty folder, or an older one of the same kind"
        )


@contextmanager
def new_folder(target: Path, *, mine: Callable[[Path], bool]) -> Iterator[Path]:
    """A folder beside the target to fill, renamed onto the target at the end.

    An older folder there is replaced only when empty or when ``mine`` knows it as one of ours.

    Raises:
        StorageError: where writing fails, or something that is not ours stands in the way.
    """
    _refuse_foreign(target, mine)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = _unused(target, os.mkdir)
    except (OSError, ValueError) as error:
        raise explained(target, error) from error
    try:
        yield beside
        for file in beside.rglob("*"):
            if file.is_file():
                _to_disk(file)
        _swap(beside, target)
    except BaseException as error:
        shutil.rmtree(beside, ignore_errors=True)
        if isinstance(error, StorageError):  # Of a file inside: the reader knows the folder, not where it was made.
            raise StorageError(str(error).replace(str(beside), str(target))) from error
        if isinstance(error, Exception) and _is_storage(error):
            raise explained(target, error) from error
        raise


def _swap(beside: Path, target: Path) -> None:
    if not exists(target):
        beside.rename(target)
        return
    if exchange(beside, target):  # In one step, so that at no time there is nothing.
        shutil.rmtree(beside, ignore_errors=True)
        return
    old = _unused(target, os.mkdir)
    target.rename(old)  # Onto an empty folder, which is allowed and keeps the name ours.
    try:
        beside.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def exchange(one: Path, other: Path) -> bool:
    """Exchanges two folders in one step, where the system can."""
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):  # Not on this system.
        return False
    return bool(swap(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


def _unused(target: Path, make: Callable[[Path], object]) -> Path:
    """Something new beside the target, hidden, with the permissions that the user's mask leaves."""
    for _ in range(100):
        # Not longer than a name may be, where the target's is as long as that.
        kind = target.suffix if len(target.suffix) < _KNOWN // 2 else ""
        beside = target.with_name(f".{target.name[:_KNOWN]}.{secrets.token_hex(4)}{kind}")
        try:
            make(beside)
        except FileExistsError:
            continue
        return beside
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))


def _is_storage(error: Exception) -> bool:
    # polars reports a full disk as a ComputeError of its own, with the system's words.
    return isinstance(error, OSError) or type(error).__module__.startswith("polars")


def _to_disk(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def read_about(folder: Path, file: str, what: str, newest: int, *, trust: bool = False) -> dict[str, Any]:
    """What the JSON file of a folder says about it: a ``what`` of format ``newest`` or older, whose files are as they were
    written, unless the caller trusts them. Folders of earlier versions have no checksums.

    Raises:
        StorageError: where there is none, one of a newer kind, or one that has changed since.
    """
    try:
        about = json.loads((folder / file).read_text(encoding="utf-8"))
        written = int(about["format"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StorageError(f"{folder}: holds no {what} of ours; expected {file} and Parquet tables") from error
    if written > newest:
        raise StorageError(f"{folder}: was written by a newer version (format {written}, this one reads {newest})")
    if about.get("checksums") and not trust:
        checksums.check(folder)
    return dict(about)
