"""The comparison for readers: rows for the HTML report, a table on the terminal. Pages in Markdown are ``table``'s."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import typer

from tailback.validation.judge import Comparison, Verdict
from tailback.validation.table import quantity, shown, summary


def report_rows(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    """What ``tailback.report`` shows: one row per figure that was compared."""
    return [
        {
            "setup": item.row.name,
            "quantity": quantity(item.figure),
            "reference": shown(item.figure, item.reference.mean),
            "measured": shown(item.figure, item.measured.mean),
            "tolerance": f"± {shown(item.figure, item.allowed)}",
            "agrees": item.verdict is Verdict.AGREES,
            "remark": item.reason,
        }
        for item in comparisons
        if item.measured is not None
    ]


def as_json(comparison: Comparison) -> str:
    """One figure as a line of JSON."""
    return json.dumps(
        {
            "row": comparison.row.name,
            "figure": comparison.figure,
            "reference": comparison.reference.mean,
            "reference_sd": comparison.reference.deviation,
            "measured": comparison.measured.mean if comparison.measured else None,
            "measured_sd": comparison.measured.deviation if comparison.measured else None,
            "allowed": comparison.allowed,
            "verdict": str(comparison.verdict),
            "reason": comparison.reason,
        }
    )


def validate_reference(pattern: str, *, seeds: int | None, jobs: int | None, as_lines: bool) -> int:
    """``tailback validate --reference``: compares, prints, and gives the exit status: 0 unless nothing was chosen.

    Args:
        pattern: part of the names of the rows to run.
        seeds: per row; as many as the reference has where ``None``.
        jobs: processes; all cores where ``None``.
        as_lines: print one JSON object per figure instead of a table.
    """
    from tailback.pool import Pool
    from tailback.progress import Bar
    from tailback.validation.reference import Row, rows
    from tailback.validation.validate import run_count, validate

    def chosen(row: Row) -> bool:
        return pattern in row.name

    if not any(chosen(row) for row in rows()):
        typer.echo(f"tailback: no row's name contains '{pattern}'; for example {rows()[0].name}", err=True)
        return 1
    with Pool(jobs) as pool, Bar("validating", run_count(chosen, seeds)) as bar:
        comparisons = validate(pool, chosen, seeds, bar.advance)
    if as_lines:
        for item in comparisons:
            typer.echo(as_json(item))
    else:
        _print(comparisons)
    return 0


def _print(comparisons: Sequence[Comparison]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("row and figure", no_wrap=True)
    for column in ("ns-2", "Tailback", "allowed"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    colours = {Verdict.AGREES: "green", Verdict.DIFFERS: "red", Verdict.NOT_COMPARED: "dim"}
    name = ""
    for item in comparisons:
        if item.row.name != name:
            name = item.row.name
            table.add_row(f"[bold]{name}[/bold]")
        colour = colours[item.verdict]
        table.add_row(
            f"  {quantity(item.figure)}",
            shown(item.figure, item.reference.mean),
            shown(item.figure, item.measured.mean) if item.measured else "",
            f"± {shown(item.figure, item.allowed)}",
            f"[{colour}]{item.verdict}[/{colour}]",
        )
    console = Console(highlight=False)
    console.print(table)
    for reason in dict.fromkeys(item.reason for item in comparisons if item.verdict is Verdict.DIFFERS):
        console.print(f"differs: {reason}")
    for reason in dict.fromkeys(item.reason for item in comparisons if item.verdict is Verdict.NOT_COMPARED):
        names = {item.row.name for item in comparisons if item.reason == reason}
        console.print(f"not compared, {reason}: {len(names)} rows")
    console.print(summary(comparisons))
