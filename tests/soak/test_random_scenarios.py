"""A thousand random scenarios keep the laws; one that does not is shrunk and printed, ready to become a test."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

import pytest

from tailback.scenario.toml import dumps
from tailback.shrinking.search import shrink
from tests.soak import laws, random_scenarios

COUNT = int(os.environ.get("TAILBACK_SCENARIOS", "1000"))
PARTS = 10


@pytest.mark.parametrize("part", range(PARTS))
def test_random_scenarios_keep_the_laws(part: int) -> None:
    for number in range(part, COUNT, PARTS):
        made = random_scenarios.scenario(number)
        said = laws.broken(json.dumps(made))
        if said:
            pytest.fail(f"number {number}: {said}\n\n{dumps(smallest(made))}")


def smallest(made: dict[str, Any]) -> dict[str, Any]:
    """The smallest scenario that still breaks some law."""
    return shrink(made, lambda text: bool(laws.broken(text)), tries=300)


def test_everything_has_its_turn() -> None:
    seen: Counter[str] = Counter()
    for number in range(200):
        made = random_scenarios.scenario(number)
        links = made["topology"].get("links", [made["topology"]])
        seen.update(link["queue"]["name"] for link in links)
        seen.update(name for link in links for name in link)
        seen.update(flow[what]["name"] for flow in made["flows"] for what in ("scheme", "source"))
    for names in (random_scenarios._SCHEMES, random_scenarios._QUEUES, random_scenarios._SOURCES):
        assert {name for name in names if not seen[name]} == set()
    assert all(seen[name] for name in ("loss", "corruption", "duplication", "reordering", "schedule", "reverse"))


def test_what_breaks_a_law_is_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if RED lost packets: the smallest scenario with it has one flow, no harm and nothing recorded on purpose.
    monkeypatch.setattr(laws, "broken", lambda text: "lost" if '"red"' in text else "")
    number = next(n for n in range(200) if '"red"' in json.dumps(random_scenarios.scenario(n)))
    found = smallest(random_scenarios.scenario(number))
    assert "red" in json.dumps(found)
    assert len(found["flows"]) == 1
    assert len(dumps(found).splitlines()) < 20, dumps(found)
