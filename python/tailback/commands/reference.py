"""The reference of a scenario's fields as a page of Markdown, from the JSON schema that checks scenarios. Nothing is written by
hand here. The same on the terminal is in ``fields.py``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

TOPICS: Mapping[str, tuple[str, ...]] = {
    "The network": (
        "TopologyConfig",
        "Dumbbell",
        "ParkingLot",
        "Star",
        "Home",
        "GraphLink",
        "AccessConfig",
        "ReverseConfig",
        "BufferConfig",
        "TraceConfig",
        "ScheduleStep",
    ),
    "Loss and other impairments": ("LossConfig", "CorruptionConfig", "DuplicationConfig", "ReorderingConfig"),
    "Flows": ("FlowConfig", "AggregateConfig"),
    "Transport": ("StreamConfig", "ReceiverConfig", "DatagramConfig"),
    "What is recorded": ("RecordConfig",),
    "Settings of schemes": ("Scheme",),
    "Settings of queue disciplines": ("Config",),
    "Settings of sources": ("SourceConfig",),
    "Further": (),
}
"""Topics in the reader's order, each with the definitions that it begins with. Whatever else the schema holds stands under
the topic that first refers to it, or under the last."""
TITLES: Mapping[str, str] = {
    "TopologyConfig": "Topologies",
    "GraphLink": "A link of a graph",
    "AccessConfig": "Access links",
    "ReverseConfig": "The way back",
    "BufferConfig": "Buffers",
    "TraceConfig": "Delivery traces",
    "ScheduleStep": "A change of a link during the run",
    "LossConfig": "Loss models",
    "FlowConfig": "A group of flows",
    "AggregateConfig": "Aggregates from edge to edge",
    "StreamConfig": "Streams",
    "ReceiverConfig": "Receivers",
    "DatagramConfig": "Datagrams",
    "RtoConfig": "Retransmission timer",
    "EcnMode": "ECN field of data",
    "EcnEcho": "ECN echo",
    "RecordConfig": "Recording",
    "EtaConfig": "Burstiness loop of TDQM",
    "RhoConfig": "Utilization loop of TDQM",
    "Victim": "Whose packet is dropped",
    "Spread": "Delays of hosts",
    "SpanRange": "A range of times",
    "Draw": "A time, or a range to draw it from",
    "LossPlace": "Where a packet is lost",
    "PacketClass": "Which packets a loss model strikes",
    "Which": "Which flows or links",
    "WhichClass": "A class of flows or links",
    "RttSampling": "Round trip time samples",
    "SpuriousDetection": "Detection of spurious retransmissions",
    "AckDetail": "What acknowledgements say",
    "Counting": "What an acknowledgement counts for",
    "Halve": "What is halved at congestion",
    "Retransmission": "How Vegas repairs losses",
    "Estimator": "How accumulation is measured",
    "PacketPairControlledAt": "Packet-pair: which end controls",
    "PacketPairSetpoint": "Packet-pair: setpoint",
    "PacketPairLaw": "Packet-pair: law",
    "PacketPairPropagation": "Packet-pair: propagation delay",
    "PacketPairRateChange": "Packet-pair: when a new rate counts",
    "ServiceEstimator": "Packet-pair: estimator of the service time",
    "ErrorBase": "Fuzzy average: what an error is relative to",
    "Overlap": "Fuzzy average: overlap of two sets",
    "Quantiser": "SAC: levels of traffic",
    "Reading": "SAC: what the own throughput says",
    "SlowerConfig": "SAC: a slower level of prediction",
    "Sign": "SAC: direction of the rate control",
    "Schedule": "SAC: aggressiveness by level",
    "PredictorConfig": "SAC: prediction",
    "Tokens": "Tokens of the sender's bucket",
    "Setting": "Settings of custom parts",
    "LaneConfig": "Lanes",
    "ClassConfig": "Classes of flows",
    "Share": "Weights of flows",
    "LevelConfig": "Levels of a hierarchy",
    "CakeIsolation": "CAKE: between whom the line is shared",
    "CakeTins": "CAKE: tins",
    "CakeFraming": "CAKE: how the line carries frames",
    "CakeAckFilter": "CAKE: which acknowledgements go",
    "Codepoint": "Codepoints",
    "CodepointsConfig": "CAKE: codepoints of flows",
    "Measure": "What RED measures",
    "BucketClassConfig": "Classes with token buckets",
    "SpanOrDistribution": "A time, or a distribution of times",
    "BytesOrDistribution": "A size, or a distribution of sizes",
    "SpanDistribution": "Distributions of times",
    "BytesDistribution": "Distributions of sizes",
    "Connection": "Connections of a session",
    "Arrivals": "Arrivals of datagrams",
    "ReplayEntry": "An entry of a replayed trace",
    "SurgeSizes": "Web traffic: which files",
    "SurgeConnection": "Web traffic: connections",
    "VideoControl": "Video: control of the quantiser",
    "VideoPause": "Video: a pause",
}
"""Headings that its type's name does not give by itself."""
QUANTITIES: Mapping[str, str] = {
    "Bytes": "size",
    "BitRate": "rate",
    "Span": "time",
    "Capacity": "buffer size",
    "DataAmount": "size or packets",
}
"""Types of quantities, in words."""
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
    parts = [f"## The scenario\n\n{schema['description']}\n", fields(schema)]
    for topic, names in by_topic(definitions).items():
        sections = ["\n".join(described(name, definitions[name])) for name in names if name not in ELSEWHERE]
        if any(sections):
            parts += [f"## {topic}\n", *filter(None, sections)]
    return "\n".join(parts)


