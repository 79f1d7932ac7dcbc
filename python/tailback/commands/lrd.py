"""``tailback lrd``: whether a trace is long-range dependent, and at which time scale it can be predicted."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tailback.commands.console import console, show
from tailback.commands.quick import draws
from tailback.errors import refused
from tailback.results.places import as_written, place, written
from tailback.units import option

if TYPE_CHECKING:
    from tailback.analysis.lrd.study import Study


ABOUT = "lrd.json"
"""What ``--json`` prints, beside figure and tables."""
"""How units of time end."""


@dataclass(frozen=True)
class Asked:
    """The options, as they were typed."""

    bin: str | None
    column: str | None
    link: str | None
    shortest: str | None
    longest: str | None
    time: str
    quantiser: str
    levels: int


def study_trace(source: Path, asked: Asked, out: Path | None, *, plot: bool, as_json: bool) -> None:
    """Reads a trace, says what was found, and writes figure and tables.

    Raises:
        TailbackError: for a trace or an option that makes no sense.
    """
    from tailback.analysis.lrd.study import study
    from tailback.analysis.lrd.trace import read_trace
    from tailback.results.files import expect_room

    if asked.quantiser not in {"sigma", "equal"}:
        raise refused("--quantiser", asked.quantiser, "sigma or equal")
    trace = read_trace(source, bin=_seconds("--bin", asked.bin), column=asked.column, link=asked.link)
    if out is not None:  # To study takes seconds and more.
        expect_room(out, mine=lambda folder: "long_range_dependent" in written(folder, ABOUT))
    found = study(
        trace,
        shortest=_seconds("--shortest", asked.shortest),
        longest=_seconds("--longest", asked.longest),
        time=_seconds("--time", asked.time) or 2.0,
        quantiser="equal" if asked.quantiser == "equal" else "sigma",
        levels=asked.levels,
    )
    files, note = [], ""
    if plot or out is not None:
        with place(out, Path("out") / f"lrd-{source.stem or source.name}", _same(found)) as where:
            files, note = write(found, where.folder), where.said
    if as_json:
        typer.echo(json.dumps(as_data(found), allow_nan=False))
        return
    _say(found)
    for path in files:
        typer.echo(str(path))
    if note:
        typer.echo(f"Saved in {files[0].parent}{note}")


def _same(found: Study) -> Callable[[Path], bool]:
    """Whether a folder holds the same estimates."""
    return lambda folder: written(folder, ABOUT) == as_written(as_data(found))


@draws
def write(found: Study, folder: Path) -> list[Path]:
    """The overview as a figure, and the tables of estimates and of time scales.

    Raises:
        StorageError: where that fails.
    """
    from tailback.plot.lrd import overview
    from tailback.plot.style import save
    from tailback.results.files import make_folder, write_file
    from tailback.results.tables import write_csv

    make_folder(folder)
    write_file(folder / ABOUT, lambda path: path.write_text(json.dumps(as_data(found)) + "\n", encoding="utf-8"))
    paths = [folder / name for name in ("overview.svg", "estimates.csv", "time_scales.csv")]
    save(overview(found), paths[0], salt=found.trace.name)
    write_csv(found.table, paths[1])
    write_csv(found.scales, paths[2])
    return paths


def as_data(found: Study) -> dict[str, Any]:
    """What ``--json`` prints; what is not finite is null."""
    table = found.prediction.table
    return {
        "trace": found.trace.name,
        "bins": found.trace.values.size,
        "bin_s": found.trace.bin,
        "mean": float(found.trace.values.mean()),
        "verdict": found.verdict,
        "long_range_dependent": found.long_range_dependent,
        "doubts": list(found.doubts),
        "halves": [_finite(value) for value in found.halves],
        "estimates": [{key: _finite(value) for key, value in row.items()} for row in found.table.iter_rows(named=True)],
        "levels": {
            "time_s": found.prediction.history,
            "counts": table.counts.tolist(),
            "expected": [_finite(value) for value in table.expected.tolist()],
            "mutual_information": table.mutual_information,
            "predictability": found.prediction.predictability,
        },
        "time_scales": [
            {key: _finite(value) for key, value in row.items()} for row in found.scales.iter_rows(named=True)
        ],
    }


def _say(found: Study) -> None:
    from rich import box
    from rich.table import Table

    trace = found.trace
    out = console()
    out.print(f"[bold]{trace.name}[/bold]: {trace.values.size} bins of {trace.bin:g} s, {trace.duration:g} s")
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("estimator", "H", "95 % interval", "from", "to"):
        shown.add_column(head, justify="left" if head == "estimator" else "right")
    for row in found.table.iter_rows(named=True):
        interval = f"{row['low']:.3f} to {row['high']:.3f}"
        shown.add_row(
            row["method"], f"{row['hurst']:.3f}", interval, f"{row['shortest']:.3g} s", f"{row['longest']:.3g} s"
        )
    show(shown)
    out.print(found.verdict, soft_wrap=True)
    prediction = found.prediction
    table = prediction.table
    out.print(
        f"Over {prediction.history:g} s the past explains {100 * prediction.predictability:.0f} % of the variance of the "
        f"future, {table.mutual_information:.2f} bits; E[L2 | L1] spans {table.span():.1f} of {table.levels} levels."
    )


def _seconds(name: str, text: str | None) -> float | None:
    return None if text is None else option(name, text, "time", positive=True)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
