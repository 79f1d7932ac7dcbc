"""Commands that carry real packets. What they do is in ``commands/``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailback.cli.options import Budget, Custom
from tailback.commands import complete


def shell(
    command: Annotated[
        list[str] | None,
        typer.Argument(help="What to run behind the link.", metavar="-- COMMAND", show_default="your shell"),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            help="Rate of the link, both ways, for example '20 Mbit/s'.", show_default="none, which takes a --trace"
        ),
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
        str | None, typer.Option(help="Mahimahi's trace of deliveries in place of --rate.", metavar="FILE")
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
    budget: Budget = "0.2 ms, 1 ms",
    mtu: Annotated[int, typer.Option(min=1280, max=65535, help="The longest packet, in bytes.")] = 1500,
    seed: Annotated[int, typer.Option(min=0, help="Of random losses and queues.")] = 1,
    custom: Custom = None,
) -> None:
    """Run a command, or a shell, behind an emulated link with any queue, in real time. Linux only.

    The exit status is the command's. Needs no root where the system allows user namespaces.
    """
    from tailback.commands.custom import use_files
    from tailback.commands.shell import run_shell
    from tailback.errors import ArgumentError
    from tailback.shell.links import Link

    if packets and record is None:
        raise ArgumentError("--packets: there is no folder for the log; expected --record FOLDER with it")
    use_files(custom or [])
    recording = {"delays": record is not None, "packets": packets, "queue_state": record is not None}
    link = Link(rate, delay, buffer, queue, loss, trace, schedule, up or [], down or [], seed, recording)
    raise typer.Exit(
        run_shell(link, command or [], server=server, outside=outside, mtu=mtu, budget=budget, record=record)
    )
