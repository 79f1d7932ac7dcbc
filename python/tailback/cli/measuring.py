"""The commands that run scenarios with real packets: their options. What they do is in ``commands/``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailback.cli.options import Budget, Changes, Custom, Json

SCENARIO = typer.Argument(help="A scenario in TOML; schemes may be kernel-cubic, kernel-reno, ….", metavar="FILE")


def lab(
    file: Annotated[Path, SCENARIO],
    seed: Annotated[int | None, typer.Option(min=0, help="In place of the scenario's own.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the result.", show_default="out/<file>-lab-<seed>")
    ] = None,
    changes: Changes = None,
    plot: Annotated[bool, typer.Option("--plot/--no-plot", help="Draw the overview figure.")] = True,
    budget: Budget = "0.2 ms, 1 ms",
    custom: Custom = None,
    json: Json = False,
) -> None:
    """Run a scenario on this machine, with real packets in real time. Linux only.

    Hosts are network namespaces, with a router between them that has the simulator's links. Flows are the same endpoints as
    in the simulator, over UDP in the clear, or the kernel's own TCP. Needs no root where the system allows user namespaces.
    The exit status is 1 where the run does not count; its result is saved all the same.
    """
    from tailback.commands.custom import use_files
    from tailback.commands.lab import lab_file

    use_files(custom or [])
    counts = lab_file(file, seed=seed, out=out, changes=changes or [], plot=plot, budget=budget, as_json=json)
    raise typer.Exit(counts)


def parity(
    file: Annotated[Path, SCENARIO],
    runs: Annotated[int, typer.Option(min=2, help="Runs with real packets; simulated are ten.")] = 3,
    more: Annotated[int, typer.Option(min=0, help="Further runs in place of those that do not count, at most.")] = 3,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the table and the runs.", show_default="out/<file>-parity")
    ] = None,
    changes: Changes = None,
    budget: Budget = "0.2 ms, 1 ms",
    ideal_hosts: Annotated[
        bool,
        typer.Option(
            "--ideal-hosts",
            help="In the simulator hosts take no time, where else they take what those of the real runs did.",
        ),
    ] = False,
    custom: Custom = None,
    json: Json = False,
) -> None:
    """Run a scenario in the simulator and with real packets, and compare. Linux only.

    Every figure's difference has its interval over the runs. In the simulator, flows of the kernel's are their counterparts.
    The exit status is 1 where shares are surely more than 10 % apart.
    """
    from tailback.commands.custom import use_files
    from tailback.commands.parity import parity_file

    use_files(custom or [])
    status = parity_file(
        file,
        changes=changes or [],
        runs=runs,
        more=more,
        budget=budget,
        ideal_hosts=ideal_hosts,
        out=out,
        as_json=json,
    )
    raise typer.Exit(status)
