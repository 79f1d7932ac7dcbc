"""``tailback fields``: the fields of scenarios on the terminal, with meaning, type and default. The page of all of them is made
in ``reference.py``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from tailback.commands.reference import ELSEWHERE, ELSEWHERE_NAMES, Schema, kind, tagged
from tailback.errors import NotFoundError, nearest
from tailback.units import all_shown

if TYPE_CHECKING:
    from rich.table import Table

MANY = 4
"""More fields of one name than this are listed, each on a line."""
_COMMANDS = {"Scheme": "schemes", "Config": "queues", "SourceConfig": "sources"}
"""Who lists what has pages of its own."""


class Field(NamedTuple):
    """A field of a scenario."""

    path: tuple[str, ...]
    schema: Schema

    @property
    def about(self) -> dict[str, Any]:
        """What ``--json`` prints of it."""
        return {
            "path": ".".join(self.path),
            "type": _plain(kind(self.schema)),
            "default": self.schema.get("default"),
            "meaning": _plain(self.schema.get("description", "")),
        }


def show_fields(path: str | None, *, as_json: bool) -> None:
    """Prints the fields of a scenario, or those whose path ends in ``path`` with the fields below them.

    Raises:
        NotFoundError: for a path that there is none of; says which is nearest.
    """
    from tailback import _core

    schema: Schema = json.loads(_core.schema(), object_hook=all_shown)
    every = list(_walk(schema, schema["$defs"], ()))
    chosen = every if path is None else _matching(every, path)
    if as_json:
        for field in chosen:
            typer.echo(json.dumps(field.about, ensure_ascii=False))
    elif path is None:
        _list(schema)
    elif len(chosen) > MANY:
        _names(chosen)
    else:
        for field in chosen:
            _whole(field, schema["$defs"])


def _walk(schema: Schema, definitions: Mapping[str, Schema], path: tuple[str, ...]) -> Iterator[Field]:
    """All fields, each before those below it; of several tables with the same field, the first's."""
    seen: set[str] = set()
    for _, table in _tables(schema, definitions):
        for name, field in table["properties"].items():
            if name not in seen and "const" not in field and name not in path:
                seen.add(name)
                yield Field((*path, name), field)
                yield from _walk(field, definitions, (*path, name))


def _tables(schema: Schema, definitions: Mapping[str, Schema], label: str = "") -> Iterator[tuple[str, Schema]]:
    """The tables that a value may be, each with what says which it is."""
    tag, word = tagged(schema)
    label = f"{tag} = {json.dumps(word)}" if word != "?" else label
    if any("const" not in field for field in schema.get("properties", {}).values()):
        yield label, schema
    if "$ref" in schema:
        name = _named(schema)
        if name not in ELSEWHERE and name in definitions:
            yield from _tables(definitions[name], definitions, label)
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _tables(choice, definitions, label)
    if isinstance(schema.get("items"), Mapping):
        yield from _tables(schema["items"], definitions, label)


def _named(schema: Schema) -> str:
    name = str(schema["$ref"]).rsplit("/", 1)[1]
    return name if name == "Config" else name.removesuffix("OrName")


def _matching(every: Sequence[Field], path: str) -> list[Field]:
    parts = tuple(re.sub(r"\[.*?\]", "", part) for part in path.strip().split("."))
    whole = [field for field in every if field.path == parts]
    found = whole or [field for field in every if field.path[-len(parts) :] == parts]
    if not found:
        known = {".".join(field.path[-len(parts) :]) for field in every}
        near = nearest(".".join(parts), sorted(known)) or nearest(
            parts[-1], sorted({field.path[-1] for field in every})
        )
        hint = f"did you mean {near}?" if near else "topology.rate, for example"
        raise NotFoundError(
            f"{path}: no such field; expected one that `tailback fields` or `tailback fields --json` lists ({hint})"
        )
    return found


def _list(schema: Schema) -> None:
    from rich.text import Text

    from tailback.commands.console import console

    out = console()
    out.print(_table(schema["properties"], schema.get("required", ())))
    out.print(
        Text(
            "\n`tailback fields PATH` shows a field with those below it, for example topology, flows.transport or ack_delay; "
            "--json lists all.",
            style="dim",
        )
    )


def _names(fields: Sequence[Field]) -> None:
    from rich.table import Table
    from rich.text import Text

    from tailback.commands.console import console

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for field in fields:
        table.add_row(".".join(field.path), Text(field.about["meaning"]))
    console().print(table)


def _whole(field: Field, definitions: Mapping[str, Schema]) -> None:
    from rich.text import Text

    from tailback.commands.console import console

    out = console()
    about = field.about
    out.print(Text.assemble((about["path"], "bold"), (f"  {about['type']}{_default(field.schema)}", "dim")))
    out.print(Text(f"  {about['meaning']}"))
    for label, table in _tables(field.schema, definitions):
        if label:
            out.print(Text(f"\n  with {label}: {_plain(table.get('description', ''))}"))
        out.print(_table(table["properties"], table.get("required", ())))
    for name in sorted({_named(part) for part in _references(field.schema)} & set(ELSEWHERE)):
        out.print(Text(f"  `tailback {_COMMANDS[name]}` lists every {ELSEWHERE_NAMES[name]}.", style="dim"))
    out.print()


def _references(schema: Schema) -> Iterator[Schema]:
    if "$ref" in schema:
        yield schema
    for choice in schema.get("anyOf", ()):
        yield from _references(choice)


def _table(fields: Mapping[str, Schema], required: Sequence[str]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for _ in range(4):
        table.add_column(overflow="fold")
    for name, schema in fields.items():
        if "const" not in schema:
            default = "required" if name in required else _default(schema).removeprefix(", by default ")
            meaning = _plain(schema.get("description", ""))
            table.add_row(
                "   ",
                name,
                Text(f"{_plain(kind(schema))}\n{default}".strip(), style="cyan"),
                Text(meaning, style="dim"),
            )
    return table


def _default(schema: Schema) -> str:
    value = schema.get("default")
    if value is None or isinstance(value, Mapping | list):
        return ""
    return f", by default {json.dumps(value, ensure_ascii=False)}"


def _plain(text: str) -> str:
    """Markdown's words alone."""
    return " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "").split())
