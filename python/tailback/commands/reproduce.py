"""``tailback reproduce``: items of the ledger on the terminal, as JSON, and as a report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tailback.commands.console import stoppable
from tailback.commands.quick import draws

if TYPE_CHECKING:
    from tailback.papers.item import Fidelity
    from tailback.papers.reproduce import Verdict
    from tailback.results.places import Place
    from tailback.validation.judge import Comparison

PLAN = "plan.json"
"""Says in a report's folder which items it is about, and at which length."""
QUICK = " That is with two seeds per row; --full takes as many as ns-2 had, as docs/validation.md does."
"""Why the number is another than the documentation's."""
_NAMED = 2
"""Up to so many names are part of the folder's."""


def list_items(what: Sequence[str], *, as_json: bool) -> None:
    """Prints the ledger: what there is, and what is built."""
    from rich import box
    from rich.table import Table

    from tailback.commands.console import show
    from tailback.papers import ledger

    papers = {paper.id for paper in ledger.papers()}
    chosen = [claim for claim in ledger.claims() if any(name in {"all", claim.id, claim.paper} for name in what)]
    for name in what:
        if name != "all" and name not in papers and all(claim.id != name for claim in chosen):
            ledger.select([name])  # Raises, with the nearest name.
    if as_json:
        for claim in chosen:
            typer.echo(json.dumps({"id": claim.id, "title": claim.title, "built": claim.built}, ensure_ascii=False))
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("item", "shows", "source", ""):  # An item's name is what one types: it stays whole.
        table.add_column(column, no_wrap=column == "item", overflow="fold")
    for claim in chosen:
        table.add_row(claim.id, claim.title, claim.source, "built" if claim.built else "[dim]not yet built[/dim]")
    show(table)


@draws
def reproduce_items(
    what: Sequence[str],
    *,
    full: bool,
    out: Path | None,
    strict: bool,
    jobs: int | None,
    as_json: bool,
    again: bool = False,
) -> int:
    """Runs items, all of them ``again`` or those that were not finished before, writes figures, data and the report; gives the
    exit status."""
    from tailback.papers import ledger
    from tailback.papers.reproduce import reproduce
    from tailback.papers.reproduce import summary as fared
    from tailback.report import write_report
    from tailback.validation.report import report_rows
    from tailback.validation.table import summary

    claims = ledger.select(what)
    left = [claim.id for claim in claims]
    where = _place(what, left, out, full=full)

    def each(verdict: Verdict) -> None:
        left.remove(verdict.claim.id)
        if as_json:
            _print_json(verdict)

    length: Fidelity = "full" if full else "quick"
    with stoppable(lambda: _left(len(left), len(claims), where.folder)):
        verdicts = reproduce(claims, length, where.folder, jobs=jobs, each=each, resume=not again)
    # Whoever wants everything also wants to know how far the simulator itself can be trusted.
    compared = _compared(full=full, jobs=jobs) if "all" in what else []
    counted = fared(verdicts, ledger.unbuilt(what))
    page = write_report(verdicts, where.folder, report_rows(compared), summary=counted)
    if as_json:
        typer.echo(f"report: {page}{where.said}", err=True)
    else:
        _show(verdicts, counted)
        if compared:
            typer.echo(f"\nAgainst ns-2: {summary(compared)}{'' if full else QUICK}")
        typer.echo(f"Report: {page} (opens offline in any browser){where.said}")
    if taken_up := _taken_up(verdicts):
        typer.echo(taken_up, err=as_json)
    for verdict in verdicts:
        if not verdict.ran:
            typer.echo(f"tailback: {verdict.claim.id} could not run: {verdict.error}", err=True)
    if not all(verdict.ran for verdict in verdicts):
        return 1
    return 1 if strict and not all(verdict.settled for verdict in verdicts) else 0


