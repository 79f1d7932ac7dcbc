"""Where commands print: tables keep all their figures on a narrow terminal, and none is cut off in a file; and what they
say when somebody stops them. What they print is made by the commands."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tailback.results.places import Place

_ROOM = 10_000
"""More columns of text than any table has."""


def console() -> Console:
    """Standard output, without guesses at what is a number."""
    from rich.console import Console

    class Output(Console):
        """One whose broken pipe is told as any other is: rich would end the process with the status of an error."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Output(highlight=False)


def told_apart(where: Place | None) -> None:
    """Says on standard error, for those who read standard output with a program, where a result is and why there; nothing where it
    is nowhere."""
    if where is not None and where.said:
        typer.echo(f"tailback: saved in {where.folder}{where.said}", err=True)


@contextmanager
def stoppable(left: str | Callable[[], str]) -> Iterator[None]:
    """What is said on standard error where the user stops the work inside: that it stopped, and what is ``left``. The exit
    status is 130, as shells have it, or that of another signal which the interrupt names."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        typer.echo(f"tailback: stopped; {left if isinstance(left, str) else left()}", err=True)
        raise typer.Exit(128 + getattr(interrupt, "number", signal.SIGINT)) from None


def show(table: Table) -> None:
    """Prints a table. Texts wrap where it is wider than the terminal; where that is not enough, the terminal wraps its
    lines, which is ugly but leaves nothing out."""
    from rich.measure import measure_renderables

    out = console()
    options = out.options.update(width=_ROOM)
    whole = table.__rich_measure__(out, options).maximum
    least = whole
    for column in table.columns:
        measured = measure_renderables(out, options, [*column.cells, column.header])
        least -= 0 if column.no_wrap else measured.maximum - max(measured.minimum, column.min_width or 0)
    if not out.is_terminal or least > out.width:
        out.width = max(out.width, least if out.is_terminal else whole)
    out.print(table, crop=False)
