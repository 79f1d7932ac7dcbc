"""The reference of scenarios: every part of the schema has its place, its headings are words, and its links lead to them."""

import json
import re

import pytest
from typer.testing import CliRunner

from tailback import _core, cli
from tailback.commands import reference

SCHEMA = json.loads(_core.schema())
PAGE = reference.text(SCHEMA)
HEADINGS = re.findall(r"^#+ (.*)$", PAGE, re.MULTILINE)


def anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_every_part_stands_under_one_topic() -> None:
    topics = reference.by_topic(SCHEMA["$defs"])
    placed = [name for names in topics.values() for name in names]
    assert sorted(placed) == sorted(SCHEMA["$defs"])
    assert topics["Further"] == [], "nothing refers to these"
    assert "PacingConfig" in topics["Transport"]
    assert "PacketPairLaw" in topics["Settings of schemes"]


def test_headings_are_words_and_differ() -> None:
    assert len({anchor(heading) for heading in HEADINGS}) == len(HEADINGS)
    assert not [heading for heading in HEADINGS if re.search(r"[a-z][A-Z]|Config", heading)]


def test_links_lead_to_headings() -> None:
    known = {anchor(heading) for heading in HEADINGS}
    assert set(re.findall(r"\(#([^)]*)\)", PAGE)) <= known


def fields(*words: str) -> str:
    done = CliRunner().invoke(cli.app, ["fields", *words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def test_fields_are_shown_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    for name in SCHEMA["properties"]:
        assert re.search(rf"^ *{name} ", fields(), re.MULTILINE)
    said = fields("flows.transport.rto")
    assert "backoff" in said
    assert "200 ms" in said
    assert 'with template = "dumbbell"' in fields("topology")
    assert "flows.receiver.ack_delay" in fields("ack_delay")
    assert "`tailback schemes` lists every scheme" in fields("flows[0].scheme")
    with pytest.raises(KeyError, match="did you mean ack_delay"):
        fields("ack_dely")


def test_every_field_of_the_page_is_on_the_terminal_too() -> None:
    listed = {json.loads(line)["path"].split(".")[-1] for line in fields("--json").splitlines()}
    page = PAGE[: PAGE.index("## Settings of schemes")]
    # What schemes, queues and sources have is listed by commands of their own; so is how fair queues share a buffer.
    buffers = set(SCHEMA["$defs"]["BufferConfig"]["properties"])
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) - buffers <= listed
