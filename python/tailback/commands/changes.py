"""Changes to a scenario as a command line writes them: ``--set FIELD=VALUE``."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback.commands.custom import scheme_of
from tailback.errors import Problem, ScenarioError

if TYPE_CHECKING:
    from tailback.scenario import Scenario


_ONE = "one value; for several, sweep with --over"


def read_changed(file: Path, texts: Sequence[str], *, one_of_many: bool = False) -> Scenario:
    """The scenario in a file with the changes of a command line, which may also mend a file that is none without them.

    Args:
        file: where it is.
        texts: the changes.
        one_of_many: whether other files get the same changes, so that what is wrong names the file.

    Raises:
        ScenarioError: for text without a field, names that lead nowhere, and everything that is wrong with what comes out.
        StorageError: where there is no such file.
    """
    from tailback.scenario import Scenario
    from tailback.scenario.fields import with_fields

    try:
        scenario = Scenario.from_toml(file)
    except ScenarioError:
        written = _written(file) if texts else None
        if written is None:
            raise
        changes = changes_of(texts)
        check_once(changes, written)
        return Scenario.of(with_fields(written, changes), f"{file} with --set")
    return changed(scenario, texts, f"{file} with --set" if one_of_many else "--set")


def _written(file: Path) -> dict[str, Any] | None:
    """A scenario file as it is written, with paths that hold anywhere; nothing where it is no table."""
    try:
        text = file.read_text(encoding="utf-8")
        data = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError):
        return None
    return _with_paths(data, file.absolute().parent) if isinstance(data, dict) else None


def _with_paths(data: Any, folder: Path) -> Any:
    """The same with traces and replays, which are relative to the scenario's file, by absolute paths."""
    if isinstance(data, dict):
        return {
            key: str(folder / value) if key == "file" and isinstance(value, str) else _with_paths(value, folder)
            for key, value in data.items()
        }
    return [_with_paths(entry, folder) for entry in data] if isinstance(data, list) else data


def changed(scenario: Scenario, texts: Sequence[str], source: str = "--set") -> Scenario:
    """A scenario with the changes of a command line; what is wrong with them is told of ``source``.

    Raises:
        ScenarioError: for text without a field, names that lead nowhere, fields that are given twice, and values that are not
            allowed.
    """
    if not texts:
        return scenario
    changes = changes_of(texts)
    try:
        check_once(changes, scenario.to_dict())
        return scenario.replace(**changes)
    except ScenarioError as error:
        raise ScenarioError(error.problems, source) from None


def changes_of(texts: Sequence[str]) -> dict[str, Any]:
    """The changes of a command line, by field.

    Raises:
        ScenarioError: for text without a field, and for a field that is named twice.
    """
    from tailback.scenario.texts import from_text

    changes: dict[str, Any] = {}
    for text in texts:
        field, sign, value = text.partition("=")
        if not sign or not field.strip():
            raise ScenarioError([Problem("the change", repr(text), "FIELD=VALUE, as in buffer='25 packets'")], "--set")
        if field.strip() in changes:
            raise ScenarioError([Problem(field.strip(), "a second --set of it", _ONE)], "--set")
        names_a_scheme = field.strip().split(".")[-1] == "scheme"
        changes[field.strip()] = (scheme_of if names_a_scheme else from_text)(value.strip())
    return changes


def check_once(changes: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    """Refuses a change that would undo an earlier one, by whatever names (``buffer``, ``topology.buffer``).

    Raises:
        ScenarioError: for the first such change.
    """
    from tailback.scenario.fields import place_of

    before: dict[str, tuple[str | int, ...]] = {}
    for field in changes:
        try:
            place = place_of(field, data)
        except ScenarioError:
            continue  # A name that leads nowhere is told with all others of its kind.
        for name, earlier in before.items():
            if earlier == place:
                raise ScenarioError([Problem(field, f"what --set {name} gives, too,", _ONE)], "--set")
            if _covers(place, earlier):
                raise ScenarioError(
                    [Problem(field, f"a --set behind {name}, which it would undo,", f"it before {name}")], "--set"
                )
        before[field] = place


def _covers(place: Sequence[str | int], other: Sequence[str | int]) -> bool:
    """Whether what stands at ``place`` holds all of what stands at ``other``: a table its fields, a list its entries."""
    if not place:
        return True
    if not other:
        return False
    if place[0] == other[0]:
        return _covers(place[1:], other[1:])
    # flows.scheme is that of every group: of flows[0] as well.
    return isinstance(other[0], int) and isinstance(place[0], str) and _covers(place, other[1:])
