"""The command line: its commands by their order in the list, and how errors end it. Each command's options stand in a file
beside this one, what it does in ``commands/``; everything slow is imported when a command needs it."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tailback.cli import emulating, listing, looking, measuring, papers, running, transferring
from tailback.commands import helping

# Whatever follows the first word that is no option belongs to the command that is run.
VERBATIM: dict[str, Any] = {"allow_interspersed_args": False}


class Commands(TyperGroup):
    """Commands that are stopped without a traceback, wherever they are."""

    def invoke(self, ctx: Any) -> object:
        """Runs the command; what a command says itself where it is stopped comes first."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("tailback: stopped", err=True)
            raise typer.Exit(130) from None


app = typer.Typer(
    name="tailback",
    cls=Commands,
    help="A workbench for congestion control: simulate scenarios, and reproduce what papers claim.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
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


for _command in (
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
    listing.schemes,
    listing.queues,
    listing.sources,
):
    app.command(context_settings=VERBATIM if _command is emulating.shell else None)(_command)


def main() -> None:
    """The entry point: mendable errors become one message on standard error and exit status 1."""
    from tailback.errors import TailbackError

    for stream in (sys.stdout, sys.stderr):  # Not every locale has a letter for all that we say.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        helping.prepare(sys.argv[1:])
        app(prog_name="tailback")
    except TailbackError as error:
        typer.echo(f"tailback: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()  # Whoever read our output has gone; Python would complain at exit.
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        typer.echo(f"tailback: standard output: {error.strerror}", err=True)
        os._exit(1)  # Python would try again to write what it still holds, and complain.
