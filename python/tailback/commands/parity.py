"""``tailback parity``: a scenario in the simulator and with real packets, side by side on the terminal and in a folder. What is
compared, and how, is said in ``lab/parity.py``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tailback.commands.console import console, show, stoppable, told_apart
from tailback.commands.keeping import NOT_SAVED, kept
from tailback.commands.lab import read
from tailback.commands.run import shown
from tailback.lab import timing
from tailback.lab.hosts import ENDS, IDEAL, MEASURED, HostTimes, nearest, rate_of
from tailback.lab.parity import Parity, Row, compare
from tailback.paths import isfile
from tailback.progress import Bar
from tailback.results.files import expect_room, new_folder
from tailback.results.places import Place, written
from tailback.units import counted, number, rate

ABOUT = "parity.json"
_WHAT = "mean and standard deviation of both together"
_WITHOUT = "--ideal-hosts leaves that out"

if TYPE_CHECKING:
    from tailback.analysis.confidence import Interval


def parity_file(
    file: Path,
    *,
    changes: Sequence[str],
    runs: int,
    more: int,
    budget: str,
    ideal_hosts: bool,
    out: Path | None,
    as_json: bool,
) -> int:
    """Compares, saves the table and all runs, and shows it; 0 where shares agree or nothing can be said, 1 where they do not.

    Raises:
        StorageError: where it could not be saved; it is shown all the same.
    """
    setup = read(file, changes)
    usual = Path("out") / f"{file.stem}-parity"
    expect_room(out or usual.with_name(f".{usual.name}"), mine=_is_parity)
    with stoppable("nothing was written"):
        seconds = (runs + more) * number(json.loads(setup.scenario)["duration"])
        with Bar(f"running in both worlds, at most {seconds:.4g} s", 1.0) as bar:
            parity = compare(
                setup,
                replicates=runs,
                more=more,
                hosts=IDEAL if ideal_hosts else None,
                budget=budget,
                progress=bar.reach,
            )
    same = _same(parity, is_ideal=ideal_hosts)
    saved = kept(out, usual, same, lambda folder: save(parity, folder, is_ideal=ideal_hosts))
    if as_json:
        told_apart(saved.where)
        typer.echo(json.dumps(as_data(parity) | {"out": saved.folder()}, ensure_ascii=False))
    else:
        _show(parity, saved.where)
        hosts = "hosts take no time" if ideal_hosts else _said(parity, rate_of(json.loads(setup.scenario)))
        console().print(f"In the simulator {hosts}.", soft_wrap=True)
    saved.expect()
    return 1 if parity.verdict == "beyond 10 %" else 0


def _same(parity: Parity, *, is_ideal: bool) -> Callable[[Path], bool]:
    """Whether a folder compares the same scenario: what runs with real packets give, and what hosts take, differs every time."""
    from tailback.results.store import same

    def is_same(folder: Path) -> bool:
        about = written(folder, ABOUT)
        return about.get("ideal_hosts") == is_ideal and any(map(same(parity.measured[0]), folder.glob("measured-*")))

    return is_same


def _said(parity: Parity, bottleneck: float) -> str:
    """What hosts take, for a reader."""
    if parity.hosts:
        groups = (f"{_both(_all_runs(parity, name))} for {name}" for name in parity.hosts[0].groups)
        return f"a flow's two hosts take what they took with real packets: {', '.join(groups)} ({_WHAT}); {_WITHOUT}"
    beside = nearest(MEASURED, bottleneck)
    return (
        f"a flow's two hosts take {_both(beside.kernel)} where it is the kernel's, {_both(beside.ours)} where it is ours "
        f"({_WHAT}, as measured on another machine at {rate(beside.rate)}); {_WITHOUT}"
    )


def _all_runs(parity: Parity, group: str) -> HostTimes:
    """What a group's hosts took in all runs together."""
    runs = [hosts.groups[group] for hosts in parity.hosts]
    sender, receiver, reading = (tuple(time for run in runs for time in getattr(run, end)) for end in ENDS)
    return HostTimes(sender, receiver, reading)


