"""The page about a sweep, a comparison or a single result: tables with intervals, figures with their data, and how to
make everything again. One folder, which works offline. Which figures it has is decided in ``drawn.py``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from tailback.cells import cell
from tailback.errors import ArgumentError
from tailback.plot.style import save, unheeded
from tailback.report.again import result_command, run_command
from tailback.report.drawn import Cells, Drawn, figures_of_result, figures_of_sweep
from tailback.report.figure import csv_download, take_over
from tailback.report.figure import drawn as points_of
from tailback.report.figure import shown as figure_shown
from tailback.report.page import write_page
from tailback.results import tables
from tailback.results.files import make_folder
from tailback.sweeps.spread import why_none
from tailback.units import counted, scale_of

if TYPE_CHECKING:
    from tailback.results import Result
    from tailback.sweeps import Runs

LISTED = 40
"""So many scenarios and errors are written out."""


def write_sweep_report(
    runs: Runs, folder: Path, source: Path | None = None, cells: Cells | None = None, *, called: Path | None = None
) -> Path:
    """Writes ``folder/index.html`` about a sweep, with figures and tables beside it.

    Args:
        runs: what is told.
        folder: where to.
        source: where the runs are saved, for the commands that draw the figures again; they are saved into
            ``folder/runs`` where they are not saved yet.
        cells: what the heat map shows.
        called: what the folder will be called, where it is still written beside its place.

    Returns:
        The page's path.

    Raises:
        NotFoundError: where ``cells`` names no axis or metric of the sweep.
        ArgumentError: where ``cells`` asks for a heat map and the sweep has no two axes.
        StorageError: where writing fails.
    """
    wanted = figures_of_sweep(runs, cells or Cells())  # What cannot be drawn is told before anything is written.
    make_folder(folder)
    if source is None:
        runs.save(folder / "runs", csv=False)
        source = (called or folder) / "runs"
    data = []
    for name in ("table", "flows", "links"):
        file = f"{'runs' if name == 'table' else name}.csv"
        tables.write_csv(getattr(runs, name), folder / file)
        data.append(file)
    failed = f", {runs.failed.height} failed" if runs.failed.height else ""
    count = counted(len(runs.present), "variant")
    figures = [_figure(drawn, folder, source) for drawn in wanted]
    context = {
        "title": " × ".join(runs.axes) or "runs of several seeds",
        "lead": f"{counted(len(runs), 'run')}: {count}, {_seeds(runs)} each{failed}. {why_none(runs)}".rstrip(),
        "tables": _tables(runs, data),
        "figures": figures,
        "files": [csv_download(name, folder / name, folder) for name in data],
        "real": False,
        "left_out": _left_out(runs),
        "problems": [
            {"which": _which(row, runs.axes), "error": row["error"]} for row in runs.failed.head(LISTED).to_dicts()
        ],
        "command": runs.command,
        "rerun": _rerun(runs),
        "scenarios": [
            {
                "name": ", ".join(f"{name} = {value}" for name, value in variant.labels.items()) or "the scenario",
                "toml": variant.scenario.to_toml(),
            }
            for variant in runs.present[:LISTED]
            if variant.scenario is not None
        ],
    }
    return write_page("study.html", folder / "index.html", context, interactive=_interactive(figures))


def write_result_report(
    result: Result, folder: Path, source: Path | None = None, *, called: Path | None = None
) -> Path:
    """Writes ``folder/index.html`` about one run.

    Args:
        result: what is told.
        folder: where to.
        source: where the result is saved; into ``folder/result`` where it is not saved yet.
        called: what the folder will be called, where it is still written beside its place.

    Raises:
        StorageError: where writing fails.
    """
    make_folder(folder)
    if source is None:
        result.save(folder / "result", csv=False)
        source = (called or folder) / "result"
    files = ["flows", "links", *(["aggregates"] if result.aggregates.columns else [])]
    for name in files:
        tables.write_csv(getattr(result, name), folder / f"{name}.csv")
    figures = [_figure(drawn, folder, source) for drawn in figures_of_result(result)]
    warned = [f"Warning: {warning}." for warning in result.warnings]
    context = {
        "title": result.title,
        "lead": " ".join(
            [
                f"{counted(result.flows.height, 'flow')} for {result.duration:g} s, seed {result.seed}.",
                *_real(result),
                *warned,
            ]
        ),
        "tables": _tables_of_result(result),
        "figures": figures,
        "files": [csv_download(f"{name}.csv", folder / f"{name}.csv", folder) for name in files],
        "problems": [],
        "command": result_command(result, source / "scenario.toml"),
        "rerun": "" if result.real else run_command("scenario.toml", result.seed, [result.scenario]),
        "real": bool(result.real),
        "left_out": "",
        "scenarios": [{"name": "the scenario", "toml": result.scenario.to_toml()}],
    }
    return write_page("study.html", folder / "index.html", context, interactive=_interactive(figures))


def _tables_of_result(result: Result) -> list[dict[str, Any]]:
    """Flows, aggregates where there are any, and the links that matter."""
    about = "Averages after the warm-up." if result.warm_up else "Averages over the whole run."
    about_flows = f"{about} Throughput and goodput are counted on the wire, headers included."
    columns = ("flow", "scheme", "throughput", "goodput", "retransmission_rate", "mean_rtt")
    made = [_plain_table("flows", "Flows", about_flows, result.flows.select(columns), result.units)]
    if result.aggregates.columns:
        told = result.aggregates.select("aggregate", "scheme", "from", "to", "link", "data_flows", "throughput")
        about_them = "From edge to edge; what waits to enter waits in the link named here."
        made.append(_plain_table("aggregates", "Aggregates", about_them, told, result.units))
    columns = ("link", "throughput", "utilization", "loss_rate", "mean_queue", "queueing_delay")
    quiet = result.links.height - result.main_links.height
    others = f" {quiet} others, which dropped nothing and have no time series, are in the data." if quiet else ""
    links = result.main_links.select(columns)
    return [*made, _plain_table("links", "Links", about + others, links, result.units)]


def _interactive(figures: Sequence[dict[str, Any]]) -> bool:
    return any(figure["shown"].plot for figure in figures)


def _figure(drawn: Drawn, folder: Path, source: Path) -> dict[str, Any]:
    target = folder / f"{drawn.id}.svg"
    with unheeded():
        made = drawn.draw()
        save(made, target, salt=drawn.id)
    points = folder / f"{drawn.id}.csv"
    taken = take_over(made, laid_out=True)
    tables.write_csv(points_of(taken), points)
    data = [csv_download("data (CSV)", points, folder)]
    return {
        "id": drawn.id,
        "title": drawn.title,
        "about": drawn.about,
        "shown": figure_shown(made, target, folder, name=drawn.id, title=drawn.title, data=data, taken=taken),
        "command": f"tailback plot {shlex.quote(str(source))} {drawn.words}",
    }


def _tables(runs: Runs, data: Sequence[str]) -> list[dict[str, Any]]:
    about = "Means over seeds ± half-width of the 95 % interval by Student's t."
    together = runs.means()
    scales = _scales(together)
    found = [
        _interval_table("summary", "All flows together", about + _beyond(together), together, scales, keys=runs.axes)
    ]
    if runs.flows.height and runs.flows["group"].n_unique() > 1:
        by_group = runs.means(by="group")
        about_group = f"{about} Per flow of each group.{_beyond(by_group)}"
        keys = runs.keys("group")
        found.append(_interval_table("groups", "Groups of flows", about_group, by_group, scales, keys=keys))
    if "scheme" in runs.axes and runs.table["scheme"].n_unique() > 1:
        try:
            differences = runs.differences("scheme").with_columns(mean="difference")
        except ArgumentError:  # Schemes that change together with other fields have no pairs.
            pass
        else:
            about = f"Paired differences from {differences['baseline'][0]}, seed by seed."
            found.append(
                _interval_table("differences", "Differences", about, differences, scales, keys=runs.axes, signed=True)
            )
    return [{**table, "data": list(data)} for table in found]


def _scales(table: pl.DataFrame) -> dict[str, tuple[float, str]]:
    """By metric that has values: the factor from base units, and the unit."""
    parts = [
        (metric, table.filter(pl.col("metric") == metric)) for metric in table["metric"].unique(maintain_order=True)
    ]
    found = [(metric, part) for metric, part in parts if part["mean"].drop_nulls().len()]
    return {metric: scale_of(part["mean"], str(part["unit"][0])) for metric, part in found}


def _beyond(table: pl.DataFrame) -> str:
    """What to say where an interval reaches beyond what its metric can be."""
    bounded = table.filter(pl.col("metric").is_in(["jain", "utilization"]))
    if not (bounded["mean"] + bounded["half_width"].fill_null(0.0) > 1.0 + 1e-9).any():
        return ""
    return " Intervals are symmetric; what lies beyond 1 of Jain's index, or 100 % of a utilization, cannot be."


def _interval_table(
    name: str,
    title: str,
    about: str,
    table: pl.DataFrame,
    usual: Mapping[str, tuple[float, str]],
    *,
    keys: Sequence[str],
    signed: bool = False,
) -> dict[str, Any]:
    """A row per combination of ``keys``. Metrics are in their ``usual`` units, so that tables of a page can be compared."""
    own = _scales(table)
    metrics, scales = list(own), {**own, **usual}
    columns: list[tuple[str, str | None]] = [(key, None) for key in keys]
    columns += [(metric.replace("_", " "), scales[metric][1]) for metric in metrics]
    groups = table.group_by(list(keys), maintain_order=True) if keys else [((), table)]
    rows = []
    for values, part in groups:
        cells = {row["metric"]: row for row in part.iter_rows(named=True)}
        shown = [
            cell(cells.get(metric), scales[metric][0], signed=signed, most=6 if signed else 3) for metric in metrics
        ]
        rows.append([*(str(value) for value in values), *shown])
    return {"id": name, "title": title, "about": about, "columns": columns, "rows": rows, "data": []}


def _plain_table(name: str, title: str, about: str, table: pl.DataFrame, units: Any) -> dict[str, Any]:
    columns: list[tuple[str, str | None]] = []
    lines: list[list[str]] = []
    for column in table.get_columns():
        if not column.dtype.is_numeric():
            columns.append((column.name, None))
            lines.append([str(value) for value in column])
            continue
        factor, unit = scale_of(column, units.get(column.name, ""))
        columns.append((column.name.replace("_", " "), unit))
        lines.append(["—" if value is None else f"{value * factor:.4g}" for value in column])
    rows = [list(row) for row in zip(*lines, strict=True)][:LISTED]
    if table.height > LISTED:
        about += f" The first {LISTED} of {table.height} rows; all are in the data."
    return {"id": name, "title": title, "about": about, "columns": columns, "rows": rows, "data": [f"{name}.csv"]}


def _real(result: Result) -> list[str]:
    """That packets were real, and which flows the kernel carried."""
    if not result.real:
        return []
    kernel = result.real.get("made", {}).get("kernel", {})
    carried = ", ".join(f"{name} by kernel-{scheme}" for name, scheme in kernel.items())
    return ["With real packets, in real time."] + ([f"The kernel's own TCP carried {carried}."] if kernel else [])


def _rerun(runs: Runs) -> str:
    if not len(runs):
        return ""
    return run_command("scenario.toml", int(runs.table["seed"][0]), [variant.scenario for variant in runs.present])


def _seeds(runs: Runs) -> str:
    """How many a variant has; sweeps that were joined may differ."""
    counts = sorted(set(runs.table["variant"].value_counts()["count"])) or [0]
    return f"{counts[0]} to {counts[-1]} seeds" if len(counts) > 1 else counted(counts[0], "seed")


def _left_out(runs: Runs) -> str:
    """What the page does not write out."""
    counts = {"scenarios": len(runs.present), "errors": runs.failed.height}
    said = [f"{LISTED} of {count} {name}" for name, count in counts.items() if count > LISTED]
    return f"Written out are the first {' and '.join(said)}; the saved runs have all." if said else ""


def _which(row: dict[str, Any], axes: Sequence[str]) -> str:
    return ", ".join(f"{name} = {row[name]}" for name in (*axes, "seed"))
