"""Writes the Python types of scenarios from the core's JSON Schema: python/tailback/scenario/_models.py.

Run it after the schema has changed: ``python tools/generate_types.py``, or with ``--check`` to be told whether the
committed file is what it would write. What the types are good for, and the conveniences around them, live in
python/tailback/scenario; what is allowed is decided in the core alone.
"""

from __future__ import annotations

import argparse
import itertools
import json
import keyword
import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "python" / "tailback" / "scenario" / "_models.py"
WIDTH = 114
Json = dict[str, Any]
Fields = dict[str, str]
"""The source of fields by name."""

# What a choice is called in Python, and what its members' names end with.
CHOICES = {
    "Config": ("Queue", "Queue"),
    "LossConfig": ("Loss", "Loss"),
    "Scheme": ("Scheme", ""),
    "SourceConfig": ("Source", "Source"),
    "TopologyConfig": ("Topology", ""),
}

# Groups of models that have fields in common, said once in a base class of this name: those that are equal in all of them.
BASES = {
    "AccumulationFields": ("AccumulationAiad", "AccumulationMw", "AccumulationP", "Monaco"),
    "LinkFields": ("GraphLink", "Dumbbell", "ParkingLot", "Star", "Home"),
    "RenoFields": ("Reno", "Newreno", "Sack"),
    "VegasFields": ("Vegas", "VegasK"),
}
MOST_REPEATED = 12
"""Lines that two models may have in common without a base class."""

HEADER = '''"""The types of scenarios, generated from the core's schema by tools/generate_types.py: do not edit.

A quantity is text with its unit, as in ``"10 Mbit/s"``; what each accepts stands at its type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from tailback.scenario._base import Number, Part, Quantity, Text, Truth, Whole
'''


