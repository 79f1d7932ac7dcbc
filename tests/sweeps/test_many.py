"""What a sweep does for each of very many scenarios is done once, and told while it is done: counted in calls, not in time."""

from __future__ import annotations

import pytest

import tailback as tb
from tailback import _core
from tailback.progress import Bar


@pytest.fixture(scope="module")
def small() -> tb.Scenario:
    base = tb.dumbbell(rate="1 Mbit/s", delay="5 ms", buffer="5 packets", duration="0.2 s")
    return base.with_flows(tb.flows(1, "reno"))


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The scenarios whose hash was made."""
    made, found = _core.scenario_hash, list[str]()

    def counted(text: str) -> str:
        found.append(text)
        return made(text)

    monkeypatch.setattr(_core, "scenario_hash", counted)
    return found


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[Bar]:
    """All bars, shown or not, with what they were told."""
    found: list[Bar] = []
    made = Bar.__init__

    def kept(self: Bar, what: str, total: float = 0.0, *, show: bool = True) -> None:
        made(self, what, total, show=show)
        found.append(self)

    monkeypatch.setattr(Bar, "__init__", kept)
    return found


def test_a_scenario_is_hashed_once(small: tb.Scenario, hashed: list[str]) -> None:
    runs = small.sweep(delay=["1 ms", "2 ms", "3 ms"], seeds=2, jobs=1, cache=False)
    assert len(runs) == 6
    assert len(hashed) == len(set(hashed)) == 3


def test_what_goes_before_the_runs_is_told(small: tb.Scenario, bars: list[Bar]) -> None:
    small.sweep(delay=["1 ms", "2 ms", "3 ms"], seeds=2, jobs=1, cache=False)
    told = {bar._what: (bar._done, bar._total) for bar in bars}
    assert told == {"scenarios": (3.0, 3.0), "scenarios looked up": (3.0, 3.0), "6 runs": (6.0, 6.0)}
    bars.clear()
    small.sweep(delay=["1 ms", "2 ms"], jobs=1, cache=False, progress=False)
    assert not any(bar._show for bar in bars)


def test_scenarios_in_the_same_words_are_one_without_a_hash(small: tb.Scenario, hashed: list[str]) -> None:
    some = small.sweep(delay=["1 ms", "2 ms", "3 ms"], jobs=1, cache=False)
    more = small.sweep(delay=["2 ms", "3 ms", "4 ms"], seeds=[2], jobs=1, cache=False)
    hashed.clear()
    assert len(tb.concat([some, more])) == 6
    assert len(tb.concat([some.select(delay="1 ms"), some.select(delay="2 ms")])) == 2
    assert len(tb.concat({"early": some, "late": more})) == 6
    assert not hashed
    # In other words, it takes one.
    again = small.replace(rate="1000 kbit/s").sweep(delay=["1 ms", "2 ms", "3 ms"], seeds=[3], jobs=1, cache=False)
    hashed.clear()
    assert len(tb.concat([some, again])) == 6
    assert hashed
