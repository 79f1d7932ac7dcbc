"""The reference of a scenario's fields, from the JSON schema that checks scenarios. Nothing is written by hand here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

# Where a reader looks first; whatever else the schema holds follows by name. Schemes, queues and sources have pages.
ORDER = ("FlowConfig", "Dumbbell", "ParkingLot", "Star", "GraphLink", "AccessConfig", "ReverseConfig", "RecordConfig")
# Relative to docs/scenarios.md, which includes this page.
ELSEWHERE = {
    "Scheme": "generated/schemes.md",
    "Config": "generated/queues/index.md",
    "SourceConfig": "generated/sources.md",
}
ELSEWHERE_NAMES = {"Scheme": "scheme", "Config": "queue discipline", "SourceConfig": "source"}


def cell(text: object) -> str:
    """Text that may stand in a table of Markdown."""
    return str(text).replace("\n", " ").replace("|", "\\|").strip()


def text(schema: Schema) -> str:
    """The page's body."""
    definitions: Mapping[str, Schema] = schema["$defs"]
    parts = [f"## Scenario\n\n{schema['description']}\n", fields(schema), "## Topologies\n"]
    parts += variants(definitions["TopologyConfig"])
    shown = [name for name in ORDER if name in definitions]
    rest = sorted(set(definitions) - {*shown, *ELSEWHERE, "TopologyConfig"})
    for name in [*shown, *rest]:
        section = "\n".join(described(name, definitions[name]))
        if section:
            parts.append(section)
    return "\n".join(parts)


def described(name: str, schema: Schema) -> Iterator[str]:
    """The section of one definition; nothing for what its users' types already say."""
    if name.endswith("OrName") or schema.get("format"):
        return
    head = f"## {name}\n\n{schema.get('description', '')}\n"
    if "properties" in schema:
        yield head
        yield fields(schema)
    elif "oneOf" in schema:
        yield head
        yield from variants(schema)
    elif "anyOf" in schema:
        yield head
        for choice in schema["anyOf"]:
            yield f"- {kind(choice)}: {cell(choice.get('description', ''))}"
        yield ""


def variants(schema: Schema) -> Iterator[str]:
    """The choices of a tagged table, or the words of a choice of words."""
    for variant in schema["oneOf"]:
        about = variant.get("description", "")
        if "const" in variant:
            yield f"- `{json.dumps(variant['const'])}`: {about}"
        elif "enum" in variant:
            yield from (f"- `{json.dumps(word)}`" for word in variant["enum"])
        else:
            tag, word = tagged(variant)
            also = f" Fields as in {link(variant['$ref'])}." if "$ref" in variant else ""
            yield f"\n**`{tag} = {json.dumps(word)}`** {about}{also}\n"
            if others := {key: value for key, value in variant["properties"].items() if key != tag}:
                yield fields({"properties": others, "required": variant.get("required", [])})
    yield ""


def tagged(variant: Schema) -> tuple[str, str]:
    """The field that names a variant, and its word."""
    for key, value in variant.get("properties", {}).items():
        if "const" in value:
            return key, value["const"]
    return "name", "?"


def fields(schema: Schema) -> str:
    """The table of an object's fields."""
    required = set(schema.get("required", ()))
    lines = ["| field | type | default | meaning |", "| --- | --- | --- | --- |"]
    for name, field in schema["properties"].items():
        default = "*required*" if name in required else ""
        if field.get("default") is not None:
            written = json.dumps(field["default"], ensure_ascii=False)
            default = f"`{written}`" if len(written) <= 60 else "the defaults of its fields"
        lines.append(f"| `{name}` | {cell(kind(field))} | {cell(default)} | {cell(field.get('description', ''))} |")
    return "\n".join(lines) + "\n"


def link(reference: str) -> str:
    """A definition's name, linked to its section."""
    name = reference.rsplit("/", 1)[1]
    base = name.removesuffix("OrName")
    base = "Config" if name == "ConfigOrName" else base
    if base in ELSEWHERE:
        return f"[{ELSEWHERE_NAMES[base]}]({ELSEWHERE[base]})"
    if base in {"Bytes", "BitRate", "Span", "Capacity", "DataAmount"}:
        return f"`{base}`"
    return f"[{base}](#{'topologies' if base == 'TopologyConfig' else base.lower()})"


def kind(field: Schema) -> str:
    """A field's type in words."""
    if "$ref" in field:
        return link(field["$ref"])
    if "anyOf" in field:
        return " or ".join(kind(choice) for choice in field["anyOf"] if choice.get("type") != "null")
    if "enum" in field:
        return " or ".join(f"`{json.dumps(word)}`" for word in field["enum"])
    if field.get("type") == "array":
        return f"list of {kind(field['items'])}"
    named = field.get("type", "any")
    if isinstance(named, list):
        named = next(word for word in named if word != "null")
    return {"string": "text", "boolean": "true or false", "number": "number", "integer": "whole number"}.get(
        named, named
    )