class Generator:
    """Turns definitions of a schema into Python source, each after those that it needs."""

    def __init__(self, schema: Json, bases: Mapping[str, Fields] | None = None) -> None:
        schema = dict(schema)
        self.bases = bases or {}
        self.models: dict[str, Fields] = {}
        self.definitions: dict[str, Json] = dict(schema.pop("$defs"))
        self.definitions[schema["title"]] = schema
        self.root = schema["title"]
        self.names = {name: python_name(name) for name in self.definitions}
        self.written: dict[str, str] = {}
        self.members: dict[str, dict[str, str]] = {}
        self.lines: list[str] = []
        self.folded = self._folded()

    def _folded(self) -> set[str]:
        """Definitions that only ever appear as the contents of a choice's member: they become that member."""
        members = {
            ref(variant)
            for definition in self.definitions.values()
            for variant in definition.get("oneOf", [])
            if ref(variant) and tag_of(variant)
        }
        text = json.dumps([d for n, d in self.definitions.items()])
        return {name for name in members if name and text.count(f'"#/$defs/{name}"') == 1}

    def generate(self) -> str:
        """The file's contents, not yet formatted."""
        for name in sorted(self.definitions):
            if name not in self.folded:
                self.define(name)
        exported = sorted({name for name in self.written.values() if name})
        listing = "\n".join(f'    "{name}",' for name in exported)
        return "\n".join([HEADER, *self.lines, f"__all__ = [\n{listing}\n]\n"])

    def define(self, name: str) -> str:
        """Writes a definition unless that is done, and gives its Python name."""
        if name in self.written:
            return self.written[name]
        definition, target = self.definitions[name], self.names[name]
        self.written[name] = target
        if "format" in definition and definition.get("type") == "string":
            self._alias(target, f"Annotated[str, Quantity({quoted(definition['description'])})]", definition)
        elif "oneOf" in definition and all("const" in variant for variant in definition["oneOf"]):
            values = ", ".join(quoted(variant["const"]) for variant in definition["oneOf"])
            self._alias(target, f"Literal[{values}]", definition, choices(definition["oneOf"]))
        elif "oneOf" in definition:
            self._choice(name, target, definition)
        elif "anyOf" in definition:
            self._alias(target, self.type_of(definition), definition)
        elif definition.get("type") == "object":
            self._model(target, definition, definition.get("description", ""))
        else:
            raise SystemExit(f"{name}: a schema of a kind that this tool does not know: {definition}")
        return target

    def _alias(self, target: str, source: str, definition: Json, more: str = "") -> None:
        self.lines.append(f"{target}: TypeAlias = {source}\n{docstring(definition.get('description', '') + more, 0)}\n")

    def _choice(self, name: str, target: str, definition: Json) -> None:
        suffix = CHOICES.get(name, (target, target))[1]
        tag = ""
        # Named before any is written: a discipline may hold another, which makes the choice recursive.
        members = self.members[name] = {}
        for variant in definition["oneOf"]:
            tag, value = tag_of(variant)
            folded = ref(variant)
            member = self.names[folded] if folded in self.folded else member_name(value, suffix)
            if member in self.written.values():
                member = pascal(value) + target
            self.written[f"{name}:{value}"] = members[value] = member
        for variant in definition["oneOf"]:
            folded, value = ref(variant), tag_of(variant)[1]
            contents = self.definitions[folded] if folded else variant
            self._model(
                members[value], contents, (contents if folded else variant).get("description", ""), (tag, value)
            )
        union = " | ".join(members.values())
        source = f"Annotated[{union}, Field(discriminator={quoted(tag)})]" if len(members) > 1 else union
        self._alias(target, source, definition)

    def _model(self, target: str, definition: Json, description: str, tag: tuple[str, str] | None = None) -> None:
        required = set(definition.get("required", []))
        properties = {key: value for key, value in definition.get("properties", {}).items() if not tag or key != tag[0]}
        body = []
        if tag:
            field = python_field(tag[0])
            body.append(f"    TAG: ClassVar[str] = {quoted(tag[0])}\n")
            body.append(f"    {field}: Literal[{quoted(tag[1])}] = {quoted(tag[1])}\n")
        keys = sorted(properties, key=lambda key: key not in required)
        fields = self.models[target] = {
            python_field(key): self._field(key, properties[key], key in required) for key in keys
        }
        base, shared = self._base_of(target)
        body += [source for name, source in fields.items() if name not in shared]
        # Inherited fields come first, unless their order is said.
        if [*shared, *(name for name in fields if name not in shared)] != [*fields]:
            body.insert(0, f"    ORDER: ClassVar[tuple[str, ...]] = ({', '.join(map(quoted, fields))})\n")
        self.lines.append(f"class {target}({base}):\n{docstring(description, 4)}\n\n{''.join(body)}\n")

    def _base_of(self, target: str) -> tuple[str, Fields]:
        """The base class of a model, written before its first member, and the fields that it has."""
        for base, members in BASES.items():
            if target in members and base in self.bases:
                if base not in self.written.values():
                    self.written[base] = base
                    text = f"What {', '.join(members[:-1])} and {members[-1]} have in common."
                    body = "".join(self.bases[base].values())
                    self.lines.append(f"class {base}(Part):\n{docstring(text, 4)}\n\n{body}\n")
                return base, self.bases[base]
        return "Part", {}

    def _field(self, key: str, schema: Json, required: bool) -> str:
        source = self.type_of(schema)
        limits = {"ge": schema.get("minimum"), "le": schema.get("maximum")}
        extra = [f"{word}={value}" for word, value in limits.items() if value is not None]
        field = python_field(key)
        if field != key:
            extra.append(f"alias={quoted(key)}")
        if not required and "default" not in schema and not nullable(schema) and schema.get("type") != "array":
            source += " | None"
        if extra:
            source = f"Annotated[{source}, Field({', '.join(extra)})]"
        default = "" if required else f" = {self.default(schema)}"
        return f"    {field}: {source}{default}\n{docstring(schema.get('description', ''), 4)}\n"

    def type_of(self, schema: Json) -> str:  # noqa: PLR0911 (one return per kind of schema)
        """The annotation for a schema."""
        if target := ref(schema):
            return self.define(target)
        if "anyOf" in schema:
            return " | ".join(dict.fromkeys(self.type_of(option) for option in schema["anyOf"]))
        if "enum" in schema:
            return f"Literal[{', '.join(quoted(value) for value in schema['enum'])}]"
        kind = schema.get("type")
        if isinstance(kind, list):
            return " | ".join(self.type_of({**schema, "type": each}) for each in kind)
        if kind == "array":
            return f"Sequence[{self.type_of(schema['items'])}]"
        if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
            return f"Mapping[str, {self.type_of(schema['additionalProperties'])}]"
        plain = {"string": "Text", "integer": "Whole", "number": "Number", "boolean": "Truth", "null": "None"}
        if kind not in plain:
            raise SystemExit(f"a schema of a kind that this tool does not know: {schema}")
        return plain[kind]

    def default(self, schema: Json) -> str:
        """The source of a field's default."""
        value = schema.get("default")
        if value is None:
            return "()" if schema.get("type") == "array" else "None"
        if isinstance(value, list):
            # A choice of which one form is a list of quantities says no items of its own.
            return self._default_list(schema.get("items", {}), value)
        if isinstance(value, dict) and "additionalProperties" in schema:
            return "Field(default_factory=dict)"
        if isinstance(value, dict):
            return self._default_model(ref(schema) or "", value)
        if schema.get("type") == "number":
            return repr(float(value))
        if value == "1 packets":  # As `shown` of tailback.units, which may not be there while types are made.
            value = "1 packet"
        return quoted(value) if isinstance(value, str) else repr(value)

    def _default_list(self, items: Json, values: list[Any]) -> str:
        entries = "".join(f"{self.default({**items, 'default': value})}, " for value in values)
        # Made when needed: what is listed may hold a choice that is not complete yet.
        late = any(isinstance(value, dict) for value in values)
        return f"Field(default_factory=lambda: ({entries}))" if late else f"({entries})"

    def _default_model(self, name: str, value: Json) -> str:
        """A model with only those arguments that differ from its own defaults."""
        definition = self.definitions[name]
        for option in definition.get("anyOf", []):
            if (target := ref(option)) and self._fits(self.definitions[target], value):
                return self._default_model(target, value)
        self.define(name)
        if "properties" in definition:
            return self._call(self.names[name], definition, value)
        for variant in definition.get("oneOf", []):
            tag, constant = tag_of(variant)
            if value.get(tag) == constant:
                rest = {key: entry for key, entry in value.items() if key != tag}
                return self._call(self.members[name][constant], variant, rest)
        raise SystemExit(f"{name}: a default that is none of its choices: {value}")

    @staticmethod
    def _fits(definition: Json, value: Json) -> bool:
        """Whether a table could be of this definition."""
        tags = [tag_of(variant) for variant in definition.get("oneOf", [])]
        return any(value.get(tag) == constant for tag, constant in tags) or (
            "properties" in definition and set(value) <= set(definition["properties"])
        )

    def _call(self, target: str, definition: Json, value: Json) -> str:
        properties = definition.get("properties", {})
        differing = {key: entry for key, entry in value.items() if properties[key].get("default") != entry}
        arguments = [
            f"{python_field(key)}={self.default({**properties[key], 'default': entry})}"
            for key, entry in differing.items()
        ]
        # What the core says needs no check, for which the type would have to be complete: a third of importing them all.
        made = f"{target}.model_construct" if arguments else target
        return f"{made}({', '.join(arguments)})"


