"""Sweeps in folders: Parquet tables, the scenarios, and a JSON file that says what they are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tailback.errors import ScenarioError, StorageError
from tailback.paths import isfile
from tailback.results import checksums, files, tables
from tailback.results.files import new_folder, read_about
from tailback.results.places import written
from tailback.results.units import UNITS
from tailback.scenario import Scenario
from tailback.scenario.problems import from_pydantic
from tailback.sweeps.design import Variant
from tailback.sweeps.runs import Runs

ABOUT = "sweep.json"
FORMAT = 1
_FILES = {"table": "runs", "flows": "flows", "links": "links"}


def save(runs: Runs, folder: Path, *, csv: bool = True, also: Callable[[Path], object] | None = None) -> Path:
    """Writes the runs of a sweep; ``also`` may put further files beside them, a report for example.

    Raises:
        StorageError: where that fails; nothing half-written is left and an older sweep is untouched.
    """
    about = {
        "format": FORMAT,
        "plan": plan(runs),
        "checksums": checksums.FILE,
        "what": "a sweep of tailback; tables are Parquet files, columns have the units given here",
        "versions": dict(runs.versions),
        "command": runs.command,
        "units": {name: tables.units_of(getattr(runs, name), runs.units) for name in Runs.TABLES},
        "variants": _variants(runs),
    }
    with new_folder(folder, mine=_is_sweep) as beside:
        (beside / ABOUT).write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        for name in Runs.TABLES:
            table = getattr(runs, name)
            tables.write_parquet(table, beside / f"{_FILES[name]}.parquet", runs.units)
            if csv and name == "table":
                tables.write_csv(table, beside / "runs.csv")
        checksums.write(beside)
        if also:
            also(beside)
    return folder


def expect_room(folder: Path) -> None:
    """Refuses a folder in which :func:`save` would fail, before there is a sweep to lose.

    Raises:
        StorageError: as :func:`save`.
    """
    files.expect_room(folder, mine=_is_sweep)


def _is_sweep(folder: Path) -> bool:
    return isfile(folder / ABOUT)


def _variants(runs: Runs) -> list[dict[str, Any]]:
    return [
        {
            "labels": dict(variant.labels),
            "scenario": variant.scenario.to_dict() if variant.scenario is not None else None,
            "error": variant.error,
        }
        for variant in runs.variants
    ]


def plan(runs: Runs) -> str:
    """A digest of which scenarios were run with which seeds, whatever came of it."""
    seeds = runs.table.select("variant", "seed").rows()
    scenarios = [{name: entry[name] for name in ("labels", "scenario")} for entry in _variants(runs)]
    text = json.dumps([scenarios, seeds], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def same(runs: Runs) -> Callable[[Path], bool]:
    """Whether a folder holds a sweep of the same scenarios and seeds."""
    return lambda folder: written(folder, ABOUT).get("plan") == plan(runs)


def load(folder: Path, *, trust: bool = False) -> Runs:
    """Reads what :func:`save` wrote; with ``trust`` also what has changed since.

    Raises:
        StorageError: where there is no sweep, or it is damaged or of a newer kind.
    """
    about = read_about(folder, ABOUT, "sweep", FORMAT, trust=trust)
    try:
        variants = [_variant(**entry) for entry in about["variants"]]
        versions, command = about["versions"], about["command"]
    except (KeyError, TypeError) as error:
        raise StorageError(f"{folder}: {ABOUT} is damaged ({error}); expected a whole sweep") from error
    found = {name: tables.read_parquet(folder / f"{_FILES[name]}.parquet")[0] for name in Runs.TABLES}
    told = about.get("units", {}).get("table", {})
    own = {name: unit for name, unit in told.items() if name not in UNITS and name in found["table"].columns}
    return Runs(variants=variants, versions=versions, command=command, own_units=own, **found)


def _variant(labels: dict[str, Any], scenario: dict[str, Any] | None, error: str) -> Variant:
    try:
        return Variant(labels, Scenario.model_validate(scenario) if scenario else None, error)
    except ValidationError as wrong:
        # Fields come and go over the years; what was measured is there all the same.
        told = ScenarioError(from_pydantic(wrong), "its scenario is not one of this version")
        return Variant(labels, None, str(told))
