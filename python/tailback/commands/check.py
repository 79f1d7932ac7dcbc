"""``tailback validate``: whether scenarios make sense."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer

from tailback.errors import TailbackError
from tailback.units import counted


def check_files(files: Sequence[Path], *, as_json: bool = False) -> int:
    """Checks each file; 1 where one of them is not fit to run."""
    from tailback.scenario import Scenario

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
            found = {"file": str(file), "fine": True, "flows": count, "duration": str(scenario.duration)}
            said = f"{file}: fine, {counted(count, 'flow')} for {scenario.duration}"
            typer.echo(json.dumps(found, ensure_ascii=False) if as_json else said)
    return status