def _place(what: Sequence[str], items: Sequence[str], out: Path | None, *, full: bool) -> Place:
    """The folder for these items, which says from the beginning what will be in it: a report of other items, or of another
    length, goes elsewhere."""
    from tailback.results.files import expect_room, make_folder, write_file
    from tailback.results.places import place, written

    if out is not None:
        expect_room(out, mine=lambda folder: "fidelity" in written(folder, PLAN))

    chosen = "" if "all" in what else "-" + ("-".join(what).replace("/", "-") if len(what) <= _NAMED else "some")
    plan = {"items": list(items), "fidelity": "full" if full else "quick", "validation": "all" in what}
    usual = Path("out") / f"reproduce{chosen}{'-full' if full else ''}"
    with place(out, usual, lambda folder: written(folder, PLAN) == plan) as where:
        make_folder(where.folder)
        text = json.dumps(plan, indent=1) + "\n"
        write_file(where.folder / PLAN, lambda path: path.write_text(text, encoding="utf-8"))
    return where


def _left(left: int, count: int, out: Path) -> str:
    """What there is of items whose reproduction was stopped, and how to get the rest."""
    kept = f"figures and data of {count - left} of {count} items are in {out}, the report is not"
    return f"{kept}; the same command goes on from there"


def _taken_up(verdicts: Sequence[Verdict]) -> str:
    """How many items were not run, and how to run them; nothing where all were."""
    count = sum(verdict.kept for verdict in verdicts)
    if not count:
        return ""
    which = "All items were" if count == len(verdicts) else f"{count} of {len(verdicts)} items were"
    if len(verdicts) == 1:
        which = "The item was"
    return f"{which} finished before by the same code and not run now; --again runs everything anew."


def _compared(*, full: bool, jobs: int | None) -> list[Comparison]:
    """The project's TCP and queues against the reference simulator; two seeds per row unless all are wanted."""
    from tailback.pool import Pool
    from tailback.progress import Bar
    from tailback.validation.validate import run_count, validate

    seeds = None if full else 2
    with Pool(jobs) as pool, Bar("comparing with ns-2", run_count(seeds=seeds)) as bar:
        return validate(pool, seeds=seeds, done=bar.advance)


def _print_json(verdict: Verdict) -> None:
    typer.echo(json.dumps(verdict.as_json(), ensure_ascii=False))


WORDS = {
    "holds": "[green]holds[/green]",
    "fails": "[red]does not hold[/red]",
    "open": "[yellow]open[/yellow]",
    "refuted": "[cyan]refuted[/cyan]",
    "error": "[red]could not run[/red]",
}
_MARKS = {True: "[green]✓[/green]", False: "[red]✗[/red]", None: "[yellow]open[/yellow]"}


def _show(verdicts: Sequence[Verdict], counted: str) -> None:
    from rich import box
    from rich.table import Table

    from tailback.commands.console import console
    from tailback.commands.letters import written

    out = console()
    for verdict in verdicts:
        out.print()
        outcome = verdict.outcome
        changed = outcome.changed if outcome else None
        word = WORDS[verdict.word] + (f" (test changed: {'holds' if changed.holds else 'fails'})" if changed else "")
        runs = f"{verdict.runs} run{'s' if verdict.runs != 1 else ''}"
        when = ", finished before" if verdict.kept else ""
        out.print(f"[bold]{verdict.claim.id}[/bold]  {word}  [dim]{runs}, {verdict.wall_s:.1f} s{when}[/dim]")
        out.print(f"{verdict.claim.title} ({verdict.claim.source})")
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for column in ("", "test", "measured", "allowed"):
            table.add_column(column, overflow="fold")
        for title, checks in outcome.tests if outcome else ():
            if title:
                table.add_row("", f"[dim]{title}[/dim]", "", "")
            for check in checks:
                texts = (written(text, out.encoding) for text in (check.claim, check.measured, check.allowed))
                table.add_row(written(_MARKS[check.holds], out.encoding), *texts)
        out.print(table if table.row_count else f"[red]{verdict.error}[/red]")
    out.print(f"\n{counted}")
