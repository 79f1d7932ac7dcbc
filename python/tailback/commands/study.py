"""``tailback report``: the page about a saved result or sweep."""

from __future__ import annotations

from pathlib import Path

import typer


def write_report(folder: Path, out: Path | None, *, trust: bool = False) -> None:
    """Writes the report of what is in a folder, by default into ``report`` in it.

    Raises:
        StorageError: where nothing of ours is there, or writing fails.
    """
    from tailback.report.sweep import write_result_report, write_sweep_report
    from tailback.saved import load
    from tailback.sweeps import Runs

    found = load(folder, trust=trust)
    target = out if out is not None else folder / "report"
    match found:
        case Runs():
            page = write_sweep_report(found, target, folder)
        case _:
            page = write_result_report(found, target, folder)
    typer.echo(str(page))
