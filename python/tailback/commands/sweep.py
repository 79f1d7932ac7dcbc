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
from tailback.commands.quick import draws
from tailback.commands.table import intervals_table
from tailback.errors import Problem, ScenarioError, unknown
from tailback.progress import told
from tailback.units import counted

if TYPE_CHECKING:
    import polars as pl

    from tailback.results.places import Place
    from tailback.scenario import Scenario
    from tailback.sweeps import Runs

TOLD = ("goodput", "loss_rate", "mark_rate", "jain", "queueing_delay")
"""What fits a terminal; the report has more. The part marked is told where a packet was."""
OF_GROUPS = ("goodput", "retransmission_rate", "mean_rtt")
"""The same for groups of flows."""

MOST_ROWS = 200
"""So many rows of a table are printed on a terminal; of a sweep over thousands of values, nobody reads all there."""

_START = 'start = { from = "0 s", to = "2 s" } of a group of flows draws when they start.'


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
    metrics: Sequence[str] = ()
    """What the tables on the terminal tell; the usual where none is named."""


def sweep_file(file: Path, over: Sequence[str], how: How) -> int:
    """Sweeps a scenario; 1 where a run failed."""
    from tailback.sweeps import sweep

    _check(how)
    swept = axes(over)
    base = read_changed(file, how.changes)
    with stoppable(_left(how.cache)):
        try:
            _check_once(base, swept, how.changes)
            runs = sweep(base, seeds=how.seeds, jobs=how.jobs, cache=how.cache, memory=how.memory, **swept)
        except ScenarioError as error:
            raise ScenarioError(error.problems, "--over" if over else error.source) from None
        return _finish(runs, Path("out") / f"{file.stem}-sweep", how, differences="")


def compare_schemes(schemes: Sequence[str], files: Sequence[Path], how: How, in_place_of: str | None = None) -> int:
    """Compares schemes over scenarios, in place of all flows' own or of one; 1 where a run failed."""
    from tailback.sweeps import compare
    from tailback.sweeps.design import made

    _check(how)
    bases = [read_changed(file, how.changes, one_of_many=len(files) > 1) for file in files]
    named = [base if base.name else base.replace(name=file.stem) for base, file in zip(bases, files, strict=True)]
    chosen = [scheme_of(scheme) for scheme in schemes]
    for base in named:
        for scheme in chosen:
            made(base, {"scheme": scheme}, in_place_of)  # What makes no sense shows before anything is run.
    with stoppable(_left(how.cache)):
        over = named if len(named) > 1 else named[0]
        options = {"jobs": how.jobs, "cache": how.cache, "memory": how.memory, "in_place_of": in_place_of}
        runs = compare(chosen, over, seeds=how.seeds, **options)
        usual = Path("out") / (f"{files[0].stem}-compare" if len(files) == 1 else "compare")
        return _finish(runs, usual, how, differences="scheme" if len(chosen) > 1 else "")


def _check(how: How) -> None:
    """Refuses metrics that no run could have, and a folder that nothing could be saved in, before any run is made.

    Raises:
        NotFoundError: for the first such name.
        StorageError: for such a folder.
    """
    from tailback.sweeps.measure import OF_RUNS
    from tailback.sweeps.statistics import OF_GROUPS as ALSO
    from tailback.sweeps.store import expect_room

    if how.out is not None:
        expect_room(how.out)
    known = list(dict.fromkeys((*OF_RUNS, *ALSO)))
    for name in how.metrics:
        if name not in known:
            raise unknown("metric", name, known)


def _left(cache: bool) -> str:
    return "finished runs are kept, and the same command goes on from there" if cache else "nothing was kept"


def axes(texts: Sequence[str]) -> dict[str, Any]:
    """The axes of a command line: ``buffer=25 packets, 1 BDP``, ``queue={ name = 'red' }, codel`` or ``field=["a", "b"]``.

    Raises:
        ScenarioError: for text without a field, and for a field that is named twice.
    """
    from tailback.scenario.texts import from_text, split

    found: dict[str, Any] = {}
    for text in texts:
        field, sign, written = text.partition("=")
        if not sign or not all(part.strip() for part in split(written)):
            allowed = "FIELD=VALUE, VALUE, …, as in buffer='25 packets, 1 BDP'"
            raise ScenarioError([Problem("the axis", repr(text), allowed)], "--over")
        if field.strip() in found:
            raise _twice(field, "--over")
        value = from_text(written.strip())
        if isinstance(value, str):
            value = [from_text(part.strip()) for part in split(value)]
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


@draws
def _finish(runs: Runs, usual: Path, how: How, *, differences: str) -> int:
    """Saves the runs, draws them, and prints what they say.

    Raises:
        StorageError: where they could not be saved; they are printed all the same.
    """
    from tailback.commands.keeping import kept
    from tailback.report.sweep import write_sweep_report
    from tailback.sweeps.store import same, save

    runs = replace(runs, command=how.command)

    def saving(folder: Path) -> None:
        # All or nothing: on a full disk no folder is left that lacks a part.
        save(runs, folder, also=lambda beside: write_sweep_report(runs, beside / "report", folder))

    with told("drawing the figures, writing the report"):
        saved = kept(how.out, usual, same(runs), saving)
    if how.as_json:
        told_apart(saved.where)
        typer.echo(json.dumps(_as_json(runs, saved.folder(), how.metrics), ensure_ascii=False))
    else:
        _show(runs, saved.where, differences, how.metrics)
    saved.expect()
    return 1 if runs.failed.height else 0


