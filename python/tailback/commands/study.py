"""``tailback report``: the page about a saved result or sweep."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import typer

from tailback.commands.quick import draws
from tailback.errors import refused
from tailback.paths import isdir
from tailback.progress import told


def write_report(folder: Path, out: Path | None, *, cells: Mapping[str, str | None], trust: bool = False) -> None:
    """Writes the report of what is in a folder, by default into ``report`` in it.

    Args:
        folder: what is told.
        out: where to.
        cells: what a sweep's heat map shows: ``metric``, ``x``, ``y`` and ``by``, as far as the user chose.
        trust: whether to read files that have changed.

    Raises:
        StorageError: where nothing of ours is there, ``out`` holds something else than a report, or writing fails.
        NotFoundError: for an axis or a metric that the sweep has not.
        ArgumentError: where ``cells`` chooses and there are no two axes, or ``out`` is called like a page.
    """
    if out is not None and out.suffix.lower() in {".html", ".htm"} and not isdir(out):
        raise refused("--out", str(out), "a folder, in which the page is index.html")
    with told("writing the report"):  # Importing the libraries alone takes a second and more.
        page = _written(folder, out, cells, trust)
    typer.echo(str(page))


@draws
def _written(folder: Path, out: Path | None, cells: Mapping[str, str | None], trust: bool) -> Path:
    from tailback.report.drawn import Cells
    from tailback.report.page import expect_room, room
    from tailback.report.sweep import write_result_report, write_sweep_report
    from tailback.saved import load
    from tailback.sweeps import Runs

    found = load(folder, trust=trust)
    if out is not None:
        expect_room(out)
    target = out if out is not None else folder / "report"
    match found:
        case Runs():
            with room(target) as where:
                write_sweep_report(found, where, folder, Cells(**cells))
        case _:
            for name, choice in cells.items():
                if choice is not None:
                    raise refused(f"--{name}", choice, "nothing for a single run: heat maps are of sweeps")
            with room(target) as where:
                write_result_report(found, where, folder)
    return target / "index.html"
