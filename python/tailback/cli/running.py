"""Commands that simulate: run, validate, sweep, compare, shrink, tune. What they do is in ``commands/``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailback.cli.options import Changes, Custom, Jobs, Json, Keep, Memory, Metrics, number, typed
from tailback.commands import complete


def run(
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


def validate(
    files: Annotated[list[Path] | None, typer.Argument(help="Scenarios in TOML.", metavar="[FILE…]")] = None,
    reference: Annotated[
        bool, typer.Option("--reference", help="Compare TCP and queues with ns-2's figures instead, row by row.")
    ] = False,
    rows: Annotated[str, typer.Option(help="With --reference: only rows whose names contain this.")] = "",
    seeds: Annotated[
        int | None, typer.Option(min=1, help="With --reference: runs per row.", show_default="as many as ns-2 had")
    ] = None,
    jobs: Jobs = None,
    custom: Custom = None,
    json: Json = False,
) -> None:
    """Check scenarios without running them; or, with --reference, the simulator itself."""
    from tailback.commands.custom import use_files

    use_files(custom or [])
    if reference:
        from tailback.validation.report import validate_reference

        raise typer.Exit(validate_reference(rows, seeds=seeds, jobs=jobs, as_lines=json))
    if not files:
        raise typer.BadParameter("name scenario files, or ask for --reference")
    from tailback.commands.check import check_files

    raise typer.Exit(check_files(files, as_json=json))


def sweep(
    file: Annotated[Path, typer.Argument(help="A scenario in TOML.", metavar="FILE")],
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="FIELD=VALUES",
            help="Values of a field, for example --over buffer='25 packets, 1 BDP' or --over scheme=reno,cubic. "
            "Repeatable, once per field: every combination is run.",
        ),
    ] = None,
    changes: Changes = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each combination.")] = 5,
    jobs: Jobs = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for tables, figures and the report.", show_default="out/<file>-sweep")
    ] = None,
    metric: Metrics = None,
    cache: Keep = True,
    memory: Memory = None,
    custom: Custom = None,
    json: Json = False,
) -> None:
    """Simulate every combination of values of some fields, with several seeds, on all cores.

    A sweep that was stopped goes on where it was; of short runs it makes again about half a second's work per worker at
    most. The exit status is 1 where a run failed; the others are kept.
    """
    from tailback.commands.custom import use_files
    from tailback.commands.sweep import How, sweep_file

    use_files(custom or [])
    how = How(
        changes or [], seeds, jobs, out, cache, as_json=json, command=typed(), memory=memory, metrics=metric or []
    )
    raise typer.Exit(sweep_file(file, over or [], how))


def compare(
    schemes: Annotated[
        list[str],
        typer.Argument(help="Schemes, by name or as JSON tables.", metavar="SCHEME…", autocompletion=complete.schemes),
    ],
    over: Annotated[list[Path], typer.Option("--over", help="A scenario in TOML. Repeatable.", metavar="FILE")],
    in_place_of: Annotated[
        str | None,
        typer.Option(
            "--in-place-of",
            metavar="SCHEME",
            help="Only flows of this scheme get the others; competing flows keep theirs.",
            show_default="all flows get them",
            autocompletion=complete.schemes,
        ),
    ] = None,
    changes: Changes = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each scheme in each scenario.")] = 5,
    jobs: Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for tables, figures and the report.", show_default="out/<file>-compare"),
    ] = None,
    metric: Metrics = None,
    cache: Keep = True,
    memory: Memory = None,
    custom: Custom = None,
    json: Json = False,
) -> None:
    """Put each scheme in place of the flows' own and compare, in the same scenarios with the same seeds."""
    from tailback.commands.custom import use_files
    from tailback.commands.sweep import How, compare_schemes

    use_files(custom or [])
    how = How(
        changes or [], seeds, jobs, out, cache, as_json=json, command=typed(), memory=memory, metrics=metric or []
    )
    raise typer.Exit(compare_schemes(schemes, over, how, in_place_of))


def shrink(
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


def tune(
    queue: Annotated[str, typer.Argument(help="The queue discipline: tdqm.", metavar="QUEUE")],
    file: Annotated[Path, typer.Argument(help="A scenario in TOML.", metavar="SCENARIO")],
    changes: Changes = None,
    link: Annotated[str | None, typer.Option(help="Its link.", show_default="the bottleneck")] = None,
    utilization: Annotated[
        float | None,
        typer.Option(
            help="Where the link is to rest, above 0.5, below 1.",
            show_default="0.95",
            parser=number,
            metavar="FLOAT",
        ),
    ] = None,
    delay: Annotated[str | None, typer.Option(help="Mean queueing not to exceed, for example '2 ms'.")] = None,
    seeds: Annotated[int, typer.Option(min=0, help="Runs that measure the recommendation; 0 for theory alone.")] = 5,
    rounds: Annotated[int, typer.Option(min=0, help="Corrections by runs at most; 0 for none.")] = 5,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Recommend a queue's parameters for a scenario, with what theory expects of them and what runs show.

    Where runs miss the target, theory is asked for more or less, until runs of some seeds hit it; those of others measure.
    The exit status is 1 where these miss what was asked for.
    """
    from tailback.commands.tune import tune_file

    status = tune_file(
        queue,
        file,
        changes=changes or [],
        link=link,
        utilization=utilization,
        delay=delay,
        seeds=seeds,
        rounds=rounds,
        jobs=jobs,
        as_json=json,
    )
    raise typer.Exit(status)
