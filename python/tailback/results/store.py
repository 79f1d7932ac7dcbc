"""Results in folders: Parquet tables, and a JSON file that says what they are, readable without this package."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.errors import StorageError
from tailback.paths import isfile
from tailback.results import checksums, files, tables
from tailback.results.files import new_folder, read_about
from tailback.results.places import as_written, written
from tailback.results.result import Result

ABOUT = "result.json"
FORMAT = 1
"""Raised when a reader of older folders would misunderstand newer ones."""
_OPTIONAL = {"packets", "aggregates", "aggregate_series"}
"""Tables that most runs do not have."""
_PLAIN = ("seed", "hash", "duration", "warm_up", "bin", "events", "wall")


def save(result: Result, folder: Path, *, csv: bool = True, also: Callable[[Path], object] | None = None) -> Path:
    """Writes a result; ``also`` may put further files beside it, figures for example.

    Raises:
        StorageError: where that fails; nothing half-written is left and an older result is untouched.
    """
    about = {
        "format": FORMAT,
        "checksums": checksums.FILE,
        "what": "a result of tailback; tables are Parquet files, columns have the units given here",
        **{name: getattr(result, name) for name in _PLAIN},
        "versions": dict(result.versions),
        "units": {name: tables.units_of(getattr(result, name), result.units) for name in Result.TABLES},
        "scenario": result.scenario_data,
        **({"real": dict(result.real)} if result.real else {}),
    }
    with new_folder(folder, mine=_is_result) as beside:
        (beside / ABOUT).write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        (beside / "scenario.toml").write_text(_as_toml(result), encoding="utf-8")
        for name in Result.TABLES:
            table = getattr(result, name)
            if name in _OPTIONAL and table.is_empty():
                continue
            tables.write_parquet(table, beside / f"{name}.parquet", result.units)
            if csv and name in {"flows", "links", "aggregates"}:
                tables.write_csv(table, beside / f"{name}.csv")
        checksums.write(beside)  # Figures may be drawn again and look otherwise: they are no measurement.
        if also:
            also(beside)
    return folder


def expect_room(folder: Path) -> None:
    """Refuses a folder in which :func:`save` would fail, before there is a result to lose.

    Raises:
        StorageError: as :func:`save`.
    """
    files.expect_room(folder, mine=_is_result)


def _is_result(folder: Path) -> bool:
    return isfile(folder / ABOUT)


def same(result: Result) -> Callable[[Path], bool]:
    """Whether a folder holds a result of the same scenario and seed."""

    def is_same(folder: Path) -> bool:
        about = written(folder, ABOUT)
        mine = (as_written(result.scenario_data), result.seed, bool(result.real))
        return mine == (about.get("scenario"), about.get("seed"), bool(about.get("real")))

    return is_same


def _as_toml(result: Result) -> str:
    """The scenario as a file. Made of plain data: the types of scenarios take longer to make than most runs."""
    from tailback.scenario.toml import ORDER, dumps

    data = json.loads(_core.lean(json.dumps(result.scenario_data)))
    return dumps({name: data[name] for name in sorted(data, key=ORDER.index)})


def load(folder: Path, *, trust: bool = False) -> Result:
    """Reads what :func:`save` wrote; with ``trust`` also what has changed since.

    Raises:
        StorageError: where there is no result, or it is damaged or of a newer kind.
    """
    about = read_about(folder, ABOUT, "result", FORMAT, trust=trust)
    found: dict[str, Any] = {}
    units: dict[str, str] = {}
    for name in Result.TABLES:
        if name in _OPTIONAL and not (folder / f"{name}.parquet").exists():
            continue
        found[name], known = tables.read_parquet(folder / f"{name}.parquet")
        units.update(known)
    try:
        plain = {name: about[name] for name in _PLAIN}
        said = {"scenario_data": about["scenario"], "versions": about["versions"], "real": about.get("real", {})}
        return Result(**plain, **said, units=units, **found)
    except KeyError as error:
        raise StorageError(f"{folder}: {ABOUT} lacks {error}; expected a whole result") from error
