"""``tailback run``: one scenario, its tables on the terminal, its result in a folder."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tailback.commands.changes import read_changed
from tailback.commands.console import console, show, stoppable, told_apart
from tailback.commands.custom import part_errors
from tailback.commands.overview import draw_overview
from tailback.progress import Bar
from tailback.units import scale_of, scaled

if TYPE_CHECKING:
    from rich.table import Table

    from tailback.results import Result
    from tailback.results.places import Place
    from tailback.results.predicted import Prediction

MANY = 24
"""More flows than this are shown as groups."""
_CUT = 0.01
"""A larger part of messages that had not ended is told."""
_NOTABLE = 0.01
"""A part of the processors' time that is worth telling."""
FULL = 0.999
"""Links with a predicted load above this have a queue."""


def run_file(
    file: Path,
    *,
    seed: int | None,
    out: Path | None,
    changes: Sequence[str],
    plot: bool,
    predict: str | None,
    as_json: bool,
    memory: str | None = None,
) -> None:
    """Runs a scenario, saves its result, and shows it, beside a prediction where one is asked for."""
    from tailback.commands.quick import numpy_alone

    numpy_alone()
    from tailback.run import run_text

    with stoppable("nothing was written"), part_errors():
        scenario = _read(file, changes)
        if predict is not None:
            from tailback.results.predicted import predict as predicted

            predicted(scenario, predict)  # What cannot be predicted shows before the run.
        if out is not None:
            from tailback.results.store import expect_room

            expect_room(out)
        with Bar(f"simulating {json.loads(scenario)['duration']}", 1.0) as bar:
            result = run_text(scenario, seed, bar.reach, memory)
    usual = Path("out") / f"{file.stem}-seed-{result.seed}"
    keep_and_tell(result, out, usual, plot=plot, predict=predict, as_json=as_json)


def keep_and_tell(
    result: Result, out: Path | None, usual: Path, *, plot: bool, predict: str | None, as_json: bool
) -> None:
    """Saves a result where it was asked for, or in the usual place, and prints it.

    Raises:
        StorageError: where it could not be saved; it is printed all the same.
    """
    from tailback.commands.keeping import kept
    from tailback.results.store import same, save

    # What was measured beyond the budget is told, and not drawn.
    counts = result.real.get("valid", True) and (result.flow_series.height > 0 or result.link_series.height > 0)
    draw = plot and counts
    also = (lambda beside: draw_overview(result, beside)) if draw else None
    saved = kept(out, usual, same(result), lambda folder: save(result, folder, also=also))
    prediction = result.predicted(predict) if predict is not None else None
    if as_json:
        told_apart(saved.where)
        typer.echo(json.dumps(_as_json(result, saved.folder(), prediction), ensure_ascii=False))
    else:
        _show(result, saved.where, plot=plot, drawn=draw)
        if prediction is not None:
            _show_prediction(prediction)
    saved.expect()


def _read(file: Path, changes: Sequence[str]) -> str:
    """The scenario as JSON. The types of scenarios take longer to make than most runs: only changes need them."""
    from tailback.scenario.file import read

    if not changes:
        return read(file)

    return read_changed(file, changes).to_json()


def _as_json(result: Result, folder: str | None, prediction: Prediction | None) -> dict[str, Any]:
    from tailback.plain import plain
    from tailback.results.gates import switched

    predicted = {}
    if prediction is not None:
        predicted = {
            "predicted": {
                "fairness": prediction.fairness,
                "kkt_residual": prediction.kkt_residual,
                "flows": plain(prediction.flows.to_dicts()),
                "links": plain(prediction.links.to_dicts()),
            }
        }
    return {
        "scenario": result.title,
        "seed": result.seed,
        "hash": result.hash,
        "versions": dict(result.versions),
        "duration": result.duration,
        "warm_up": result.warm_up,
        "wall_s": round(result.wall, 3),
        "events": result.events,
        "summary": plain(result.summary().row(0, named=True)),
        "warnings": list(result.warnings),
        "flows": plain(result.flows.to_dicts()),
        "links": plain(result.links.to_dicts()),
        **({"aggregates": plain(result.aggregates.to_dicts())} if result.aggregates.columns else {}),
        **({"switched": [gated._asdict() for gated in switched(result)]} if switched(result) else {}),
        "units": {
            name: unit for name, unit in result.units.items() if name in {*result.flows.columns, *result.links.columns}
        },
        **({"real": plain(dict(result.real))} if result.real else {}),
        **predicted,
        "out": folder,
    }


