"""Sending custom parts to other processes, with the runs that name them. Which code decides what a part does is found out in
``code.py``."""

from __future__ import annotations

import importlib
import json
import pickle
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tailback import nested
from tailback.custom.code import digest_of, modules_of
from tailback.custom.registry import Key, Part, explained, key_of, part_of, register
from tailback.errors import PartError

_RECEIVED: dict[Key, str] = {}
"""The digests of parts that came from elsewhere, by what they are called."""
_LOADED: dict[str, str] = {}
"""The digests of the files that their modules had when these were loaded here, by the modules' names."""
_SWEPT: dict[Key, str] = {}
"""The digests of parts whose modules begin a sweep. They are not imported again: some make a cluster for it, each time."""


@dataclass(frozen=True)
class Shipped:
    """A part on its way to another process."""

    key: Key
    """What scenarios name it by."""
    pickled: bytes
    """The class: by reference where its module can be imported there, by value otherwise."""
    digest: str
    """Of its code: other code gives other runs."""
    modules: Mapping[str, str]
    """The modules of its code, and a digest of each one's file."""


def tables_in(data: Any) -> list[Mapping[str, Any]]:
    """The tables of a scenario's data that name custom parts."""
    return [table for _, table in _tables(data, "queue")]


def named_in(data: Any, at: Literal["queue", "scheme"] = "queue") -> set[Key]:
    """The parts that a scenario's data names; of other data, ``at`` says what it is where nothing in it does."""
    return set(keys_in(data, at))


def keys_in(data: Any, at: Literal["queue", "scheme"] = "queue") -> list[Key]:
    """The same in their order, each once."""
    return list(dict.fromkeys((place, str(table["part"])) for place, table in _tables(data, at)))


def _tables(
    data: Any, at: Literal["queue", "scheme"]
) -> Iterator[tuple[Literal["queue", "scheme"], Mapping[str, Any]]]:
    if isinstance(data, Mapping):
        if data.get("name") == "custom" and "part" in data:
            yield at, data
        for name, value in data.items():  # Whatever is within a scheme is one too; all others are queues.
            yield from _tables(value, "scheme" if name == "scheme" else at)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from _tables(value, at)


def digest(names: set[Key]) -> str:
    """Of the named parts' code: other code gives other runs."""
    return " ".join(f"{key_of(part)[1]} {digest_of(part)}" for part in _known(names))


def ship(names: set[Key]) -> tuple[Shipped, ...]:
    """The named parts for another process."""
    made = [(part, modules_of(part)) for part in _known(names)]
    return tuple(Shipped(key_of(part), _pickled(part), digest_of(part, modules), modules) for part, modules in made)


def receive(parts: tuple[Shipped, ...]) -> None:
    """Registers parts that came from another process, unless they are known here.

    Raises:
        NestedSweepError: where the module of one begins a sweep as it is imported.
        PartError: where one cannot be made again here.
    """
    for part in parts:
        if _RECEIVED.get(part.key) == part.digest:
            continue
        known = part_of(part.key)
        if known is None or digest_of(known) != part.digest:
            _forget_older(part.modules)
            _make_again(part)
            _LOADED.update(part.modules)
        _RECEIVED[part.key] = part.digest


def _make_again(part: Shipped) -> None:
    if _SWEPT.get(part.key) == part.digest:
        raise nested.NestedSweepError
    try:
        with nested.receiving():
            register(pickle.loads(part.pickled))
    except nested.NestedSweepError:
        _SWEPT[part.key] = part.digest
        raise
    except Exception as error:
        raise PartError(
            f"{part.key[1]}: cannot be made again in another process, which imports its module (what makes a cluster or "
            f'processes there belongs below `if __name__ == "__main__":`): {explained(error)}'
        ) from error


def _forget_older(modules: Mapping[str, str]) -> None:
    """Lets modules be imported anew where a file of theirs has changed since an earlier part brought it here."""
    if any(_LOADED.get(name, digest) != digest for name, digest in modules.items()):
        for name in modules.keys() - {"__main__"}:
            sys.modules.pop(name, None)


def pack(scenario: str) -> bytes:
    """The parts that a scenario names, written as JSON, for a process that is no worker of this one."""
    return pickle.dumps((sys.path, ship(named_in(json.loads(scenario)))))


def unpack(packed: bytes) -> None:
    """Registers the parts of :func:`pack`.

    Raises:
        NestedSweepError, PartError: as :func:`receive`.
    """
    path, parts = pickle.loads(packed)
    if parts:  # Behind this process's own, where nothing takes the place of what it needs itself.
        sys.path += [folder for folder in path if folder not in sys.path]
    receive(parts)


def _known(names: set[Key]) -> list[Part]:
    return [part for key in sorted(names, key=lambda key: (key[1], key[0])) if (part := part_of(key)) is not None]


def _pickled(part: Part) -> bytes:
    # Other processes do not run our main script, nor have they what was typed into a notebook.
    if part.__module__ != "__main__" and "<locals>" not in part.__qualname__:
        try:
            importlib.import_module(part.__module__)
            return pickle.dumps(part)
        except (ImportError, pickle.PicklingError):
            pass
    import cloudpickle

    by_value: bytes = cloudpickle.dumps(part)
    return by_value
