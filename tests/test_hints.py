"""What people write by analogy, and what they are told then: names of columns as attributes, calls without what they need, fields
in the wrong table. That every value is checked is the Rust tests' business."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tailback as tb


@pytest.fixture(scope="module")
def result() -> tb.Result:
    link = tb.dumbbell(rate="5 Mbit/s", delay="5 ms", duration="2 s")
    return link.with_flows(tb.flows(2, "reno")).run()


def test_a_column_as_an_attribute_is_told_where_it_is(result: tb.Result) -> None:
    runs = result.scenario.sweep(seeds=1)
    for of, name, said in (
        (result, "goodput", r"no attribute 'goodput'; expected \.flows\[\"goodput\"\] or \.flow_series\["),
        (result, "utilization", r"expected \.links\[\"utilization\"\], since it is a column"),
        (result, "colour", r"'Result' object has no attribute 'colour'$"),
        (runs, "goodput", r"expected \.table\[\"goodput\"\] or \.flows\[\"goodput\"\]"),
    ):
        with pytest.raises(AttributeError, match=said):
            getattr(of, name)


def test_copies_of_results_are_made_as_before(result: tb.Result) -> None:
    for other in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert other.flows.equals(result.flows)
    assert not hasattr(result, "goodput")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda tb: tb.flows("cubic"), 'scheme is missing; expected it, as in tb.flows(2, "cubic")'),
        (lambda tb: tb.flows(), "count is missing"),
        (lambda tb: tb.flows(1, "cubic", "bulk", 3), "arguments: 3 is not allowed; expected its name"),
        (lambda tb: tb.dumbbell("10 Mbit/s"), "'10 Mbit/s' is not allowed; expected its name, as in tb.dumbbell(rate="),
        (lambda tb: tb.parking_lot(hops=2), "rate is missing; expected it, as in tb.parking_lot(hops=3, rate="),
        (lambda tb: tb.Scenario(), "Scenario: 3 problems\n  duration is missing"),
        (lambda tb: tb.Flow("cubic"), "arguments: 'cubic' is not allowed; expected its name, as in scheme=…"),
        (lambda tb: tb.GraphLink(from_="a", to="b", rate=3), "rate: 3 is not allowed; expected a rate with its unit"),
        (lambda tb: tb.flows(1, "reno", transport={"ecn_echo": "counted"}), "expected `ecn_echo` in `receiver`"),
        (lambda tb: tb.dumbbell(rate="1 Mbit/s", loss=float("nan")), '"nan" is not allowed; expected a number from 0'),
    ],
)
def test_calls_that_lack_something_say_what_is_expected(call: Any, said: str) -> None:
    with pytest.raises(tb.ScenarioError) as raised:
        call(tb)
    assert said in str(raised.value)


def test_a_link_without_flows_yet_is_told_its_own_mistakes_alone() -> None:
    link = tb.dumbbell(rate="5 Mbit/s", delay="5 ms", duration="2 s")
    wrong: dict[str, Any]
    for wrong in ({"queue": "fqcodel"}, {"loss": "1 %"}, {"packets": "yes"}):
        with pytest.raises(tb.ScenarioError, match=r"^scenario: 1 problem\n") as raised:
            link.replace(**wrong)
        assert [each.field for each in raised.value.problems] != ["flows"]


def test_an_error_of_ours_within_a_part_names_its_line() -> None:
    class Counts(tb.Controller):
        def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
            del now, feedback, cx
            tb.analysis.jain([])

        def directive(self) -> tb.Directive:
            return tb.Directive(window=10_000)

    link = tb.dumbbell(rate="5 Mbit/s", delay="5 ms", duration="2 s")
    with pytest.raises(tb.PartError, match=r"test_hints.py, line \d+, in Counts.on_feedback: ArgumentError: rates"):
        link.with_flows(tb.flows(1, Counts.scheme())).run()


def test_a_part_that_is_called_says_how_it_is_named() -> None:
    class Mine(tb.Controller):
        def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None: ...
        def directive(self) -> tb.Directive:
            return tb.Directive(window=10_000)

    class Line(tb.QueueDiscipline):
        def enqueue(self, now: float, packet: tb.Packet, cx: tb.QueueCx) -> None: ...
        def dequeue(self, now: float, cx: tb.QueueCx) -> tb.Packet | None: ...

    classes: dict[type[Any], str] = {Mine: r"tb\.flows\(2, Mine\.scheme\(\)\)", Line: r"queue=Line\.queue\(\)"}
    for part, expected in classes.items():
        with pytest.raises(tb.PartError, match=rf"{part.__name__}\(\): runs make their parts; expected .*{expected}"):
            part()
    assert str(inspect.signature(Mine)) == "(connection: 'Connection')"
    no_connection: Any = None
    made: Any = Mine(no_connection)
    assert type(copy.deepcopy(made)) is Mine


def test_a_value_alone_is_always_drawn() -> None:
    link = tb.dumbbell(rate="5 Mbit/s", delay="5 ms", duration="2 s")
    short = link.with_flows(tb.flows(1, "reno", {"name": "files", "size": "20 kB", "pause": "100 ms"}))
    size, pause = {"name": "constant", "value": "20 kB"}, {"name": "constant", "value": "100 ms"}
    long = link.with_flows(tb.flows(1, "reno", {"name": "files", "size": size, "pause": pause}))
    assert short == long
    assert short.run().hash == long.run().hash
    pauses: dict[str, Any] = {"flows[0].source.pause": ["100 ms", "1 s"]}
    both = short.sweep(**pauses, seeds=1)
    assert both.failed.is_empty()


def test_a_report_says_what_it_does_to_who_looks(result: tb.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "run")
    told, terminal = pty.openpty()
    command = [sys.executable, "-m", "tailback", "report", str(tmp_path / "run")]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=terminal, check=True, env={**os.environ, "TERM": "xterm"}
    )
    os.close(terminal)
    assert done.stdout.decode().strip().endswith("index.html")
    assert os.read(told, 10_000).decode() == "writing the report …\r\x1b[K"
    os.close(told)
    silent = subprocess.run(command, capture_output=True, check=True)
    assert silent.stderr == b""


def test_a_change_of_no_field_is_told_whole() -> None:
    from tailback.commands.changes import changes_of

    with pytest.raises(tb.ScenarioError, match="the change: '=1' is not allowed; expected FIELD=VALUE"):
        changes_of(["=1"])