def _both(times: HostTimes) -> str:
    return f"{1e6 * times.mean:.0f} ± {1e6 * times.deviation:.0f} µs"


def as_data(parity: Parity) -> dict[str, object]:
    """A comparison as plain data."""
    from tailback.plain import plain

    return {
        "scenario": parity.title,
        "kernel": parity.kernel,
        "verdict": parity.verdict,
        "valid": parity.is_valid,
        "runs": {"simulated": len(parity.simulated), "measured": len(parity.measured), "invalid": parity.invalid},
        "lateness": [result.real["lateness"] for result in parity.measured],
        "timers": [result.real["timers"] for result in parity.measured],
        "calls": [result.real.get("calls") for result in parity.measured],
        "hosts": [timing.as_data(hosts) for hosts in parity.hosts],
        "rows": plain(parity.table().to_dicts()),
    }


def save(parity: Parity, folder: Path, *, is_ideal: bool) -> None:
    """The table, and all runs as results; ``is_ideal`` says whether simulated hosts take no time."""
    from tailback.results.store import save as save_result

    with new_folder(folder, mine=_is_parity) as beside:
        for world, results in (("simulated", parity.simulated), ("measured", parity.measured)):
            for result in results:
                save_result(result, beside / f"{world}-{result.seed}")
        parity.table().write_csv(beside / "parity.csv")
        about = json.dumps(as_data(parity) | {"ideal_hosts": is_ideal}, indent=1, ensure_ascii=False)
        (beside / ABOUT).write_text(f"{about}\n", encoding="utf-8")


def _is_parity(folder: Path) -> bool:
    return isfile(folder / ABOUT)


def _show(parity: Parity, where: Place | None) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    out = console()
    out.print(
        f"[bold]{escape(parity.title)}[/bold], simulated ({counted(len(parity.simulated), 'run')}) and with real packets "
        f"({counted(len(parity.measured), 'run')})",
        soft_wrap=True,
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("of", "figure"):
        table.add_column(name)
    for name in ("simulated", "measured", "difference", "in %"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("shares")
    for row in parity.rows:
        cells = (row.simulated, row.measured, row.difference)
        part = "—" if math.isnan(row.relative) else f"{100 * row.relative:+.1f}"
        table.add_row(row.of, row.metric, *(told(row, cell) for cell in cells), part, row.verdict)
    show(table)
    for group, name in parity.kernel.items():
        out.print(f"{escape(group)}: measured is the kernel's {escape(name)}.", soft_wrap=True)
    if not parity.is_valid:
        reasons = {reason for result in parity.measured for reason in result.real["reasons"]}
        runs, do = counted(parity.invalid, "run"), "does" if parity.invalid == 1 else "do"
        out.print(f"[yellow]INVALID[/yellow]: {runs} with real packets {do} not count:", soft_wrap=True)
        for reason in sorted(reasons):
            out.print(f"  {escape(reason)}", soft_wrap=True)
    apart = "" if math.isnan(parity.worst) else f", at most {100 * parity.worst:.1f} % apart"
    saved = NOT_SAVED if where is None else f"Saved in {escape(str(where.folder))}{where.said}"
    out.print(f"Shares: {parity.verdict}{apart}. {saved}")


def told(row: Row, interval: Interval) -> str:
    """A mean with its half-width, for a reader."""
    mean, width = interval.mean, interval.half_width
    if not row.unit and row.metric != "share":
        return f"{100 * mean:.3g}{_half(100 * width)} %"
    if row.unit in {"", "packets"}:
        return f"{mean:.3g}{_half(width)} {row.unit}".rstrip()
    return shown(mean, row.unit) + ("" if math.isinf(width) else f" ± {shown(width, row.unit)}")


def _half(width: float) -> str:
    return "" if math.isinf(width) else f" ± {width:.2g}"