def shared(models: Mapping[str, Fields]) -> dict[str, Fields]:
    """The fields of every base class: those that are equal in all its members.

    Raises:
        SystemExit: where models without a common base class repeat each other.
    """
    bases = {}
    for base, members in BASES.items():
        first, *others = (models[member] for member in members)
        bases[base] = {
            name: source for name, source in first.items() if all(other.get(name) == source for other in others)
        }
    related = {frozenset(pair) for members in BASES.values() for pair in itertools.combinations(members, 2)}
    for one, other in itertools.combinations(models, 2):
        repeated = sum(source.count("\n") for name, source in models[one].items() if models[other].get(name) == source)
        if repeated > MOST_REPEATED and frozenset((one, other)) not in related:
            raise SystemExit(f"{one} and {other} repeat {repeated} lines: give them a base class in BASES")
    return bases


def ref(schema: Json) -> str | None:
    """The definition that a schema refers to, if it does."""
    target = schema.get("$ref")
    return target.rsplit("/", 1)[1] if isinstance(target, str) else None


def tag_of(variant: Json) -> tuple[str, str]:
    """The tag of a choice's member and its value, or two empty texts."""
    for key, schema in variant.get("properties", {}).items():
        if "const" in schema:
            return key, schema["const"]
    return "", ""