def _show(result: Result, where: Place | None, *, plot: bool, drawn: bool) -> None:
    from rich.markup import escape

    from tailback.commands.keeping import NOT_SAVED
    from tailback.results.gates import switched, told
    from tailback.results.metrics import QUEUES_WITHIN
    from tailback.results.warnings import without_series

    out = console()
    window = f", figures from {result.warm_up:g} s on" if result.warm_up else ""
    title = escape(result.title)
    out.print(f"[bold]{title}[/bold], {result.duration:g} s, seed {result.seed}{window}", soft_wrap=True)
    show(_flow_table(result))
    if (delays := _delay_table(result)) is not None:
        show(delays)
    if (completions := _completion_table(result)) is not None:
        show(completions)
    if result.aggregates.columns:
        show(_aggregate_table(result))
    show(_link_table(result))
    if any(name in result.link_series.columns for name in QUEUES_WITHIN):
        show(_queue_table(result))
    row = result.summary().row(0, named=True)
    out.print(
        f"Together: goodput {shown(row['goodput'], 'bit/s')} with headers{_fairness(result)}; at {row['bottleneck']}: "
        f"utilization {100 * row['utilization']:.2f} %, loss {100 * row['loss_rate']:.3g} %, "
        f"queueing delay {shown(row['queueing_delay'], 's')}.",
        soft_wrap=True,
    )
    if cut := _cut_short(result):
        out.print(f"[dim]{cut}[/dim]", soft_wrap=True)
    if late := _delivered_late(result):
        out.print(f"[dim]{late}[/dim]", soft_wrap=True)
    for gated in switched(result):
        out.print(f"Switched on and off: {escape(told(gated))}", soft_wrap=True)
    for warning in result.warnings:
        out.print(f"[yellow]Warning:[/yellow] {escape(warning)}.", soft_wrap=True)
    if result.real:
        out.print(f"[dim]{escape(_lateness(result))}[/dim]", soft_wrap=True)
    else:
        out.print(
            f"[dim]{result.events:,} events in {result.wall:.2f} s; hash {result.hash[:16]}[/dim]", soft_wrap=True
        )
    if not drawn and plot and not (result.flow_series.height or result.link_series.height):
        out.print(f"[dim]No overview: {escape(without_series(result))}.[/dim]", soft_wrap=True)
    if where is None:
        out.print(NOT_SAVED)
        return
    drawing = " with overview.svg" if drawn else ""
    out.print(f"Saved in {escape(str(where.folder))}{drawing}{escape(where.said)}", soft_wrap=True)


def _cut_short(result: Result) -> str:
    """How many files and bursts the end of the run cut short, where they are more than a few: completion times leave out the
    longest then."""
    from tailback.results.completion import unfinished

    cut, ended = int(unfinished(result)["unfinished"].sum()), result.counted_messages().height
    if not cut > _CUT * (cut + ended):
        return ""
    return (
        f"{cut:,} of {cut + ended:,} messages had not ended when the run did ({100 * cut / (cut + ended):.3g} %): completion "
        "times are those of the others."
    )


def _delivered_late(result: Result) -> str:
    """Why goodput is above throughput, where it is to be seen: only in a window that begins within the run."""
    flows = result.flows
    if not flows.filter(flows["goodput_bytes"] > flows["received_bytes"]).height:
        return ""
    return (
        "Goodput is above throughput where data that had come before the warm-up's end waited at the receiver for a lost packet "
        "and was delivered after it."
    )


def _fairness(result: Result) -> str:
    """Jain's index of the flows that always have something to send, and which these are where others are among them: a game
    that sends little because it has little to send is not treated unfairly."""
    import polars as pl

    from tailback.analysis.fairness import jain
    from tailback.results.warnings import greedy

    flows = result.flows.filter(pl.col("group").is_in(greedy(result)))
    if flows.height == result.flows.height:
        index = result.summary()["jain"][0]
        return f", Jain's index {'none' if index is None else f'{index:.4f}'}"
    if flows.height < 2 or not flows["goodput_bytes"].sum():
        return ""
    names = ", ".join(flows["group"].unique(maintain_order=True))
    index = jain(flows["goodput_bytes"].to_numpy())
    return f", Jain's index {index:.4f} of those that always have data to send ({names})"


