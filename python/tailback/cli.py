"""The command line. Commands stand here; what they print is made in ``commands/``, and everything slow is imported when
a command needs it, so that ``tailback --help`` is quick."""

from __future__ import annotations

import errno
import io
import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tailback.commands import complete, helping


class Commands(TyperGroup):
    """Commands that are stopped without a traceback, wherever they are."""

    def invoke(self, ctx: Any) -> object:
        """Runs the command; what a command says itself where it is stopped comes first."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("tailback: stopped", err=True)
            raise typer.Exit(130) from None


app = typer.Typer(
    name="tailback",
    cls=Commands,
    help="A workbench for congestion control: simulate scenarios, and reproduce what papers claim.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Custom = Annotated[
    list[Path] | None,
    typer.Option(
        "--custom", metavar="FILE.py", help="Use the controllers and queues that a Python file defines. Repeatable."
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="FIELD=VALUE", help="Change a field, for example --set buffer='25 packets'. Repeatable."
    ),
]
Jobs = Annotated[int | None, typer.Option(min=1, help="Processes.", show_default="all cores")]
Keep = Annotated[bool, typer.Option("--cache/--no-cache", help="Keep finished runs, and take them up.")]
Memory = Annotated[
    str | None,
    typer.Option(
        help="What runs may take of memory together, for example '4 GB'.",
        show_default="half of what there is",
        envvar="TAILBACK_MEMORY",
    ),
]
Trust = Annotated[bool, typer.Option("--trust", help="Read files too that have changed since they were written.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print JSON on standard output instead of tables: one object per line.")
]


def _typed() -> str:
    """The command line as it was typed, for reports."""
    return shlex.join(["tailback", *sys.argv[1:]])


def _version(asked: bool) -> None:
    if asked:
        from tailback.results.versions import versions

        found = versions()
        typer.echo(f"tailback {found['tailback']}" + (f" ({found['revision']})" if "revision" in found else ""))
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """A workbench for congestion control."""
    del version


@app.command()
def run(  # noqa: PLR0917 (the command line has no positions here)
    file: Annotated[Path, typer.Argument(help="A scenario in TOML.", metavar="FILE")],
    seed: Annotated[int | None, typer.Option(min=0, help="In place of the scenario's own.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the result.", show_default="out/<file>-seed-<seed>")
    ] = None,
    changes: Changes = None,
    plot: Annotated[bool, typer.Option("--plot/--no-plot", help="Draw the overview figure.")] = True,
    predict: Annotated[
        str | None,
        typer.Option(
            "--predict",
            metavar="FAIRNESS",
            help="Show what theory gives the greedy flows, beside what they had: proportional, max-min, or the alpha of "
            "alpha-fairness.",
        ),
    ] = None,
    memory: Memory = None,
    custom: Custom = None,
    json: Json = False,
) -> None:
    """Simulate a scenario; print, save and plot what happened."""
    from tailback.commands.custom import use_files
    from tailback.commands.run import run_file

    use_files(custom or [])
    run_file(file, seed=seed, out=out, changes=changes or [], plot=plot, predict=predict, as_json=json, memory=memory)


@app.command()
def reproduce(  # noqa: PLR0917 (likewise)
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID | PAPER | all]…",
            help="Items of the ledger, papers, or all.",
            show_default="all",
            autocompletion=complete.items,
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The papers' own durations and seeds, or shorter ones.")
    ] = False,
    json: Json = False,
    out: Annotated[Path, typer.Option(help="Folder for figures, data and the report.")] = Path("out/reproduce"),
    strict: Annotated[bool, typer.Option("--strict", help="Fail also where a claim does not hold.")] = False,
    jobs: Jobs = None,
    listed: Annotated[bool, typer.Option("--list", help="List the ledger and stop.")] = False,
) -> None:
    """Rebuild tables and figures of the papers and test their claims.

    Writes a figure and a data file per item and one HTML report that works offline. The exit status is 0 when every
    item ran, whether or not its claim holds, and 1 when one could not run.
    """
    from tailback.commands.reproduce import list_items, reproduce_items

    if listed:
        list_items(what or ["all"], as_json=json)
    else:
        status = reproduce_items(what or ["all"], full=full, out=out, strict=strict, jobs=jobs, as_json=json)
        raise typer.Exit(status)


@app.command()
def validate(  # noqa: PLR0917 (likewise)
    files: Annotated[list[Path] | None, typer.Argument(help="Scenarios in TOML.", metavar="[FILE…]")] = None,
    reference: Annotated[
        bool, typer.Option("--reference", help="Compare TCP and queues with ns-2's figures instead, row by row.")
    ] = False,
    rows: Annotated[str, typer.Option(help="With --reference: only rows whose names contain this.")] = "",
    seeds: Annotated[
        int | None, typer.Option(min=1, help="With --reference: runs per row.", show_default="as many as ns-2 had")
    ] = None,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Check scenarios without running them; or, with --reference, the simulator itself."""
    if reference:
        from tailback.validation.report import validate_reference

        raise typer.Exit(validate_reference(rows, seeds=seeds, jobs=jobs, as_lines=json))
    if not files:
        raise typer.BadParameter("name scenario files, or ask for --reference")
    from tailback.commands.check import check_files

    raise typer.Exit(check_files(files, as_json=json))


