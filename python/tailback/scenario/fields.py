"""Fields of a scenario by their names: ``topology.buffer``, ``flows[0].scheme.beta``, or just ``buffer`` where that is
enough. Changing data lives here; whether the change makes sense is checked where the scenario is made again."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from tailback.errors import Problem, ScenarioError, nearest
from tailback.scenario import _models
from tailback.scenario._base import Part, plain

_STEP = re.compile(r"([A-Za-z_][\w-]*)((?:\[\d+\])*)")
_TOP = set(_models.Scenario.model_fields)
_RECORD = set(_models.Record.model_fields)
_FLOW = {field.alias or name for name, field in _models.Flow.model_fields.items()}


def with_fields(data: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a scenario's data with some fields changed.

    A name's first part is looked for among the scenario's own fields, then among those of its topology, of its flows
    (of all groups) and of its record. ``flows.scheme`` without a number means every group. Another ``file`` leaves the digest of
    the earlier one behind.

    Raises:
        ScenarioError: for names that lead nowhere, all at once, each with the nearest that does.
    """
    changed: dict[str, Any] = copy.deepcopy(dict(data))
    problems: list[Problem] = []
    # Files first: a digest beside one is that of the new file.
    for name, value in sorted(changes.items(), key=lambda change: change[0].endswith(".digest")):
        try:
            _set(changed, _steps(name, changed), plain(value, (name,)), name)
        except ScenarioError as error:
            problems += error.problems
    if problems:
        raise ScenarioError(problems)
    return changed


def place_of(name: str, data: Mapping[str, Any]) -> tuple[str | int, ...]:
    """Where a field stands in a scenario, step by step, which is the same for all its names.

    Raises:
        ScenarioError: for a name whose first part leads nowhere.
    """
    return tuple(_steps(name, data))


def _steps(name: str, data: Mapping[str, Any]) -> list[str | int]:
    steps: list[str | int] = []
    for part in name.split("."):
        match = _STEP.fullmatch(part)
        if match is None:
            raise _unknown(name, name, "a field such as buffer, topology.rate or flows[0].scheme")
        # Python's own words cannot be keyword arguments: from_ says from.
        steps.append(match[1].removesuffix("_"))
        steps += [int(index) for index in re.findall(r"\d+", match[2])]
    first = str(steps[0])
    if first in _TOP:
        return steps
    topology = _topology_fields(data)
    for home, fields in (("topology", topology), ("flows", _FLOW), ("record", _RECORD)):
        if first in fields:
            return [home, *steps]
    raise _unknown(name, first, _allowed(first, topology))


def _allowed(first: str, topology: set[str]) -> str:
    """What is allowed in place of a first part that leads nowhere: what is most like it, or else the scenario's own fields.
    All names of all levels would be more than anybody reads."""
    near = nearest(first, sorted(_TOP | topology | _FLOW | _RECORD))
    if near is not None:
        return f"a field that there is (did you mean {near}?)"
    return f"one of {', '.join(sorted(_TOP))}, or a field of the topology, of flows or of record"


def _topology_fields(data: Mapping[str, Any]) -> set[str]:
    template = (data.get("topology") or {}).get("template", "dumbbell")
    for member in _members():
        if member.model_fields["template"].default == template:
            return {field.alias or name for name, field in member.model_fields.items()}
    return set()


def _members() -> tuple[type[Part], ...]:
    return (_models.Dumbbell, _models.ParkingLot, _models.Star, _models.Home, _models.Graph)


def _set(here: Any, steps: list[str | int], value: Any, name: str) -> None:
    step, rest = steps[0], steps[1:]
    if isinstance(here, list):
        if isinstance(step, str):
            for entry in here:
                _set(entry, steps, value, name)
            return
        if step >= len(here):
            allowed = {0: "an entry to change; there is none", 1: "0: there is one entry alone"}
            raise _unknown(
                name, f"[{step}]", allowed.get(len(here), f"one of 0 to {len(here) - 1}: there are {len(here)}")
            )
    elif not isinstance(here, dict) or isinstance(step, int):
        raise _unknown(name, str(step), "a field of a table; this is a single value")
    if not rest:
        here[step] = value
        if step == "file" and isinstance(here, dict):
            here.pop("digest", None)  # Which loading found in the file that was named before.
        return
    if isinstance(here, dict):
        inner = here.get(str(step))
        if isinstance(inner, str):  # The bare name of a choice, which is short for a table.
            inner = {"name": inner}
        here[step] = {} if inner is None else inner
    _set(here[step], rest, value, name)


def _unknown(field: str, value: str, allowed: str) -> ScenarioError:
    return ScenarioError([Problem(field, value if value != field else "an unknown field", allowed)])
