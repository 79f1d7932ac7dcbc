"""Commands that list what scenarios can say and name: fields, schemes, queues, sources. What they do is in ``commands/``."""

from __future__ import annotations

from typing import Annotated

import typer

from tailback.cli.options import Json
from tailback.commands import complete


def fields(
    path: Annotated[
        str | None,
        typer.Argument(
            help="Show this field and those below it: topology, flows.transport, ack_delay.", metavar="[PATH]"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the fields of a scenario, or show some with meaning, type and default."""
    from tailback.commands.fields import show_fields

    show_fields(path, as_json=json)


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
