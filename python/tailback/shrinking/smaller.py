"""What is smaller than a scenario by one step, most first. Which of it still shows what is looked for is decided by
``search.py``."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from tailback import units

Data = dict[str, Any]

_NEEDED = {"duration", "topology", "flows", "template", "scheme", "name", "from", "to"}
"""Fields that stay: nothing would be said without them, or something else."""
_PLAIN = {"scheme": "reno", "queue": "drop-tail", "source": "bulk"}
"""The simplest of each choice."""
_SHORTEST = 0.01
"""Seconds below which no run is cut any shorter."""


def smaller(data: Mapping[str, Any]) -> Iterator[Data]:
    """Scenarios as plain data, each with one thing less; many make no sense."""
    yield from _without_entries(data)
    yield from _shorter(data)
    yield from _fewer(data)
    yield from _without_fields(data, data, ())
    yield from _plainer(data, data, ())


def _changed(data: Mapping[str, Any], path: tuple[Any, ...], value: Any) -> Data:
    made = copy.deepcopy(dict(data))
    _at(made, path[:-1])[path[-1]] = value
    return made


def _at(data: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        data = data[step]
    return data


def _without_entries(data: Mapping[str, Any]) -> Iterator[Data]:
    """With half of a list, then without each entry: groups of flows, aggregates, links."""
    lists: list[tuple[Any, ...]] = [("flows",), ("aggregates",), ("topology", "links")]
    for path in lists:
        try:
            entries = _at(data, path)
        except KeyError:
            continue
        if len(entries) > 2:
            half = len(entries) // 2
            yield _changed(data, path, entries[:half])
            yield _changed(data, path, entries[half:])
        for place in range(len(entries) - 1, -1, -1):
            yield _changed(data, path, [*entries[:place], *entries[place + 1 :]])


def _shorter(data: Mapping[str, Any]) -> Iterator[Data]:
    seconds = units.number(data["duration"])
    for share in (0.1, 0.5, 0.8):
        if seconds * share >= _SHORTEST:
            yield _changed(data, ("duration",), units.time(round(seconds * share, 3)))


def _fewer(data: Mapping[str, Any]) -> Iterator[Data]:
    """With fewer flows in a group, or fewer hops and hosts."""
    counts: list[tuple[Any, ...]] = [("flows", place, "count") for place in range(len(data["flows"]))]
    for path in (*counts, ("topology", "hops"), ("topology", "hosts")):
        try:
            count = _at(data, path)
        except KeyError:
            continue
        for less in dict.fromkeys((1, count // 2, count - 1)):
            if 0 < less < count:
                yield _changed(data, path, less)


def _without_fields(whole: Mapping[str, Any], here: Any, path: tuple[Any, ...]) -> Iterator[Data]:
    """Without a field, so that its default holds; outer ones first."""
    entries = _entries(here)
    for key, _ in entries:
        if isinstance(here, Mapping) and key not in _NEEDED:
            made = copy.deepcopy(dict(whole))
            del _at(made, path)[key]
            yield made
    for key, value in entries:
        yield from _without_fields(whole, value, (*path, key))


def _plainer(whole: Mapping[str, Any], here: Any, path: tuple[Any, ...]) -> Iterator[Data]:
    """With the simplest scheme, queue or source in place of another; a table of parameters becomes its name."""
    for key, value in _entries(here):
        if isinstance(value, Mapping) and set(value) == {"name"}:
            yield _changed(whole, (*path, key), value["name"])
        plain = _PLAIN.get(str(key))
        if plain is not None and value not in (plain, {"name": plain}):
            yield _changed(whole, (*path, key), plain)
        yield from _plainer(whole, value, (*path, key))


def _entries(here: Any) -> list[tuple[Any, Any]]:
    """What a table or a list consists of, by key or place."""
    return list(here.items() if isinstance(here, Mapping) else enumerate(here) if isinstance(here, list) else ())