@app.command()
def sweep(  # noqa: PLR0917 (likewise)
    file: Annotated[Path, typer.Argument(help="A scenario in TOML.", metavar="FILE")],
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="FIELD=VALUES",
            help="Values of a field, for example --over buffer='25 packets, 1 BDP' or --over scheme=reno,cubic. "
            "Repeatable: every combination is run.",
        ),
    ] = None,
    changes: Changes = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each combination.")] = 5,
    jobs: Jobs = None,
    out: Annotated[Path | None, typer.Option(help="Folder for tables, figures and the report.")] = None,
    cache: Keep = True,
    memory: Memory = None,
    custom: Custom = None,
    json: Json = False,
) -> None:
    """Simulate every combination of values of some fields, with several seeds, on all cores.

    A sweep that was stopped goes on where it was. The exit status is 1 where a run failed; the others are kept.
    """
    from tailback.commands.custom import use_files
    from tailback.commands.sweep import How, sweep_file

    use_files(custom or [])
    how = How(changes or [], seeds, jobs, out, cache, as_json=json, command=_typed(), memory=memory)
    raise typer.Exit(sweep_file(file, over or [], how))


@app.command()
def compare(  # noqa: PLR0917 (likewise)
    schemes: Annotated[
        list[str],
        typer.Argument(help="Schemes, by name or as JSON tables.", metavar="SCHEME…", autocompletion=complete.schemes),
    ],
    over: Annotated[list[Path], typer.Option("--over", help="A scenario in TOML. Repeatable.", metavar="FILE")],
    changes: Changes = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each scheme in each scenario.")] = 5,
    jobs: Jobs = None,
    out: Annotated[Path, typer.Option(help="Folder for tables, figures and the report.")] = Path("out/compare"),
    cache: Keep = True,
    memory: Memory = None,
    custom: Custom = None,
    json: Json = False,
) -> None:
    """Put each scheme in place of the flows' own and compare, in the same scenarios with the same seeds."""
    from tailback.commands.custom import use_files
    from tailback.commands.sweep import How, compare_schemes

    use_files(custom or [])
    how = How(changes or [], seeds, jobs, out, cache, as_json=json, command=_typed(), memory=memory)
    raise typer.Exit(compare_schemes(schemes, over, how))


@app.command()
def plot(  # noqa: PLR0917 (the command line has no positions here)
    folder: Annotated[Path, typer.Argument(help="A folder of `tailback run` or `tailback sweep`.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="Figures to draw, each followed by its arguments: over buffer goodput. Without any, the command lists what "
            "there is.",
            metavar="[FIGURE [ARGUMENT…]]…",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to.", show_default="the folder itself")] = None,
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


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="A folder of `tailback run` or `tailback sweep`.")],
    out: Annotated[Path | None, typer.Option(help="Where to.", show_default="report in that folder")] = None,
    trust: Trust = False,
) -> None:
    """Write the report of a saved result or sweep: one folder that works offline."""
    from tailback.commands.study import write_report

    write_report(folder, out, trust=trust)


