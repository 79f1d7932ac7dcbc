"""A thousand random scenarios keep the laws; one that does not is shrunk and printed, ready to become a test."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tailback import _core
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
        seen.update(link["loss"]["name"] for link in links if "loss" in link)
        seen.update(flow[what]["name"] for flow in made["flows"] for what in ("scheme", "source"))
    for names in (random_scenarios._SCHEMES, random_scenarios._QUEUES, random_scenarios._SOURCES):
        assert {name for name in names if not seen[name]} == set()
    harms = ("corruption", "duplication", "reordering", "schedule", "reverse", "trace", *random_scenarios._LOSSES)
    assert {name for name in harms if not seen[name]} == set()


class Falsified:
    """A run of which one thing is not what it was."""

    def __init__(self, raw: Any, name: str, column: str, change: Callable[[Any], Any]) -> None:
        table = getattr(raw, name)
        self.changed = {name: {**table, column: change(table[column])} if column else change(table)}
        self.raw = raw

    def __getattr__(self, name: str) -> Any:
        return self.changed.get(name, getattr(self.raw, name))


@pytest.mark.parametrize(
    ("name", "column", "change", "said"),
    [
        ("packets", "time_nanoseconds", lambda column: column[::-1], "the log's clock goes back"),
        ("times", "", lambda times: times[::-1], "the clock of the series goes back"),
        ("links", "arrived_packets", lambda column: column + 1, "arrived_packets is"),
        ("links", "dropped_packets", lambda column: column + 1, "dropped_packets is"),
        ("links", "delivered_packets", lambda column: column + 1, "left links"),
        ("flows", "received_packets", lambda column: column + 10**6, "receives more than was sent"),
        ("flows", "goodput_bytes", lambda column: column + 10**9, "delivers more than it receives"),
        ("links_measured", "busy_seconds", lambda column: column + 5.0, "is busy"),
        ("links", "transmitted_bytes", lambda column: column + 10**9, "transmits more than it can"),
    ],
)
def test_every_law_can_be_broken(
    name: str, column: str, change: Callable[[Any], Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _core.run
    monkeypatch.setattr(_core, "run", lambda *given, **named: Falsified(run(*given, **named), name, column, change))
    assert said in laws.broken(json.dumps(random_scenarios.scenario(3)))


@pytest.mark.parametrize(("wheel", "said"), [(True, "two event queues"), (False, "two threads at once")])
def test_other_bits_are_noticed(wheel: bool, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = _core.run

    def falsified(scenario: str, **named: Any) -> Any:
        raw = run(scenario, **named)
        return Falsified(raw, "hash", "", lambda digest: digest[::-1]) if named.get("wheel") is wheel else raw

    monkeypatch.setattr(_core, "run", falsified)
    assert said in laws.broken(json.dumps(random_scenarios.scenario(3)))


def test_what_breaks_a_law_is_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if RED lost packets: the smallest scenario with it has one flow, no harm and nothing recorded on purpose.
    monkeypatch.setattr(laws, "broken", lambda text: "lost" if '"red"' in text else "")
    number = next(n for n in range(200) if '"red"' in json.dumps(random_scenarios.scenario(n)))
    found = smallest(random_scenarios.scenario(number))
    assert "red" in json.dumps(found)
    assert len(found["flows"]) == 1
    assert len(dumps(found).splitlines()) < 20, dumps(found)
