"""Finished runs on disk, by the digest of everything that decides their outcome: the scenario, the seed, the engine. A
file is written beside and renamed, so that a killed sweep leaves whole files only; one that cannot be read for any
other reason, or whose contents have changed since, counts as absent."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import pydantic_core

from tailback import _core
from tailback.errors import StorageError, refused
from tailback.paths import exists, isdir

FORMAT = 6
"""Raised when records of older versions no longer say what newer ones expect."""


@lru_cache(maxsize=1)
def engine() -> str:
    """A digest of the compiled engine: another build may give other numbers."""
    return hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()[:16]


def default_folder() -> Path:
    """Where runs are kept unless the caller says otherwise: ``TAILBACK_CACHE``, or the user's cache folder."""
    named = os.environ.get("TAILBACK_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tailback"


def key(scenario_hash: str, seed: int, parts: str = "") -> str:
    """The name under which a run is kept; ``parts`` stands for code of custom parts that takes part in it."""
    said = f"{FORMAT} {engine()} {scenario_hash} {seed} {parts}"
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()


class Cache:
    """A folder of records; without a folder nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        # Texts, here and below: objects for paths take a sweep's parent a tenth of its time.
        self._start = None if folder is None else os.path.join(folder, "")

    def path(self, name: str) -> str | None:
        """Where a record is or would be."""
        return None if self._start is None else f"{self._start}{name[:1]}{os.sep}{name}.json"

    def read(self, name: str) -> dict[str, Any] | None:
        """A record, if it is there and whole."""
        path = self.path(name)
        if path is None:
            return None
        try:
            with open(path, "rb", buffering=0) as file:
                return opened(name, file.read())
        except OSError:
            return None

    def write(self, name: str, sealed: bytes) -> dict[str, Any]:
        """Keeps a record that was :func:`sealed`, and gives it as :meth:`read` will.

        Raises:
            StorageError: where that fails.
        """
        path = self.path(name)
        if path is not None:
            self._put(path, sealed)
        return decoded(_within(sealed))

    def _put(self, path: str, sealed: bytes) -> None:
        beside = f"{path}.{os.getpid()}"
        try:
            try:
                _write(beside, sealed)
            except FileNotFoundError:  # The first of its folder.
                os.makedirs(os.path.dirname(path), exist_ok=True)
                _write(beside, sealed)
            os.replace(beside, path)
        except (OSError, ValueError) as error:  # A name that no system has is a wrong value.
            from tailback.results.files import explained  # Not on the workers' way.

            with suppress(OSError):
                Path(beside).unlink(missing_ok=True)
            hint = 'TAILBACK_CACHE names another folder, and --no-cache keeps no runs; in Python cache="folder" and cache=False'
            raise StorageError(f"{explained(Path(path), error)}; {hint}") from error


def _write(path: str, data: bytes) -> None:
    """Writes a new file. Not forced to the disk: one cut short by a power failure fails to read.

    Python's own files ask the system three things more, which is a tenth of what a sweep's parent does for a short run.
    """
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o666)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(file, left) :]
    finally:
        os.close(file)


_HEAD, _MIDDLE, _TAIL = b'{"digest":"', b'","record":', b"}"
_DIGITS = 32


def sealed(name: str, record: Mapping[str, Any]) -> bytes:
    """A run's record as it is kept under ``name``: JSON with a digest of its very bytes. Workers make it, so that whoever
    drives a sweep only writes it down."""
    return _sealed(encoded({"format": FORMAT, "key": name, **record}))


def opened(name: str, sealed: bytes) -> dict[str, Any] | None:
    """The record that was :func:`sealed` under ``name``; nothing where it is another one, or not as it was written."""
    try:
        record = decoded(_unsealed(sealed))
    except ValueError:
        return None
    return record if record.get("format") == FORMAT and record.get("key") == name else None


def _sealed(data: bytes) -> bytes:
    return _HEAD + _digest(data) + _MIDDLE + data + _TAIL


def _unsealed(sealed: bytes) -> bytes:
    """The record again.

    Raises:
        ValueError: where it is not as it was sealed.
    """
    data = _within(sealed)
    if sealed != _sealed(data):
        raise ValueError("expected the record that was written")
    return data


def _within(sealed: bytes) -> bytes:
    """The record's bytes, whatever they are."""
    return sealed[len(_HEAD) + _DIGITS + len(_MIDDLE) : -len(_TAIL)]


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGITS // 2).hexdigest().encode()


def encoded(record: dict[str, Any]) -> bytes:
    """A record as JSON; what is not a number becomes null."""
    return pydantic_core.to_json(record, inf_nan_mode="null")


def decoded(data: bytes) -> dict[str, Any]:
    """A record from JSON.

    Raises:
        ValueError: where it is none.
    """
    found = pydantic_core.from_json(data)
    if not isinstance(found, dict):
        raise ValueError("expected an object")
    return cast("dict[str, Any]", found)


def folder_of(cache: bool | str | Path) -> Path | None:
    """The folder that a caller means: the default one, one by name, or none."""
    if isinstance(cache, bool):
        return default_folder() / "runs" if cache else None
    if not isinstance(cache, str | os.PathLike) or "\0" in str(cache):
        raise refused("cache", cache, "True, False, or a folder")
    folder = Path(cache)
    if exists(folder) and not isdir(folder):
        raise StorageError(f"{folder}: is no folder; expected one to keep finished runs in")
    return folder
