"""``tailback schemes``, ``queues`` and ``sources``: what a scenario can name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from tailback.errors import NotFoundError, one_of
from tailback.units import all_shown

if TYPE_CHECKING:
    from rich.table import Table

KINDS = {"schemes": "scheme", "queues": "queue discipline", "sources": "source"}


def entries(kind: str) -> list[dict[str, Any]]:
    """All registered schemes, queues or sources."""
    from tailback import _core

    found: list[dict[str, Any]] = json.loads(_core.registry(), object_hook=all_shown)[kind]
    return found


def show(kind: str, names: Sequence[str], *, as_json: bool) -> None:
    """Prints those that are named with their parameters, or a list of all; as JSON always with parameters.

    Raises:
        NotFoundError: for a name that there is none of; says which is nearest.
    """
    known = {entry["name"]: entry for entry in entries(kind)}
    for name in names:
        if name not in known:
            raise NotFoundError(f"{name}: no such {KINDS[kind]}; expected {one_of(name, known)}")
    chosen = [known[name] for name in names] or list(known.values())
    if as_json:
        for entry in chosen:
            typer.echo(json.dumps(entry, ensure_ascii=False))
    elif names:
        for entry in chosen:
            _whole(kind, entry)
    else:
        _list(kind, chosen)


def _list(kind: str, chosen: Sequence[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from tailback.commands.console import console

    out = console()
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for entry in chosen:
        table.add_row(entry["name"], Text(_plain(entry["summary"])))
    out.print(table)
    out.print(Text(f"\n`tailback {kind} NAME` shows parameters, defaults and source.", style="dim"))


def _whole(kind: str, entry: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    from tailback.commands.console import console

    out = console()
    source = f"  [dim]{entry['source']}[/dim]" if entry.get("source") else ""
    out.print(f"[bold]{entry['name']}[/bold]{source}")
    out.print(Text("  " + _plain(entry["summary"])))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for _ in range(4):
        table.add_column(overflow="fold")
    within = _within(kind, entry["name"])
    for parameter in entry["parameters"]:
        fields = within.get(parameter["name"], ())
        rows = [(parameter["name"], parameter.get("default"), parameter["summary"])]
        rows += [(f"  {name}", field.get("default"), field.get("description", "")) for name, field in fields]
        for name, default, about in rows:
            written = "" if default is None else default if isinstance(default, str) else json.dumps(default)
            table.add_row("   ", name, Text(written, style="cyan"), Text(_plain(about), style="dim"))
    if table.row_count:
        out.print(table)
    if drawn := [one["name"] for one in entry["parameters"] if '"pareto"' in one.get("type", "")]:
        said = f"  What {' and '.join(drawn)} may be, with their own parameters; a value alone is constant"
        out.print(Text(said, style="dim"))
        out.print(_distributions())
    if entry.get("state"):
        out.print(Text(f"  State that record.queue_state records: {', '.join(entry['state'])}", style="dim"))
    out.print()


def _within(kind: str, name: str) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """The fields of the tables that the parameters of a scheme, queue or source are, by parameter; nothing of those that are
    schemes and queues themselves, or distributions."""
    from tailback import _core

    defined = json.loads(_core.schema(), object_hook=all_shown)["$defs"]
    tables = {"schemes": "Scheme", "queues": "Config", "sources": "SourceConfig"}
    whole = next(one for one in defined[tables[kind]]["oneOf"] if one["properties"]["name"]["const"] == name)
    found = {}
    for parameter, field in whole["properties"].items():
        inner = field.get("items", field)
        named = [one["$ref"] for one in (inner, *inner.get("anyOf", ())) if "$ref" in one]
        of_table = defined[named[0].rsplit("/", 1)[1]] if named else {}
        found[parameter] = list(of_table.get("properties", {}).items())
    return found


def _distributions() -> Table:
    """The distributions from which sources draw, as tables with a name."""
    from rich.table import Table
    from rich.text import Text

    from tailback import _core

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for _ in range(4):
        table.add_column(overflow="fold")
    for choice in json.loads(_core.schema())["$defs"]["SpanDistribution"]["oneOf"]:
        fields = [name for name in choice["properties"] if name != "name"]
        name = choice["properties"]["name"]["const"]
        about = Text(_plain(choice["description"]), style="dim")
        table.add_row("   ", name, Text(", ".join(fields), style="cyan"), about)
    return table


def _plain(text: str) -> str:
    return " ".join(text.split())
