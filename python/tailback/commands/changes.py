"""Changes to a scenario as a command line writes them: ``--set FIELD=VALUE``."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback.commands.custom import scheme_of
from tailback.errors import Problem, ScenarioError

if TYPE_CHECKING:
    from tailback.scenario import Scenario


def read_changed(file: Path, texts: Sequence[str]) -> Scenario:
    """The scenario in a file with the changes of a command line, which may also mend a file that is none without them.

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
        return Scenario.of(with_fields(written, changes_of(texts)), f"{file} with --set")
    return changed(scenario, texts)


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


def changed(scenario: Scenario, texts: Sequence[str]) -> Scenario:
    """A scenario with the changes of a command line.

    Raises:
        ScenarioError: for text without a field, names that lead nowhere, and values that are not allowed.
    """
    if not texts:
        return scenario
    changes = changes_of(texts)
    try:
        return scenario.replace(**changes)
    except ScenarioError as error:
        raise ScenarioError(error.problems, "--set") from None


def changes_of(texts: Sequence[str]) -> dict[str, Any]:
    """The changes of a command line, by field.

    Raises:
        ScenarioError: for text without a field.
    """
    from tailback.scenario.fields import from_text

    changes = {}
    for text in texts:
        field, sign, value = text.partition("=")
        if not sign:
            raise ScenarioError([Problem("the change", repr(text), "FIELD=VALUE, as in buffer='25 packets'")], "--set")
        names_a_scheme = field.strip().split(".")[-1] == "scheme"
        changes[field.strip()] = (scheme_of if names_a_scheme else from_text)(value.strip())
    return changes
