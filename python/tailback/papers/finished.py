"""Items that were finished before, kept beside their figures, so that a reproduction that was stopped goes on where it was.
A record is sealed as a sweep's runs are (``sweeps/cache.py``); running items is the business of ``reproduce.py``."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from tailback.errors import StorageError
from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter, Refutation
from tailback.papers.ledger import Claim
from tailback.plain import plain
from tailback.results.files import write_file
from tailback.results.tables import read_parquet
from tailback.sweeps.cache import engine, opened, sealed

_LIBRARIES = ("numpy", "polars", "scipy")
"""Those that have a say in the numbers."""
_CODE = (".py", ".toml", ".csv")
"""Files of the package that have one: code, the ledger, what is compared with."""


@dataclass(frozen=True)
class Finished:
    """What is known of an item that was finished before."""

    wall_s: float
    runs: int
    parameters: tuple[Parameter, ...]
    outcome: Outcome


def record_of(data: Path) -> Path:
    """Where the record of an item lies, beside its table."""
    return data.with_suffix(".json")


def keep(claim: Claim, fidelity: Fidelity, finished: Finished, data: Path) -> None:
    """Keeps what an item measured; its table is already in ``data``.

    Raises:
        StorageError: where that fails.
    """
    outcome = finished.outcome
    told = {
        "wall_s": finished.wall_s,
        "runs": finished.runs,
        "parameters": [asdict(parameter) for parameter in finished.parameters],
        "measured": outcome.measured,
        "checks": _told(outcome.checks),
        "units": outcome.units,
        "why": outcome.why,
        "scenario": outcome.scenario,
        "notes": list(outcome.notes),
        "changed": outcome.changed and {"why": outcome.changed.why, "checks": _told(outcome.changed.checks)},
        "refutation": outcome.refutation
        and {"proof": outcome.refutation.proof, "checks": _told(outcome.refutation.checks)},
        "table": _digest(data),
    }
    text = sealed(_key(claim, fidelity), plain(told))
    write_file(record_of(data), lambda path: path.write_bytes(text))


def kept(claim: Claim, fidelity: Fidelity, data: Path) -> Finished | None:
    """What was kept of an item; nothing where it was made by other code, at another length, or has changed since."""
    try:
        record = opened(_key(claim, fidelity), record_of(data).read_bytes())
        if record is None or record["table"] != _digest(data):
            return None
        table, _ = read_parquet(data)
    except (OSError, StorageError):
        return None
    changed, refutation = record["changed"], record["refutation"]
    outcome = Outcome(
        measured=record["measured"],
        checks=_checks(record),
        data=table,
        units=record["units"],
        why=record["why"],
        scenario=record["scenario"],
        notes=tuple(record["notes"]),
        changed=ChangedTest(_checks(changed), changed["why"]) if changed else None,
        refutation=Refutation(refutation["proof"], _checks(refutation)) if refutation else None,
    )
    parameters = tuple(Parameter(**parameter) for parameter in record["parameters"])
    return Finished(record["wall_s"], record["runs"], parameters, outcome)


def _told(checks: Any) -> list[dict[str, Any]]:
    return [asdict(check) for check in checks]


def _checks(record: Mapping[str, Any]) -> tuple[Check, ...]:
    return tuple(Check(**check) for check in record["checks"])


def _key(claim: Claim, fidelity: Fidelity) -> str:
    """Everything that decides an item's outcome: which one, how long and with how many seeds, the engine, and the code."""
    said = f"{claim.id} {fidelity} {engine()} {_code()}"
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()


@lru_cache(maxsize=1)
def _code() -> str:
    """A digest of the package's own code and of the libraries that compute for it."""
    digest = hashlib.blake2b(digest_size=16)
    root = Path(str(resources.files("tailback")))
    for path in sorted(path for path in root.rglob("*") if path.suffix in _CODE):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.blake2b(path.read_bytes()).digest())
    found = [platform.python_version(), *(_version(name) for name in _LIBRARIES)]
    digest.update(" ".join(found).encode())
    return digest.hexdigest()


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"


def _digest(data: Path) -> str:
    return hashlib.blake2b(data.read_bytes(), digest_size=16).hexdigest()
