"""Sweeps in folders: Parquet tables, the scenarios, and a JSON file that says what they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tailback.errors import StorageError
from tailback.results import tables
from tailback.results.files import new_folder
from tailback.scenario import Scenario
from tailback.sweeps.design import Variant
from tailback.sweeps.runs import TABLES, Runs

ABOUT = "sweep.json"
FORMAT = 1
_FILES = {"table": "runs", "flows": "flows", "links": "links"}


def save(runs: Runs, folder: Path, *, csv: bool = True) -> Path:
    """Writes the runs of a sweep.

    Raises:
        StorageError: where that fails; nothing half-written is left and an older sweep is untouched.
    """
    about = {
        "format": FORMAT,
        "what": "a sweep of tailback; tables are Parquet files, columns have the units given here",
        "versions": dict(runs.versions),
        "command": runs.command,
        "units": {name: tables.units_of(getattr(runs, name), runs.units) for name in TABLES},
        "variants": [
            {
                "labels": dict(variant.labels),
                "scenario": variant.scenario.to_dict() if variant.scenario is not None else None,
                "error": variant.error,
            }
            for variant in runs.variants
        ],
    }
    with new_folder(folder, mine=lambda path: (path / ABOUT).is_file()) as beside:
        (beside / ABOUT).write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        for name in TABLES:
            table = getattr(runs, name)
            tables.write_parquet(table, beside / f"{_FILES[name]}.parquet", runs.units)
            if csv and name == "table":
                tables.write_csv(table, beside / "runs.csv")
    return folder


def load(folder: Path) -> Runs:
    """Reads what :func:`save` wrote.

    Raises:
        StorageError: where there is no sweep, or it is damaged or of a newer kind.
    """
    try:
        about: dict[str, Any] = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(f"{folder}: holds no sweep of ours; expected {ABOUT} and Parquet tables") from error
    if about.get("format", 0) > FORMAT:
        raise StorageError(
            f"{folder}: was written by a newer version (format {about['format']}, this one reads {FORMAT})"
        )
    variants = [
        Variant(
            entry["labels"], Scenario.model_validate(entry["scenario"]) if entry["scenario"] else None, entry["error"]
        )
        for entry in about["variants"]
    ]
    found = {name: tables.read_parquet(folder / f"{_FILES[name]}.parquet")[0] for name in TABLES}
    return Runs(variants=variants, versions=about["versions"], command=about["command"], **found)
