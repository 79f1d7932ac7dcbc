"""What a reader types to make a page's runs again. The pages are made in ``page.py``."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailback.custom.registry import Key, Part
    from tailback.results import Result
    from tailback.scenario import Scenario


def run_command(file: str | Path, seed: int, scenarios: Iterable[Scenario | None]) -> str:
    """The command that runs one of some scenarios, written to a file.

    Custom parts come with ``--custom`` and the file that defines them, as far as this process knows it; a
    class typed into a session has none, and stands there as a gap for the reader to fill.
    """
    parts = [part for scenario in scenarios if scenario for part in scenario.parts_named().items()]
    custom = [word for path in dict.fromkeys(_file_of(*part) for part in parts) for word in ("--custom", path)]
    return shlex.join(["tailback", "run", str(file), *custom, "--seed", str(seed)])


def result_command(result: Result, file: str | Path) -> str:
    """The command that makes one run again, with its scenario written to a file; nothing where this takes two hosts, or it is
    not known what was typed."""
    made = result.real.get("made", {})
    if not result.real:
        return run_command(file, result.seed, [result.scenario])
    if made.get("command") == "shell":
        return shlex.join(made["typed"])
    if made.get("command") != "lab":
        return ""
    words = run_command(file, result.seed, [result.scenario]).replace("tailback run", "tailback lab", 1)
    changes = [
        word
        for place, flow in enumerate(result.scenario.to_dict()["flows"])
        if flow.get("name") in made["kernel"]
        for word in ("--set", f"flows[{place}].scheme=kernel-{made['kernel'][flow['name']]}")
    ]
    return shlex.join([*shlex.split(words), *changes, "--budget", made["budget"]])


def _file_of(key: Key, part: Part | None) -> str:
    try:
        found = inspect.getsourcefile(part) if part is not None else None
    except TypeError:
        found = None
    return Path(found).name if found else f"THE-FILE-OF-{key[1]}.py"
