"""``tailback sweep`` and ``tailback compare``: many runs, one table on the terminal, tables and figures in a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tailback.commands.changes import changes_of, read_changed
from tailback.commands.console import console, show, stoppable, told_apart
from tailback.commands.custom import scheme_of
from tailback.commands.table import intervals_table
from tailback.errors import Problem, ScenarioError

if TYPE_CHECKING:
    from tailback.results.places import Place
    from tailback.scenario import Scenario
    from tailback.sweeps import Runs

TOLD = ("goodput", "loss_rate", "jain", "queueing_delay")
"""What fits a terminal; the report has more."""


ALIKE = (
    "All seeds gave the same runs, so intervals say nothing: nothing in the scenario is drawn. "
    'start = { from = "0 s", to = "2 s" } of a group of flows draws when they start.'
)


@dataclass(frozen=True)
class How:
    """How runs are made and told, as the command line said it."""

    changes: Sequence[str]
    """To the scenarios."""
    seeds: int
    """Runs of each variant."""
    jobs: int | None
    """Processes; all cores where ``None``."""
    out: Path | None
    """The folder for what comes out."""
    cache: bool
    """Whether finished runs are kept."""
    as_json: bool
    """Whether the summary is printed as JSON."""
    command: str
    """The command line as it was typed."""
    memory: str | None = None
    """What the runs may take together."""


def sweep_file(file: Path, over: Sequence[str], how: How) -> int:
    """Sweeps a scenario; 1 where a run failed."""
    from tailback.sweeps import sweep

    swept = axes(over)
    base = read_changed(file, how.changes)
    _check_once(base, swept, how.changes)
    with stoppable(_left(how.cache)):
        try:
            runs = sweep(base, seeds=how.seeds, jobs=how.jobs, cache=how.cache, memory=how.memory, **swept)
        except ScenarioError as error:
            raise ScenarioError(error.problems, "--over" if over else error.source) from None
    return _finish(runs, Path("out") / f"{file.stem}-sweep", how, differences="")


def compare_schemes(schemes: Sequence[str], files: Sequence[Path], how: How) -> int:
    """Compares schemes over scenarios; 1 where a run failed."""
    from tailback.sweeps import compare

    bases = [read_changed(file, how.changes) for file in files]
    named = [base if base.name else base.replace(name=file.stem) for base, file in zip(bases, files, strict=True)]
    chosen = [scheme_of(scheme) for scheme in schemes]
    for base in named:
        for scheme in chosen:
            base.replace(scheme=scheme)  # What makes no sense shows before anything is run.
    with stoppable(_left(how.cache)):
        over = named if len(named) > 1 else named[0]
        runs = compare(chosen, over, seeds=how.seeds, jobs=how.jobs, cache=how.cache, memory=how.memory)
    usual = Path("out") / (f"{files[0].stem}-compare" if len(files) == 1 else "compare")
    return _finish(runs, usual, how, differences="scheme" if len(chosen) > 1 else "")


def _left(cache: bool) -> str:
    return "finished runs are kept, and the same command goes on from there" if cache else "nothing was kept"


def axes(texts: Sequence[str]) -> dict[str, Any]:
    """The axes of a command line: ``buffer=25 packets, 1 BDP`` or, where values hold commas, ``field=["a", "b"]``.

    Raises:
        ScenarioError: for text without a field, and for a field that is named twice.
    """
    from tailback.scenario.fields import from_text

    found: dict[str, Any] = {}
    for text in texts:
        field, sign, written = text.partition("=")
        if not sign or not written.strip():
            allowed = "FIELD=VALUE, VALUE, …, as in buffer='25 packets, 1 BDP'"
            raise ScenarioError([Problem("the axis", repr(text), allowed)], "--over")
        if field.strip() in found:
            raise _twice(field, "--over")
        value = from_text(written.strip())
        if isinstance(value, str) and "{" not in value:
            value = [from_text(part.strip()) for part in value.split(",")]
        if field.strip().split(".")[-1] == "scheme":
            value = [scheme_of(entry) if isinstance(entry, str) else entry for entry in value]
        found[field.strip()] = value if isinstance(value, list) else [value]
    return found


def _check_once(base: Scenario, swept: Mapping[str, Any], changes: Sequence[str]) -> None:
    """Refuses a field that two options name, by whatever names (``buffer``, ``topology.buffer``): one of them would be
    without effect.

    Raises:
        ScenarioError: for the first such field.
    """
    from tailback.scenario.fields import place_of

    data = base.to_dict()
    named = {place_of(field, data): "--set" for field in changes_of(changes)}
    for field in swept:
        place = place_of(field, data)
        if place in named:
            raise _twice(field, named[place])
        named[place] = "--over"


def _twice(field: str, before: str) -> ScenarioError:
    again, allowed = "once more", f"all its values in one --over, as in --over {field.strip()}='…, …'"
    if before == "--set":
        again, allowed = "a field that --set gives, too", "--set or --over, not both"
    return ScenarioError([Problem(field.strip(), again, allowed)], "--over")


def _finish(runs: Runs, usual: Path, how: How, *, differences: str) -> int:
    """Saves the runs, draws them, and prints what they say."""
    from tailback.report.sweep import write_sweep_report
    from tailback.results.places import place
    from tailback.sweeps.store import same, save

    runs = replace(runs, command=how.command)
    with place(how.out, usual, same(runs)) as where:
        folder = where.folder
        # All or nothing: on a full disk no folder is left that lacks a part.
        save(runs, folder, also=lambda beside: write_sweep_report(runs, beside / "report", folder))
    if how.as_json:
        told_apart(where)
        typer.echo(json.dumps(_as_json(runs, folder), ensure_ascii=False))
    else:
        _show(runs, where, differences)
    return 1 if runs.failed.height else 0


def _as_json(runs: Runs, folder: Path) -> Mapping[str, Any]:
    from tailback.plain import plain

    return {
        "runs": len(runs),
        "failed": runs.failed.height,
        "axes": runs.axes,
        "summary": plain(runs.intervals().to_dicts()),
        "out": str(folder),
    }


def _show(runs: Runs, where: Place, differences: str) -> None:
    from rich.markup import escape

    out = console()
    seeds = runs.table["seed"].n_unique()
    out.print(
        f"[bold]{len(runs)} run{'s' if len(runs) != 1 else ''}[/bold], {seeds} seed{'s' if seeds != 1 else ''} each, 95 % intervals"
    )
    show(intervals_table(runs.intervals(*TOLD), runs.axes))
    if runs.alike:
        out.print(f"[dim]{escape(ALIKE)}[/dim]", soft_wrap=True)
    if "scheme" not in runs.axes and runs.flows.height and runs.flows["group"].n_unique() > 1:
        out.print("[dim]Per flow of each group[/dim]")
        told = ("goodput", "retransmission_rate", "mean_rtt")
        show(intervals_table(runs.intervals(*told, by="group"), runs.keys("group")))
    if differences:
        found = runs.compare(differences, None, *TOLD).with_columns(mean="difference")
        base = escape(str(runs.table[differences][0]))
        if found["difference"].is_not_null().any():
            out.print(f"[dim]Differences from {base}, seed by seed[/dim]")
            show(intervals_table(found, runs.axes, signed=True))
        else:
            out.print(f"[dim]No differences from {base}: no two runs of the same seed came to their end[/dim]")
    for error in runs.failed["error"].unique(maintain_order=True).head(5):
        # The way there is kept with the run; the user's own line is enough here.
        said = str(error).split("\nTraceback", 1)[0]
        typer.echo(f"tailback: failed: {said}", err=True)
    page = where.folder / "report" / "index.html"
    out.print(
        f"Saved in {escape(str(where.folder))}{escape(where.said)}; the report is {escape(str(page))}", soft_wrap=True
    )
