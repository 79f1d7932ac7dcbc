"""Commands that look at what was recorded: plot, report, capture, lrd. What they do is in ``commands/``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailback.cli.options import Changes, Custom, Json, Trust


def plot(
    folder: Annotated[Path, typer.Argument(help="A folder of `tailback run` or `tailback sweep`.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="Figures to draw, each followed by its arguments: over buffer goodput. Without any, the command lists what "
            "there is.",
            metavar="[FIGURE [ARGUMENT…]]…",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to.", metavar="FOLDER", show_default="the folder itself")
    ] = None,
    kind: Annotated[str, typer.Option(help="svg, pdf or png.")] = "svg",
    options: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An argument of the figures, by its name. Repeatable."),
    ] = None,
    trust: Trust = False,
) -> None:
    """Draw figures of a saved result or sweep."""
    from tailback.commands.figures import draw_figures

    draw_figures(folder, words or [], out=out, kind=kind, options=options or [], trust=trust)


def report(
    folder: Annotated[Path, typer.Argument(help="A folder of `tailback run` or `tailback sweep`.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to.", metavar="FOLDER", show_default="report in that folder")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="What a sweep's heat map shows, for example utilization.", show_default="goodput")
    ] = None,
    x: Annotated[
        str | None,
        typer.Option(help="The swept field along its bottom.", show_default="a quantity with the most values"),
    ] = None,
    y: Annotated[str | None, typer.Option(help="The field upwards.", show_default="the next")] = None,
    by: Annotated[
        str | None, typer.Option(help="The field whose values have a panel each.", show_default="one with few values")
    ] = None,
    trust: Trust = False,
) -> None:
    """Write the report of a saved result or sweep: one folder that works offline.

    Of a sweep over two fields and more it has a heat map; over fields without a side and without panels, its cells are means,
    which it says.
    """
    from tailback.commands.study import write_report

    write_report(folder, out, cells={"metric": metric, "x": x, "y": y, "by": by}, trust=trust)


def capture(
    source: Annotated[
        Path, typer.Argument(help="A scenario in TOML, or a folder of `tailback run`.", metavar="SOURCE")
    ],
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Files to write: .pcapng for Wireshark, .qlog for qvis, .trace for Mahimahi.", metavar="OUT…"
        ),
    ],
    at: Annotated[str, typer.Option(help="Where: senders, receivers, or a link by its name.")] = "senders",
    flow: Annotated[str | None, typer.Option(help="One flow only; a .qlog file is of one.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="In place of the scenario's own.")] = None,
    changes: Changes = None,
    custom: Custom = None,
    trust: Trust = False,
) -> None:
    """Write a run's packets, congestion state or deliveries in the formats of other programs.

    A scenario is run for it with its packets recorded; a saved result needs record.packets for .pcapng.
    """
    from tailback.commands.capture import capture_run
    from tailback.commands.custom import use_files

    use_files(custom or [])
    capture_run(source, files, at=at, flow=flow, seed=seed, changes=changes or [], trust=trust)


def lrd(
    source: Annotated[
        Path,
        typer.Argument(
            help="A table (.csv, .parquet), a capture (.pcap, .pcapng), or a folder of `tailback run`.", metavar="TRACE"
        ),
    ],
    width: Annotated[
        str | None,
        typer.Option("--bin", help="Width of the bins, for example '10 ms'.", show_default="10 ms, or the trace's own"),
    ] = None,
    column: Annotated[str | None, typer.Option(help="The table's column of volumes.")] = None,
    link: Annotated[str | None, typer.Option(help="The run's link.", show_default="the bottleneck")] = None,
    shortest: Annotated[
        str | None,
        typer.Option(help="Finest scale that estimates rest on.", show_default="1 s, or 16 bins of a short trace"),
    ] = None,
    longest: Annotated[str | None, typer.Option(help="Coarsest scale.", show_default="as the trace allows")] = None,
    time: Annotated[str, typer.Option(help="Time scale of the table of levels, T1 = T2.")] = "2 s",
    quantiser: Annotated[
        str, typer.Option(help="Levels: sigma (bands of the deviation) or equal (probability).")
    ] = "sigma",
    levels: Annotated[int, typer.Option(min=2, max=64, help="How many levels.")] = 8,
    out: Annotated[
        Path | None, typer.Option(help="Folder for figure and tables.", show_default="out/lrd-<trace>")
    ] = None,
    plot: Annotated[bool, typer.Option("--plot/--no-plot", help="Draw the overview figure.")] = True,
    json: Json = False,
) -> None:
    """Say whether traffic is long-range dependent, by six estimators, and at which time scale it can be predicted."""
    from tailback.commands.lrd import Asked, study_trace

    asked = Asked(width, column, link, shortest, longest, time, quantiser, levels)
    study_trace(source, asked, out, plot=plot, as_json=json)