def by_topic(definitions: Mapping[str, Schema]) -> dict[str, list[str]]:
    """The definitions of each topic, in the order in which they are first referred to."""
    taken = {name for roots in TOPICS.values() for name in roots}
    found: dict[str, list[str]] = {}
    for topic, roots in TOPICS.items():
        listed = [name for name in roots if name in definitions]
        for name in listed:  # Grows meanwhile.
            for next_one in referred(definitions[name]):
                if next_one not in taken:
                    taken.add(next_one)
                    listed.append(next_one)
        found[topic] = listed
    found[list(TOPICS)[-1]] += sorted(set(definitions) - taken)
    return found


def referred(schema: object) -> Iterator[str]:
    """The definitions that a schema names, in order."""
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key == "$ref":
                yield str(value).rsplit("/", 1)[1]
            else:
                yield from referred(value)
    elif isinstance(schema, list):
        for entry in schema:
            yield from referred(entry)


def title(name: str) -> str:
    """A definition's heading: words, not the type's name."""
    if name in TITLES:
        return TITLES[name]
    words = re.findall(r"[A-Z][a-z0-9]*", name.removesuffix("Config"))
    return " ".join([words[0], *(word.lower() for word in words[1:])])


def described(name: str, schema: Schema) -> Iterator[str]:
    """The section of one definition; nothing for what its users' types already say."""
    if name.endswith("OrName") or schema.get("format"):
        return
    head = f"### {title(name)}\n\n{schema.get('description', '')}\n"
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
    if base in QUANTITIES:
        return QUANTITIES[base]
    heading = title(base)
    anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
    words = heading if heading[1:2].isupper() else heading[0].lower() + heading[1:]
    return f"[{words}](#{anchor})"


def kind(field: Schema) -> str:
    """A field's type in words."""
    if "$ref" in field:
        return link(field["$ref"])
    if "anyOf" in field:
        return " or ".join(kind(choice) for choice in field["anyOf"] if choice.get("type") != "null")
    if "enum" in field:
        return " or ".join(f"`{json.dumps(word)}`" for word in field["enum"])
    if field.get("type") == "array":
        return f"list, each {kind(field['items'])}"
    named: Any = field.get("type", "any")
    if isinstance(named, list):
        named = next(word for word in named if word != "null")
    words = {"string": "text", "boolean": "true or false", "number": "number", "integer": "whole number"}
    return words.get(named, str(named))
