"""The command line: its commands by their order in the list, and how errors end it. Each command's options stand in a file
beside this one, what it does in ``commands/``; everything slow is imported when a command needs it."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Annotated, Any

import typer

from tailback.cli import emulating, listing, looking, measuring, papers, running, transferring
from tailback.cli.group import STYLE, Commands, group

# Whatever follows the first word that is no option belongs to the command that is run.
VERBATIM: dict[str, Any] = {"allow_interspersed_args": False}

COMMANDS = Commands(
    running.run,
    papers.reproduce,
    running.validate,
    running.sweep,
    running.compare,
    looking.plot,
    looking.report,
    looking.capture,
    looking.lrd,
    running.tune,
    emulating.shell,
    measuring.lab,
    measuring.parity,
    transferring.send,
    transferring.recv,
    running.shrink,
    listing.fields,
    listing.schemes,
    listing.queues,
    listing.sources,
    settings={"shell": VERBATIM},
)

app = typer.Typer(
    name="tailback",
    cls=group(COMMANDS),
    help="A workbench for congestion control: simulate scenarios, and reproduce what papers claim.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    **STYLE,
)


def _version(asked: bool) -> None:
    if asked:
        from tailback.results.versions import versions

        found = versions()
        typer.echo(f"tailback {found['tailback']}" + (f" ({found['revision']})" if "revision" in found else ""))
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """A workbench for congestion control."""
    del version


def main() -> None:
    """The entry point: mendable errors become one message on standard error and exit status 1."""
    from tailback.commands.letters import HANDLER
    from tailback.errors import TailbackError

    for stream in (sys.stdout, sys.stderr):  # Not every locale has a letter for all that we say.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=HANDLER)
    try:
        app(prog_name="tailback")
    except TailbackError as error:
        typer.echo(f"tailback: {error}", err=True)
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        typer.echo(f"tailback: standard output: {error.strerror}", err=True)
        os._exit(1)  # Python would try again to write what it still holds, and complain.
