"""The command that rebuilds papers' tables and figures. What it does is in ``commands/reproduce.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailback.cli.options import Jobs, Json
from tailback.commands import complete


def reproduce(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID | PAPER | all]…",
            help="Items of the ledger, papers, or all.",
            show_default="all",
            autocompletion=complete.items,
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The papers' own durations and seeds, or shorter ones.")
    ] = False,
    json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for figures, data and the report.", show_default="out/reproduce, or out/reproduce-<what>"
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail also where a claim does not hold.")] = False,
    jobs: Jobs = None,
    again: Annotated[
        bool, typer.Option("--again", help="Run items anew that the same code has finished in this folder before.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the ledger and stop.")] = False,
) -> None:
    """Rebuild tables and figures of the papers and test their claims.

    Writes a figure and a data file per item and one HTML report that works offline. What was stopped goes on where it was: items
    that the same code has finished in the folder are read and not run. The exit status is 0 when every
    item ran, whether or not its claim holds, and 1 when one could not run.
    """
    from tailback.commands.reproduce import list_items, reproduce_items

    if listed:
        list_items(what or ["all"], as_json=json)
    else:
        status = reproduce_items(
            what or ["all"], full=full, out=out, strict=strict, jobs=jobs, as_json=json, again=again
        )
        raise typer.Exit(status)