def _lateness(result: Result) -> str:
    """How late the router and the endpoints of a run with real packets were."""

    def told(spans: Mapping[str, float]) -> str:
        return ", ".join(shown(spans[f"{name}_seconds"], "s") for name in ("p50", "p99"))

    budget = result.real["budget"]
    allowed = f"{shown(budget['median_seconds'], 's')}, {shown(budget['p99_seconds'], 's')}"
    late = [f"packets {told(result.real['lateness'])}"]
    if result.real.get("timers", {}).get("packets"):  # Schemes with a window alone set few, and the kernel's none.
        late.append(f"timers {told(result.real['timers'])}")
    if result.real.get("calls", {}).get("packets"):
        late.append(f"calls of custom parts {told(result.real['calls'])}")
    stolen = result.real.get("stolen", 0.0)
    by_host = f"; the machine's host kept {100 * stolen:.0f} % of its processors' time" if stolen > _NOTABLE else ""
    return f"late: {'; '.join(late)} (median, 99 %); allowed {allowed}{by_host}"


def _flow_table(result: Result) -> Table:
    import polars as pl

    flows = result.flows
    grouped = flows.height > MANY
    columns = ("goodput", "throughput", "retransmission_rate", "mean_rtt", "timeouts")
    if grouped:
        flows = flows.group_by("group", "scheme", maintain_order=True).agg(
            pl.len().alias("flows"), *(pl.col(name).mean() for name in columns)
        )
    names = ["group", "flows"] if grouped else ["flow"]
    rate, rate_unit = scale_of(flows["throughput"], "bit/s")
    rtt, rtt_unit = scale_of(flows["mean_rtt"], "s")
    table = _table("mean per flow of each group" if grouped else None)
    for name in (*names, "scheme"):
        table.add_column(name, justify="right" if name == "flows" else "left")
    for name, unit in (
        ("goodput", rate_unit),
        ("throughput", rate_unit),
        ("retransmitted", "%"),
        ("mean RTT", rtt_unit),
        ("timeouts", ""),
    ):
        table.add_column(_head(name, unit), justify="right", no_wrap=True)
    for row in flows.iter_rows(named=True):
        table.add_row(
            *(str(row[name]) for name in (*names, "scheme")),
            _number(row["goodput"], rate),
            _number(row["throughput"], rate),
            _number(row["retransmission_rate"], 100, 3),
            _number(row["mean_rtt"], rtt),
            f"{row['timeouts']:.3g}",
        )
    return table


def _delay_table(result: Result) -> Table | None:
    """One-way delays, where they were recorded: who waits behind whom."""
    import polars as pl

    columns = {"one_way_delay_p50": "p50", "one_way_delay_p95": "p95", "one_way_delay_p99": "p99", "jitter": "jitter"}
    if any(name not in result.flows.columns for name in columns):
        return None
    flows = result.flows.with_columns(pl.col(name).fill_nan(None) for name in columns)
    flows = flows.filter(pl.col("one_way_delay_p50").is_not_null())
    if flows.is_empty():
        return None
    grouped = flows.height > MANY
    if grouped:
        flows = flows.group_by("group", maintain_order=True).agg(pl.col(name).mean() for name in columns)
    delay, unit = scale_of(flows["one_way_delay_p99"], "s")
    table = _table(f"one-way delay of packets{', mean per flow of each group' if grouped else ''}")
    table.add_column("group" if grouped else "flow")
    for name in columns.values():
        table.add_column(_head(name, unit), justify="right", no_wrap=True)
    for row in flows.iter_rows(named=True):
        table.add_row(row["group" if grouped else "flow"], *(_number(row[name], delay) for name in columns))
    return table


def _completion_table(result: Result) -> Table | None:
    """How long files and bursts took, where any ended."""
    from tailback.results.completion import completion_times

    if result.messages.is_empty() or (groups := completion_times(result)).is_empty():
        return None
    columns = {f"completion_time_p{percent}": f"p{percent}" for percent in (50, 95, 99)}
    time, unit = scale_of(groups["completion_time_p50"], "s")
    table = _table("completion time of files and bursts")
    table.add_column("group")
    table.add_column("completed", justify="right")
    for name in columns.values():
        table.add_column(_head(name, unit), justify="right", no_wrap=True)
    for row in groups.head(MANY).iter_rows(named=True):
        table.add_row(row["group"], f"{row['messages']:,}", *(_number(row[name], time) for name in columns))
    return table


