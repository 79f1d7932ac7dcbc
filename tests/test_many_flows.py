"""What Python does for each of very many flows is no more than for each of a few: counted in steps, not in time."""

import sys
from dataclasses import dataclass
from types import CodeType, FrameType, SimpleNamespace
from typing import Any

import polars as pl
import pytest

import tailback as tb
from tailback import _core
from tailback.results import from_core, metrics, warnings
from tailback.scenario import scenario


@dataclass
class Group:
    """What is told apart of a group of flows."""

    name: str

    def model_copy(self, update: dict[str, str]) -> "Group":
        """One that is called otherwise."""
        return Group(**update)


def lines_of(code: CodeType, call: Any, *arguments: Any) -> tuple[Any, int]:
    """What a call returns, and how many lines of this code it took."""
    lines = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        lines += event == "line" and frame.f_code is code
        return trace if frame.f_code is code else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return call(*arguments), lines
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("groups", [10, 1000])
def test_equal_groups_are_told_apart_with_as_many_steps_among_a_thousand(groups: int) -> None:
    told, lines = lines_of(
        scenario._told_apart.__code__, scenario._told_apart, [Group("a 3"), *[Group("a") for _ in range(groups)]]
    )
    taken = iter(range(4, groups + 4))
    assert [group.name for group in told] == ["a 3", "a", "a 2", *(f"a {next(taken)}" for _ in range(groups - 2))]
    assert lines <= 25 * groups


class Name(str):
    """A name that counts with how many ends it is compared."""

    __slots__ = ()
    compared = 0

    def endswith(self, ends: Any, *_: Any) -> bool:
        """As of texts."""
        Name.compared += len(ends)
        return super().endswith(ends)


def test_receivers_of_a_group_are_looked_up() -> None:
    count = 1000
    receivers = [f"h{number}" for number in range(count)]
    result: Any = SimpleNamespace(
        scenario_data={"flows": [{"name": "film", "receivers": receivers}, {"name": "other"}]}
    )
    flows: Any = [Name("film"), Name("other"), *(Name(f"film to {name}") for name in receivers)]
    Name.compared = 0
    assert warnings._receivers(result, flows) == flows[2:]
    assert Name.compared <= 10 * count


def steps_of(call: Any, *arguments: Any) -> int:
    """How many lines of what makes results and shows them a call takes, all that it calls included."""
    lines = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace if "tailback/results" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call(*arguments)
        return lines
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("flows", ["all", "none"])
def test_a_result_of_many_flows_is_made_with_as_many_steps_as_one_of_a_few(flows: str) -> None:
    def told(raw: Any) -> None:
        result = from_core.result_of(raw, 0.0)
        assert result.main_links.height == 2
        assert result.summary()["flows"][0] == result.flows.height

    def steps(count: int) -> int:
        base = tb.dumbbell(rate="10 Mbit/s", delay="10 ms", duration="300 ms", record={"bin": "100 ms", "flows": flows})
        return steps_of(told, _core.run(base.with_flows(tb.flows(count, "sack")).to_json()))

    steps(3)  # What is made once.
    assert abs(steps(300) - steps(10)) <= 10


def test_links_without_a_series_are_not_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every flow has links of its own at its hosts, of which none has a time series."""
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", buffer="50 packets", duration="1 s")
    result = base.with_flows(tb.flows(20, "reno")).run()
    assert result.links.height > 40
    plain, calls = pl.DataFrame.filter, []

    def counted(self: pl.DataFrame, *args: Any, **kwargs: Any) -> pl.DataFrame:
        calls.append(self.height)
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(pl.DataFrame, "filter", counted)
    found = metrics.queue_delays(result)
    assert found.select("link", "queue").rows() == [("r0->r1", "all"), ("r1->r0", "all")]
    assert len(calls) <= 2


def test_messages_do_not_list_thousands_of_names() -> None:
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", buffer="50 packets", duration="0.2 s")
    result = base.with_flows(tb.flows(150, "reno")).run()
    with pytest.raises(tb.NotFoundError, match=r"reno-99, … \(150 in all\) \(did you mean reno-1\?\)$"):
        result.series(flow="reno1")
    with pytest.raises(tb.NotFoundError, match=r", … \(602 in all\) \(did you mean r0->r1\?\)$"):
        metrics.utilization(result, "r0-r1")
    one = base.with_flows(tb.flows(1, "reno"))
    runs = one.sweep(rate=[f"{100 + n} kbit/s" for n in range(101)], jobs=1, cache=False, progress=False)
    with pytest.raises(tb.ArgumentError, match=r"'199 kbit/s', … \(101 in all\)$"):
        runs.result()
