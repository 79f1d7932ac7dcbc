"""``tailback validate``: whether scenarios make sense."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from tailback.errors import TailbackError


def check_files(files: Sequence[Path]) -> int:
    """Checks each file; 1 where one of them is not fit to run."""
    from tailback.scenario import Scenario

    status = 0
    for file in files:
        try:
            scenario = Scenario.from_toml(file)
        except TailbackError as error:
            typer.echo(str(error), err=True)
            status = 1
        else:
            count = sum(group.count for group in scenario.flows)
            typer.echo(f"{file}: fine, {count} flow{'s' if count != 1 else ''} for {scenario.duration}")
    return status
