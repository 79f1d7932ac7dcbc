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
from tailback.commands.lab import read
from tailback.commands.run import shown
from tailback.lab.hosts import IDEAL, MEASURED, Hosts, nearest, rate_of
from tailback.lab.parity import Parity, Row, compare
from tailback.progress import Bar
from tailback.results.files import expect_room, new_folder
from tailback.results.places import Place, place
from tailback.units import number, rate

ABOUT = "parity.json"

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
    """Compares, saves the table and all runs, and shows it; 0 where shares agree or nothing can be said, 1 where they do not."""
    setup = read(file, changes)
    usual = Path("out") / f"{file.stem}-parity"
    expect_room(out or usual.with_name(f".{usual.name}"), mine=_is_parity)
    hosts = IDEAL if ideal_hosts else MEASURED
    with stoppable("nothing was written"):
        seconds = (runs + more) * number(json.loads(setup.scenario)["duration"])
        with Bar(f"running in both worlds, at most {seconds:.4g} s", 1.0) as bar:
            parity = compare(
                setup,
                replicates=runs,
                more=more,
                hosts=hosts,
                budget=budget,
                progress=bar.reach,
            )
    with place(out, usual, _same(parity)) as where:
        save(parity, where.folder)
    if as_json:
        told_apart(where)
        typer.echo(json.dumps(as_data(parity) | {"out": str(where.folder)}, ensure_ascii=False))
    else:
        _show(parity, where)
        console().print(f"In the simulator {_said(hosts, rate_of(json.loads(setup.scenario)))}.", soft_wrap=True)
    return 1 if parity.verdict == "beyond 10 %" else 0


def _same(parity: Parity) -> Callable[[Path], bool]:
    """Whether a folder compares the same scenario: the runs with real packets there differ every time."""
    from tailback.results.store import same

    return lambda folder: any(same(parity.simulated[0])(one) for one in folder.glob("simulated-*"))


def _said(hosts: Sequence[Hosts], bottleneck: float) -> str:
    """What hosts take, for a reader."""
    if not hosts:
        return "hosts take no time"
    beside = nearest(hosts, bottleneck)
    kernel, ours = (f"{1e6 * one.mean:.0f} ± {1e6 * one.deviation:.0f} µs" for one in (beside.kernel, beside.ours))
    return (
        f"a flow's two hosts take {kernel} together where it is the kernel's, {ours} where it is ours (mean and standard "
        f"deviation, as measured at {rate(beside.rate)}); --ideal-hosts leaves that out"
    )


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
        "rows": plain(parity.table().to_dicts()),
    }


def save(parity: Parity, folder: Path) -> None:
    """The table, and all runs as results."""
    from tailback.results.store import save as save_result

    with new_folder(folder, mine=_is_parity) as beside:
        for world, results in (("simulated", parity.simulated), ("measured", parity.measured)):
            for result in results:
                save_result(result, beside / f"{world}-{result.seed}")
        parity.table().write_csv(beside / "parity.csv")
        about = json.dumps(as_data(parity), indent=1, ensure_ascii=False)
        (beside / ABOUT).write_text(f"{about}\n", encoding="utf-8")


def _is_parity(folder: Path) -> bool:
    return (folder / ABOUT).is_file()


def _show(parity: Parity, where: Place) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    out = console()
    out.print(
        f"[bold]{escape(parity.title)}[/bold], simulated ({len(parity.simulated)} runs) and with real packets "
        f"({len(parity.measured)} runs)",
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
        out.print(f"[yellow]INVALID[/yellow]: {parity.invalid} runs with real packets do not count:", soft_wrap=True)
        for reason in sorted(reasons):
            out.print(f"  {escape(reason)}", soft_wrap=True)
    apart = "" if math.isnan(parity.worst) else f", at most {100 * parity.worst:.1f} % apart"
    out.print(f"Shares: {parity.verdict}{apart}. Saved in {escape(str(where.folder))}{where.said}")


def told(row: Row, interval: Interval) -> str:
    """A mean with its half-width, for a reader."""
    mean, width = interval.mean, interval.half_width
    if not row.unit and row.metric != "share":
        return f"{100 * mean:.3g}{_half(100 * width)} %"
    if row.unit in {"", "packets"}:
        return f"{mean:.3g}{_half(width)}"
    return shown(mean, row.unit) + ("" if math.isinf(width) else f" ± {shown(width, row.unit)}")


def _half(width: float) -> str:
    return "" if math.isinf(width) else f" ± {width:.2g}"