def _aggregate_table(result: Result) -> Table:
    rate, unit = scale_of(result.aggregates["throughput"], "bit/s")
    table = _table(None)
    for name in ("aggregate", "scheme", "from", "to", "waits in"):
        table.add_column(name)
    table.add_column("flows", justify="right")
    table.add_column(_head("throughput", unit), justify="right", no_wrap=True)
    for row in result.aggregates.head(MANY).iter_rows(named=True):
        names = (str(row[name]) for name in ("aggregate", "scheme", "from", "to", "link"))
        table.add_row(*names, str(row["data_flows"] + row["return_flows"]), _number(row["throughput"], rate))
    return table


def _link_table(result: Result) -> Table:
    links = result.main_links.head(MANY)
    rate, rate_unit = scale_of(links["throughput"], "bit/s")
    delay, delay_unit = scale_of(links["queueing_delay"], "s")
    table = _table(None)
    table.add_column("link")
    for name, unit in (
        ("throughput", rate_unit),
        ("utilization", "%"),
        ("dropped", "packets"),
        ("loss", "%"),
        ("mean queue", "packets"),
        ("queueing delay", delay_unit),
    ):
        table.add_column(_head(name, unit), justify="right", no_wrap=True)
    for row in links.iter_rows(named=True):
        table.add_row(
            row["link"],
            _number(row["throughput"], rate),
            f"{100 * row['utilization']:.2f}",
            f"{row['dropped_packets']:,}",
            _number(row["loss_rate"], 100, 3),
            f"{row['mean_queue']:.2f}",
            _number(row["queueing_delay"], delay),
        )
    return table


def _queue_table(result: Result) -> Table:
    from tailback.results.metrics import queue_delays

    queues = queue_delays(result)
    delay, unit = scale_of(queues["p99"], "s")
    table = _table("delay in each queue, over time")
    table.add_column("link")
    table.add_column("queue")
    for name in ("p50", "p99"):
        table.add_column(_head(name, unit), justify="right", no_wrap=True)
    for row in queues.head(MANY).iter_rows(named=True):
        table.add_row(row["link"], row["queue"], _number(row["p50"], delay, 3), _number(row["p99"], delay, 3))
    return table


def _show_prediction(prediction: Prediction) -> None:
    named = prediction.fairness
    law = f"alpha-fairness with alpha = {named}" if named[:1].isdigit() else f"{named} fairness"
    console().print(f"[bold]Predicted by {law}[/bold], for greedy flows at rest")
    flows, links = prediction.flows, prediction.links
    rate, unit = scale_of(flows["predicted"], "bit/s")
    table = _table(None if flows.height <= MANY else f"the first {MANY} of {flows.height}")
    table.add_column("flow")
    for name, of in (("links", ""), ("weight", ""), ("predicted", unit), ("measured", unit), ("difference", "%")):
        table.add_column(_head(name, of), justify="right", no_wrap=True)
    for row in flows.head(MANY).iter_rows(named=True):
        table.add_row(
            row["flow"],
            str(row["links"]),
            f"{row['weight']:g}",
            _number(row["predicted"], rate),
            _number(row["goodput"], rate),
            f"{100 * row['difference']:+.1f}",
        )
    show(table)
    if "predicted_delay" not in links.columns:
        return
    dear = links.filter(links["load"] > FULL).sort("predicted_delay", descending=True).head(MANY)
    delay, unit = scale_of(dear["predicted_delay"], "s")
    table = _table("links that are to be full")
    table.add_column("link")
    for name, of in (("load", "%"), ("predicted delay", unit), ("measured delay", unit)):
        table.add_column(_head(name, of), justify="right", no_wrap=True)
    for row in dear.iter_rows(named=True):
        table.add_row(
            row["link"],
            f"{100 * row['load']:.1f}",
            _number(row["predicted_delay"], delay),
            _number(row["queueing_delay"], delay),
        )
    show(table)


def _head(name: str, unit: str) -> str:
    return f"{name}\n[dim]{unit}[/dim]"


def _number(value: float | None, factor: float, digits: int = 4) -> str:
    return "—" if value is None else f"{value * factor:.{digits}g}"


def _table(title: str | None) -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="dim", pad_edge=False)


def shown(value: float | None, unit: str) -> str:
    """A number in base units for a reader."""
    if value is None or math.isnan(value):
        return "—"
    number, name = scaled(value, unit)
    return f"{number:.4g} {name}"
