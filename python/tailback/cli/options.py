"""Options that several commands share, and the command line as it was typed. The commands stand beside this file."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from tailback.units import meant_by_percentage

Custom = Annotated[
    list[Path] | None,
    typer.Option(
        "--custom", metavar="FILE.py", help="Use the controllers and queues that a Python file defines. Repeatable."
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Change a field, for example --set buffer='25 packets'. Repeatable, once per field.",
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="What the table here tells, in place of the usual, for example queueing_delay_p99, mark_rate, completion_time_p95 "
        "or, of groups and with record.delays, one_way_delay_p99. Repeatable; files and report have all.",
    ),
]
Jobs = Annotated[int | None, typer.Option(min=1, help="Processes.", show_default="all cores")]
Keep = Annotated[bool, typer.Option("--cache/--no-cache", help="Keep finished runs, and take them up.")]
Memory = Annotated[
    str | None,
    typer.Option(
        help="What runs may take of memory together, for example '4 GB'.",
        show_default="half of what there is",
        envvar="TAILBACK_MEMORY",
    ),
]
Trust = Annotated[bool, typer.Option("--trust", help="Read files too that have changed since they were written.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print JSON on standard output instead of tables: one object per line.")
]

Budget = Annotated[
    str, typer.Option(help="How late packets may leave in a run that counts: median and 99th percentile.")
]


def number(text: str | float) -> float:
    """A number of the command line; a default comes as it is.

    Raises:
        BadParameter: where it is none.
    """
    try:
        return float(text)
    except ValueError:
        allowed = f"a number, such as 0.95{meant_by_percentage(text)}"
        raise typer.BadParameter(f"{text!r} is not allowed; expected {allowed}") from None


def typed() -> str:
    """The command line as it was typed, for reports."""
    return shlex.join(["tailback", *sys.argv[1:]])
