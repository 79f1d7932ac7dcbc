"""The reference of scenarios: every part of the schema has its place, its headings are words, and its links lead to them."""

import json
import re
import sys
from pathlib import Path

from tailback import _core

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "_ext"))

import scenario_page  # type: ignore[import-not-found]

SCHEMA = json.loads(_core.schema())
PAGE = scenario_page.text(SCHEMA)
HEADINGS = re.findall(r"^#+ (.*)$", PAGE, re.MULTILINE)


def anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_every_part_stands_under_one_topic() -> None:
    topics = scenario_page.by_topic(SCHEMA["$defs"])
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