def _as_json(runs: Runs, folder: str | None, metrics: Sequence[str]) -> Mapping[str, Any]:
    from tailback.plain import plain

    return {
        "runs": len(runs),
        "failed": runs.failed.height,
        "axes": runs.axes,
        "summary": plain(runs.means(*(_told(runs, metrics)[0] if metrics else ())).to_dicts()),
        "out": folder,
    }


def _show(runs: Runs, where: Place | None, differences: str, metrics: Sequence[str] = ()) -> None:
    from rich.markup import escape

    from tailback.commands.keeping import NOT_SAVED
    from tailback.sweeps.spread import ALIKE, ONE, why_none

    out = console()
    seeds = runs.table["seed"].n_unique()
    each = f"{counted(seeds, 'seed')} each{', 95 % intervals' if seeds != 1 else ''}"
    out.print(f"[bold]{counted(len(runs), 'run')}[/bold], {each}")
    metrics_told, of_groups = _told(runs, metrics)
    if metrics_told:
        _print(runs.means(*metrics_told), runs.axes)
    if said := why_none(runs):
        hint = {ALIKE: _START, ONE: "--seeds 5 gives some."}.get(said, "")
        out.print(f"[dim]{escape(f'{said} {hint}'.rstrip())}[/dim]", soft_wrap=True)
    if of_groups:
        out.print("[dim]Per flow of each group[/dim]")
        _print(runs.means(*of_groups, by="group"), runs.keys("group"))
    if "jain" in metrics_told and "jain" not in of_groups and (said := _jain_counts(runs)):
        out.print(f"[dim]{escape(said)}[/dim]", soft_wrap=True)
    for name in metrics:
        if name not in {*metrics_told, *of_groups}:
            out.print(f"[dim]{escape(_nothing_of(name))}[/dim]", soft_wrap=True)
    if differences and metrics_told:
        found = runs.differences(differences, None, *metrics_told).with_columns(mean="difference")
        base = escape(str(runs.table[differences][0]))
        if found["difference"].is_not_null().any():
            out.print(f"[dim]Differences from {base}, seed by seed[/dim]")
            _print(found, runs.axes, signed=True)
        else:
            out.print(f"[dim]No differences from {base}: no two runs of the same seed came to their end[/dim]")
    for error in runs.failed["error"].unique(maintain_order=True).head(5):
        # The way there is kept with the run; the user's own line is enough here.
        said = str(error).split("\nTraceback", 1)[0]
        typer.echo(f"tailback: failed: {said}", err=True)
    if where is None:
        out.print(NOT_SAVED)
        return
    page = where.folder / "report" / "index.html"
    out.print(
        f"Saved in {escape(str(where.folder))}{escape(where.said)}; the report is {escape(str(page))}", soft_wrap=True
    )


def _print(means: pl.DataFrame, keys: Sequence[str], *, signed: bool = False) -> None:
    """Prints a table; on a terminal, as much as somebody may want to scroll through."""
    out = console()
    most = MOST_ROWS if out.is_terminal else None
    show(intervals_table(means, keys, signed=signed, most=most))
    rows = means.select(keys).n_unique() if keys else 1
    if most is not None and rows > most:
        out.print(f"[dim]The first {most} of {rows} rows; the report has all.[/dim]")


def _told(runs: Runs, metrics: Sequence[str]) -> tuple[list[str], list[str]]:
    """What the tables on the terminal tell, of all flows together and of each group: what was asked for, where it was
    measured, and the usual where nothing was."""
    from tailback.sweeps.statistics import usual

    several = runs.flows.height > 0 and runs.flows["group"].n_unique() > 1
    if metrics:
        told = [name for name in dict.fromkeys(metrics) if _measured(runs.table, name)]
        return told, [
            name for name in dict.fromkeys(metrics) if (several or name not in told) and _measured(runs.groups, name)
        ]
    known = usual(runs.table, "variant")
    return [name for name in TOLD if name in known], list(OF_GROUPS) if several and "scheme" not in runs.axes else []


def _measured(table: pl.DataFrame, name: str) -> bool:
    return name in table.columns and table[name].is_finite().any()


def _jain_counts(runs: Runs) -> str:
    """Which groups Jain's index counts although they do not always have something to send; empty where it tells of equals."""
    greedy = runs.flows["source"] == "bulk"
    if not greedy.any() or greedy.all():
        return ""
    names = ", ".join(runs.flows.filter(~greedy)["group"].unique(maintain_order=True))
    said = f"Jain's index is over all flows, {names} too, which do not always have data to send"
    return f"{said}; --metric jain tells it of each group."


def _nothing_of(name: str) -> str:
    said = f"{name}: no run has measured any"
    if name.startswith(("one_way", "jitter", "rtt_p")):
        return f"{said}; --set record.delays=true does"
    return f"{said}: no file or burst was sent and came to its end" if name.startswith("completion") else said