def nullable(schema: Json) -> bool:
    """Whether null is among what a schema allows."""
    kind = schema.get("type")
    return (isinstance(kind, list) and "null" in kind) or {"type": "null"} in schema.get("anyOf", [])


def python_name(name: str) -> str:
    """What a definition is called in Python."""
    for old, (new, _) in CHOICES.items():
        if name == old or name == old + "OrName":
            return new + name.removeprefix(old)
    return name.replace("ConfigOrName", "OrName").removesuffix("Config")


def python_field(key: str) -> str:
    """A field's name, with an underscore where Python keeps the word for itself."""
    return key + "_" if keyword.iskeyword(key) else key


def pascal(kebab: str) -> str:
    """``drop-tail`` to ``DropTail``."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[-_]", kebab))


def member_name(value: str, suffix: str) -> str:
    """``drop-tail`` to ``DropTailQueue``; what ends in queueing says so already."""
    name = pascal(value)
    return name if name.endswith("Queueing") else name + suffix


def quoted(text: str) -> str:
    """A string literal with double quotes."""
    return json.dumps(text, ensure_ascii=False)


def choices(variants: list[Json]) -> str:
    """The members of an enumeration as a list for its docstring."""
    return "\n\n" + "\n".join(f"- ``{each['const']}``: {each.get('description', '')}" for each in variants)


def docstring(text: str, indent: int) -> str:
    """A docstring in the code, with the links of Rust's documentation made plain."""
    text = re.sub(r"\[`([^`\]]+)`\](\([^)]*\))?", r"`\1`", text).replace("\\", "\\\\").replace('"""', "'''")
    text = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", text).strip()
    if not text:
        return ""
    blocks = re.split(r"\n\s*\n|\n(?=- )", text)
    wrapped = [
        textwrap.fill(" ".join(block.split()), WIDTH - indent, subsequent_indent="  " if block.startswith("- ") else "")
        for block in blocks
    ]
    joined = "\n\n".join(wrapped).replace("\n\n- ", "\n- ").replace("\n- ", "\n\n- ", 1)
    inside = textwrap.indent(joined, " " * indent).lstrip()
    many = "\n" in inside
    # A quote at the very end would run into the closing ones.
    end = "\n" + " " * indent if many else " " if inside.endswith('"') else ""
    return f'{" " * indent}"""{inside}{end}"""\n'


def generated(schema: Json) -> str:
    """The formatted source for a schema."""
    first = Generator(schema)
    first.generate()
    source = Generator(schema, shared(first.models)).generate()
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"ruff could not format the generated types: {done.stderr}")
    return done.stdout


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schema", type=Path, help="a JSON Schema in place of the installed core's")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the committed file differs")
    options = parser.parse_args()
    if options.schema:
        text = options.schema.read_text(encoding="utf-8")
    else:
        from tailback import _core

        text = _core.schema()
    source = generated(json.loads(text))
    if not options.check:
        TARGET.write_text(source, encoding="utf-8")
    elif source != TARGET.read_text(encoding="utf-8"):
        raise SystemExit(f"{TARGET} is not what the schema says; run python tools/generate_types.py")


if __name__ == "__main__":
    main()