@app.command()
def capture(  # noqa: PLR0917 (the command line has no positions here)
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


@app.command()
def lrd(  # noqa: PLR0917 (the command line has no positions here)
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


@app.command()
def tune(  # noqa: PLR0917 (the command line has no positions here)
    queue: Annotated[str, typer.Argument(help="The queue discipline: tdqm.", metavar="QUEUE")],
    file: Annotated[Path, typer.Argument(help="A scenario in TOML.", metavar="SCENARIO")],
    changes: Changes = None,
    link: Annotated[str | None, typer.Option(help="Its link.", show_default="the bottleneck")] = None,
    utilization: Annotated[
        float | None, typer.Option(help="Where the link is to rest, above 0.5, below 1.", show_default="0.95")
    ] = None,
    delay: Annotated[str | None, typer.Option(help="Mean queueing not to exceed, for example '2 ms'.")] = None,
    seeds: Annotated[int, typer.Option(min=0, help="Runs that measure the recommendation; 0 for none.")] = 5,
    json: Json = False,
) -> None:
    """Recommend a queue's parameters for a scenario, with what theory expects of them and what runs show."""
    from tailback.commands.tune import tune_file

    tune_file(
        queue,
        file,
        changes=changes or [],
        link=link,
        utilization=utilization,
        delay=delay,
        seeds=seeds,
        as_json=json,
    )


@app.command(context_settings={"allow_interspersed_args": False})
def shell(  # noqa: PLR0917 (the command line has no positions here)
    rate: Annotated[str, typer.Option(help="Rate of the link, both ways, for example '20 Mbit/s'.")],
    command: Annotated[
        list[str] | None,
        typer.Argument(help="What to run behind the link.", metavar="-- COMMAND", show_default="your shell"),
    ] = None,
    delay: Annotated[str, typer.Option(help="Propagation delay, each way.")] = "0 ms",
    queue: Annotated[
        str, typer.Option(help="Queue discipline, by name or as a table.", autocompletion=complete.queues)
    ] = "drop-tail",
    buffer: Annotated[
        str | None, typer.Option(help="How much may wait.", show_default="1 BDP, or 100 packets without a delay")
    ] = None,
    loss: Annotated[str | None, typer.Option(help="Probability of loss, each way, or a loss model as a table.")] = None,
    trace: Annotated[
        str | None, typer.Option(help="Mahimahi's trace of deliveries in place of the rate.", metavar="FILE")
    ] = None,
    schedule: Annotated[
        str | None, typer.Option(help="Changes of the rate: '10 s: 5 Mbit/s, 20 s: 20 Mbit/s', or a list of tables.")
    ] = None,
    up: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=VALUE", help="What is different from inside to outside, any field of a link. Repeatable."
        ),
    ] = None,
    down: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD=VALUE", help="What is different from outside to inside. Repeatable."),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Run this at the far end, a host of its own, at $TAILBACK_FAR."),
    ] = None,
    outside: Annotated[
        bool | None,
        typer.Option(
            "--outside/--no-outside",
            help="Whether the far end is the network outside, by masquerade, or a host of its own.",
            show_default="outside for root without --server",
        ),
    ] = None,
    record: Annotated[Path | None, typer.Option(help="Folder for the result.", metavar="FOLDER")] = None,
    packets: Annotated[bool, typer.Option("--packets", help="With --record: log every packet.")] = False,
    budget: Annotated[
        str, typer.Option(help="How late packets may leave in a run that counts: median and 99th percentile.")
    ] = "0.2 ms, 1 ms",
    mtu: Annotated[int, typer.Option(min=1280, max=65535, help="The longest packet, in bytes.")] = 1500,
    seed: Annotated[int, typer.Option(min=0, help="Of random losses and queues.")] = 1,
) -> None:
    """Run a command, or a shell, behind an emulated link with any queue, in real time. Linux only.

    The exit status is the command's. Needs no root where the system allows user namespaces.
    """
    from tailback.commands.shell import run_shell
    from tailback.shell.links import Link

    recording = {"delays": record is not None, "packets": packets, "queue_state": record is not None}
    link = Link(rate, delay, buffer, queue, loss, trace, schedule, up or [], down or [], seed, recording)
    raise typer.Exit(
        run_shell(link, command or [], server=server, outside=outside, mtu=mtu, budget=budget, record=record)
    )


@app.command()
def shrink(  # noqa: PLR0917 (the command line has no positions here)
    file: Annotated[Path, typer.Argument(help="A scenario in TOML.", metavar="SCENARIO")],
    condition: Annotated[
        str,
        typer.Option(
            "--while",
            metavar="CONDITION",
            help="What must go on to hold: comparisons of metrics, such as 'utilization < 0.5 and jain < 0.9', or 'failed'.",
        ),
    ],
    changes: Changes = None,
    out: Annotated[Path | None, typer.Option(help="File for it.", show_default="standard output")] = None,
    tries: Annotated[int, typer.Option(min=1, help="Runs at most.")] = 1000,
    memory: Memory = None,
    custom: Custom = None,
) -> None:
    """Make a scenario as small as can be while a condition on its run holds.

    Flows, links, fields and time go as long as what is left still shows what you look for.
    """
    from tailback.commands.custom import use_files
    from tailback.commands.shrink import shrink_file

    use_files(custom or [])
    shrink_file(file, condition, changes=changes or [], out=out, tries=tries, memory=memory)


@app.command()
def schemes(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Show these with all parameters.", metavar="[NAME…]", autocompletion=complete.schemes),
    ] = None,
    json: Json = False,
) -> None:
    """List the congestion control schemes, or show some with their parameters."""
    from tailback.commands.registry import show

    show("schemes", names or [], as_json=json)


@app.command()
def queues(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Show these with all parameters.", metavar="[NAME…]", autocompletion=complete.queues),
    ] = None,
    json: Json = False,
) -> None:
    """List the queue disciplines, or show some with their parameters."""
    from tailback.commands.registry import show

    show("queues", names or [], as_json=json)


@app.command()
def sources(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Show these with all parameters.", metavar="[NAME…]", autocompletion=complete.sources),
    ] = None,
    json: Json = False,
) -> None:
    """List the applications that flows can run, or show some with their parameters."""
    from tailback.commands.registry import show

    show("sources", names or [], as_json=json)


def main() -> None:
    """The entry point: mendable errors become one message on standard error and exit status 1."""
    from tailback.errors import TailbackError

    for stream in (sys.stdout, sys.stderr):  # Not every locale has a letter for all that we say.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        helping.prepare(sys.argv[1:])
        app(prog_name="tailback")
    except TailbackError as error:
        typer.echo(f"tailback: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()  # Whoever read our output has gone; Python would complain at exit.
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        typer.echo(f"tailback: standard output: {error.strerror}", err=True)
        os._exit(1)  # Python would try again to write what it still holds, and complain.


if __name__ == "__main__":
    main()
