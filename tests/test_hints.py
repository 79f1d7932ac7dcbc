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
        (
            lambda tb: tb.dumbbell(bandwidth="1 Mbit/s"),
            "bandwidth: an unknown argument is not allowed; expected `rate`",
        ),
        (lambda tb: tb.dumbbell(rate="1 Mbit/s", rtt="9 ms"), "expected `delay`, which is one way over the bottleneck"),
        (lambda tb: tb.dumbbell(rate="1 Mbit/s", flows=tb.flows(1, "reno")), 'as in flows=[tb.flows(2, "cubic")]'),
        (lambda tb: tb.Scenario.of([1]), "data: [1] is not allowed; expected a table of fields, as in JSON"),
        (lambda tb: tb.flows(1, _Mine.scheme), "expected what it gives: _Mine.scheme(), with the class's settings"),
        (lambda tb: tb.home(down="5 Mbit/s"), "the unknown field `down` is not allowed; expected `rate`"),
        (lambda tb: tb.home(up="5 Mbit/s"), "the unknown field `up` is not allowed; expected `upload` of tb.home"),
        (lambda tb: tb.dumbbell(rate="1 Mbit/s", queue="dualq"), 'expected "dualpi2", as that is called here; one of'),
        (lambda tb: tb.flows(1, "l4s"), 'expected "prague", as that is called here; one of'),
        (
            lambda tb: tb.dumbbell(rate="1 Mbit/s", queue={"name": "zzz"}),
            "YourClass.queue() in its place, or tb.register",
        ),
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


class _Mine(tb.Controller):
    def __init__(self, connection: tb.Connection, gain: float = 1.0) -> None:
        super().__init__(connection)
        self.gain = gain

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        raise ZeroDivisionError(now, feedback, cx)

    def directive(self) -> tb.Directive:
        return tb.Directive(window=15_000)


def test_who_forgets_to_run_a_scenario_is_told() -> None:
    scenario: Any = tb.dumbbell(rate="1 Mbit/s", duration="1 s").with_flows(tb.flows(2, "reno"), tb.flows(1, "cubic"))
    for name in ("plot", "flow_series", "save", "bottleneck"):
        with pytest.raises(AttributeError, match=rf"no attribute '{name}'; expected \.run\(\)\.{name}, which is a re"):
            getattr(scenario, name)
    with pytest.raises(tb.CallError, match=r"^flows: 'goodput' is not allowed; .*\.run\(\)\.flows\['goodput'\]"):
        scenario.flows["goodput"]
    with pytest.raises(AttributeError, match=r"list of groups, without 'select'; expected \.run\(\)\.flows, "):
        scenario.flows.select("goodput")
    assert [group.count for group in scenario.flows[:1]] == [2], "otherwise it is a list"
    assert scenario == pickle.loads(pickle.dumps(scenario)) == copy.deepcopy(scenario)
    assert not hasattr(scenario.flows, "__array__")


def test_attributes_of_scenarios_say_where_a_field_is() -> None:
    scenario = tb.dumbbell(rate="1 Mbit/s", duration="1 s")
    with pytest.raises(AttributeError, match=r"no attribute 'buffer'; expected \.topology\.buffer"):
        _ = scenario.buffer  # type: ignore[attr-defined]  # That is the mistake.
    with pytest.raises(AttributeError, match=r"no attribute 'bin'; expected \.record\.bin"):
        _ = scenario.bin  # type: ignore[attr-defined]  # Likewise.
    with pytest.raises(AttributeError, match=r"expected \.record\.links, or \.run\(\)\.links, which is a result's$"):
        _ = scenario.links  # type: ignore[attr-defined]  # Likewise.
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        _ = scenario.nothing  # type: ignore[attr-defined]  # Likewise.
    with pytest.raises(AttributeError, match=r"durration: Scenario has no such field \(did you mean duration\?\)"):
        scenario.durration = "5 s"
    assert not hasattr(scenario, "buffer")
    for other in (copy.copy(scenario), copy.deepcopy(scenario), pickle.loads(pickle.dumps(scenario))):
        assert other == scenario


def test_settings_have_names() -> None:
    with pytest.raises(tb.PartError, match=r"_Mine: 2 is not allowed; expected its name, as in gain=2"):
        _Mine.scheme(2)  # type: ignore[arg-type]  # That is the mistake.


@pytest.mark.parametrize("name", ["over", "share", "cdf", "fairness", "heatmap", "throughput_delay"])
def test_figures_of_runs_that_all_failed_say_so(name: str) -> None:
    base = tb.dumbbell(rate="1 Mbit/s", duration="1 s").with_flows(tb.flows(1, _Mine.scheme()))
    axes: dict[str, Any] = {"buffer": ["5 packets", "9 packets"], "delay": ["5 ms", "9 ms"]}
    runs = base.sweep(**axes, seeds=1, cache=False, jobs=1)
    with pytest.raises(tb.NotFoundError, match=r"^no run succeeded; see runs\.failed$"):
        getattr(runs.plot, name)()


def test_a_run_without_time_series_says_why() -> None:
    short = tb.dumbbell(rate="1 Mbit/s", duration="50 ms").with_flows(tb.flows(1, "reno")).run()
    with pytest.raises(
        tb.NotFoundError,
        match=r"flow 'reno' has no time series; recorded are: none; record\.bin of 0\.1 s is longer than",
    ):
        short.series(flow="reno")
    with pytest.raises(tb.CallError, match=r"series\(\): 'reno': expected with its name, as in flow=…"):
        short.series("reno")  # type: ignore[call-arg]  # That is the mistake.
    with pytest.raises(
        tb.ArgumentError, match=r"series: .*'flow': 'reno', 'link': 'r0->r1'.* expected one of flow, link"
    ):
        short.series(flow="reno", link="r0->r1")
