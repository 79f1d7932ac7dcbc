"""``tailback validate``: whether scenarios make sense."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from tailback.errors import TailbackError
from tailback.units import counted


def check_files(files: Sequence[Path], *, as_json: bool = False) -> int:
    """Checks each file; 1 where one of them is not fit to run."""
    from tailback.scenario import Scenario
    from tailback.scenario.far_hosts import far_hosts

    status = 0
    for file in files:
        try:
            scenario = Scenario.from_toml(file)
        except TailbackError as error:
            status = 1
            if as_json:
                typer.echo(json.dumps({"file": str(file), "fine": False, "error": str(error)}, ensure_ascii=False))
            else:
                typer.echo(str(error), err=True)
        else:
            count = sum(group.count for group in scenario.flows)
            found: dict[str, Any] = {
                "file": str(file),
                "fine": True,
                "flows": count,
                "duration": str(scenario.duration),
            }
            warnings = far_hosts(scenario.to_dict())
            if warnings:
                found["warnings"] = warnings
            said = f"{file}: fine, {counted(count, 'flow')} for {scenario.duration}"
            typer.echo(json.dumps(found, ensure_ascii=False) if as_json else said)
            if not as_json:
                for warning in warnings:
                    typer.echo(f"{file}: warning: {warning}", err=True)
    return status
