"""Scenarios as objects: what they say, how they are varied, and what they complain about."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tailback as tb
from tailback import _core
from tailback.scenario import toml
from tailback.scenario.texts import from_text

ROOT = Path(__file__).parent.parent


def complaints(error: pytest.ExceptionInfo[tb.ScenarioError]) -> dict[str, str]:
    """What was complained about, by field."""
    return {problem.field: str(problem) for problem in error.value.problems}


def base(**more: Any) -> tb.Scenario:
    return tb.dumbbell(rate="32 Mbit/s", delay="20 ms", buffer="50 packets", duration="120 s", **more)


def test_generated_types_follow_the_core() -> None:
    command = [sys.executable, str(ROOT / "tools" / "generate_types.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_says_what_a_file_says(tmp_path: Path) -> None:
    scenario = base(seed=7).with_flows(tb.flows(32, "reno"), tb.flows(32, "cubic", start={"from": "0 s", "to": "5 s"}))
    file = tmp_path / "scenario.toml"
    scenario.to_toml(file)
    again = tb.Scenario.from_toml(file)
    assert json.loads(_core.canonical(again.to_json())) == json.loads(_core.canonical(scenario.to_json()))
    assert again.to_toml() == tb.Scenario.from_toml(file).to_toml()


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.toml")), ids=lambda file: file.stem)
def test_examples_survive_the_round_trip(file: Path, tmp_path: Path) -> None:
    scenario = tb.Scenario.from_toml(file)
    copy = tmp_path / file.name
    scenario.to_toml(copy, full=True)
    assert _core.scenario_hash(tb.Scenario.from_toml(copy).to_json()) == _core.scenario_hash(scenario.to_json())


def test_what_comes_back_from_a_file_is_equal(tmp_path: Path) -> None:
    """Defaults that are written out and other units say the same; what says something else is not equal."""
    said = tb.dumbbell(
        rate="10 Mbit/s", delay="0.02 s", duration="0.5 min", queue="codel", flows=[tb.flows(1, "cubic")]
    )
    file = tmp_path / "scenario.toml"
    said.to_toml(file)
    again = tb.Scenario.from_toml(file)
    assert again == said
    assert said == again
    assert again != said.replace(seed=2)
    assert again != said.replace(**{"flows[0].scheme.beta": 0.5})
    assert again != said.to_dict()
    bare = tb.dumbbell(rate="10 Mbit/s", delay="0.02 s")
    assert bare == tb.dumbbell(rate="10 Mbit/s", delay="20 ms")
    assert bare != tb.dumbbell(rate="10 Mbit/s", delay="21 ms")
    assert bare != said


def test_python_and_toml_run_alike(tmp_path: Path) -> None:
    scenario = tb.dumbbell(rate="5 Mbit/s", delay="5 ms", duration="5 s", flows=[tb.flows(2, "sack")])
    file = tmp_path / "scenario.toml"
    scenario.to_toml(file)
    assert tb.Scenario.from_toml(file).run(seed=4).hash == scenario.run(seed=4).hash


def test_complains_about_everything_at_once() -> None:
    with pytest.raises(tb.ScenarioError) as error:
        tb.dumbbell(rate="10", delay="-5 ms", queue="codle", bufer="1 BDP")
    found = complaints(error)
    assert set(found) == {"topology.rate", "topology.delay", "topology.queue", "topology.bufer"}
    assert '"10"' in found["topology.rate"]
    assert "10 Mbit/s" in found["topology.rate"]
    assert '"codel" (the nearest name)' in found["topology.queue"]
    assert "`buffer` (the nearest name)" in found["topology.bufer"]


@pytest.mark.parametrize(
    ("make", "field", "words"),
    [
        (lambda: tb.flows(2, {"name": "cubik"}), "scheme.name", "cubic"),
        (lambda: tb.flows(0, "cubic"), "count", "1"),
        (lambda: tb.flows(2, "cubic", strat="1 s"), "strat", "start"),
        (lambda: base().with_flows(tb.flows(1, {"name": "cubic", "beta": 7.0})), "flows[0].scheme.beta", "7"),
        (lambda: base(duration="0 s").with_flows(tb.flows(1, "reno")), "duration", "0 s"),
        (lambda: base().with_flows(tb.flows(1, "reno", start="9 s", stop="3 s")), "flows[0].stop", "after the start"),
        (lambda: base().with_flows(), "flows", "at least one"),
        (lambda: base(rate=32e6), "topology.rate", "rate with its unit"),
        (lambda: tb.graph({"from": "a", "to": "a"}), "topology.links[0].to", "other than"),
    ],
)
def test_names_field_and_remedy(make: Any, field: str, words: str) -> None:
    if "duration" in field or field == "topology.rate":
        make = _without_clash(field)
    with pytest.raises(tb.ScenarioError) as error:
        make()
    assert field in complaints(error)
    assert words in complaints(error)[field]


def _without_clash(field: str) -> Any:
    """Some arguments are fixed by ``base``; these are said directly."""
    if field == "duration":
        return lambda: tb.dumbbell(rate="1 Mbit/s", delay="1 ms", duration="0 s", flows=[tb.flows(1, "reno")])
    return lambda: tb.dumbbell(rate=32e6, delay="1 ms")  # type: ignore[arg-type]


def test_unreachable_ends_are_refused() -> None:
    links = [{"from": "a", "to": "b"}, {"from": "c", "to": "d"}]
    with pytest.raises(tb.ScenarioError) as error:
        tb.graph(*links, flows=[tb.flows(1, "reno", from_="a", to="d")])
    assert any(problem.field.startswith("flows[0]") for problem in error.value.problems)


def test_replaces_by_short_and_long_names() -> None:
    scenario = base().with_flows(tb.flows(2, "reno"), tb.flows(3, "cubic"))
    changed = scenario.replace(
        buffer="25 packets",
        seed=9,
        **{"flows[1].scheme.beta": 0.5, "flows[0].count": 4, "topology.access.delay": "1 ms"},
    )
    data = changed.to_dict()
    assert data["topology"]["buffer"] == "25 packets"
    assert data["seed"] == 9
    assert data["flows"][1]["scheme"] == {"name": "cubic", "beta": 0.5}
    assert data["flows"][0]["count"] == 4
    assert data["topology"]["access"] == {"delay": "1 ms"}
    assert scenario.to_dict()["topology"]["buffer"] == "50 packets"


def test_another_trace_takes_the_place_of_one_that_was_loaded(tmp_path: Path) -> None:
    for name, times in (("a", "1\n2\n"), ("b", "1\n1\n2\n")):
        (tmp_path / name).write_text(times)
    trace = {"file": str(tmp_path / "a")}
    link = tb.dumbbell(delay="1 ms", duration="100 ms", trace=trace).with_flows(tb.flows(1, "sack"))
    (tmp_path / "scenario.toml").write_text(link.to_toml())
    loaded = tb.Scenario.from_toml(tmp_path / "scenario.toml")
    digest = loaded.to_dict()["topology"]["trace"]["digest"]
    other = loaded.replace(**{"trace.file": str(tmp_path / "b")})
    assert other.run().hash == link.replace(trace={"file": str(tmp_path / "b")}).run().hash != loaded.run().hash
    with pytest.raises(tb.ScenarioError, match=r"topology\.trace\.digest: \w+ is not allowed"):
        loaded.replace(**{"trace.digest": digest, "trace.file": str(tmp_path / "b")})  # Which somebody insists on.


def test_replaces_in_every_group() -> None:
    scenario = base().with_flows(tb.flows(2, "reno"), tb.flows(3, "cubic")).replace(scheme="sack")
    assert [group["scheme"] for group in scenario.to_dict()["flows"]] == ["sack", "sack"]


def test_replacing_what_is_not_there_names_the_nearest() -> None:
    with pytest.raises(tb.ScenarioError) as error:
        base().with_flows(tb.flows(1, "reno")).replace(bufer="1 BDP", **{"flows[4].count": 2})
    found = complaints(error)
    assert "did you mean buffer?" in found["bufer"]
    assert "expected 0: there is one entry alone" in found["flows[4].count"]


def test_equal_groups_are_told_apart() -> None:
    scenario = base().with_flows(tb.flows(1, "reno"), tb.flows(1, "reno"), [tb.flows(1, "reno")])
    assert [group.name for group in scenario.flows] == ["reno", "reno 2", "reno 3"]


def test_scenarios_do_not_change() -> None:
    with pytest.raises(AttributeError, match="expected replace"):
        base().seed = 3


def test_missing_and_broken_files(tmp_path: Path) -> None:
    with pytest.raises(tb.StorageError, match="no such file"):
        tb.Scenario.from_toml(tmp_path / "none.toml")
    with pytest.raises(tb.StorageError, match="is a folder"):
        tb.Scenario.from_toml(tmp_path)
    broken = tmp_path / "broken.toml"
    broken.write_text('duration = "1 s"\n[topology\n')
    with pytest.raises(tb.ScenarioError, match="line 2"):
        tb.Scenario.from_toml(broken)


def test_errors_survive_the_way_between_processes() -> None:
    import pickle

    error = tb.ScenarioError([tb.Problem("a.b", "1", "2")], "here")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.problems) == (str(error), error.problems)


def test_values_of_the_command_line() -> None:
    assert from_text("3") == 3
    assert from_text("25 packets") == "25 packets"
    assert from_text('["1 ms", "2 ms"]') == ["1 ms", "2 ms"]
    assert from_text("true") is True


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)
scalars = st.one_of(texts, st.booleans(), st.integers(-(2**62), 2**62), st.floats(allow_nan=False))
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(texts, values, max_size=6))
def test_written_toml_reads_back(data: dict[str, Any]) -> None:
    assert tomllib.loads(toml.dumps(data)) == data


def test_a_scenario_without_flows_can_still_be_changed() -> None:
    link = tb.dumbbell(rate="10 Mbit/s", delay="10 ms", duration="1 s").replace(
        record={"bin": "20 ms"}, rate="5 Mbit/s"
    )
    assert link.with_flows(tb.flows(1, "sack")).run().bin == pytest.approx(0.02)
    with pytest.raises(tb.ScenarioError, match="expected"):
        link.replace(rate="5")
    with pytest.raises(tb.ScenarioError, match="flows: an empty list"):
        link.run()


@pytest.mark.parametrize("seed", ["3", 3.0, -1, 2**70, True])
def test_a_run_wants_a_whole_number_as_its_seed(seed: Any) -> None:
    scenario = tb.dumbbell(rate="1 Mbit/s", delay="10 ms", duration="1 s").with_flows(tb.flows(1, "reno"))
    with pytest.raises(tb.ScenarioError, match=r"seed: .* is not allowed; expected a whole number from 0"):
        scenario.run(seed=seed)


def test_what_is_no_number_is_told_as_such() -> None:
    with pytest.raises(tb.ScenarioError, match=r'topology.rate: "nan" is not allowed; expected a rate with its unit'):
        tb.dumbbell(rate=float("nan"), delay="10 ms")  # type: ignore[arg-type]
    with pytest.raises(tb.ScenarioError, match=r"scheme: .*the class Controller itself"):
        tb.flows(1, tb.Controller)  # type: ignore[arg-type]


def test_groups_of_flows_are_made_by_flows() -> None:
    base = tb.dumbbell(rate="1 Mbit/s", delay="10 ms")
    for wrong in ("cubic", {"scheme": "cubic"}, ["cubic"]):
        with pytest.raises(tb.ScenarioError, match=r"flows\[0\]: .* expected a group of flows"):
            base.with_flows(wrong)  # type: ignore[arg-type]


def test_links_of_a_graph_come_in_both_ways() -> None:
    here, there = ({"from": "a", "to": to, "rate": "1 Mbit/s", "delay": "1 ms"} for to in ("b", "c"))
    assert len(tb.graph(here, links=[there]).to_dict()["topology"]["links"]) == 2


def test_scenarios_show_what_was_said() -> None:
    base = tb.dumbbell(rate="1 Mbit/s", delay="10 ms", flows=[tb.flows(2, "reno")])
    assert "rate='1 Mbit/s'" in repr(base)
    assert "count=2" in repr(base)
    assert "corruption" not in repr(base)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10 Mbit/s", "10 Mbit/s"),
        ("3", 3),
        ('["a", "b"]', ["a", "b"]),
        ('{"from": "0 s"}', {"from": "0 s"}),
        ('{ from = "0 s", to = "2 s" }', {"from": "0 s", "to": "2 s"}),
        ('[{ name = "cubic", beta = 0.5 }, "reno"]', [{"name": "cubic", "beta": 0.5}, "reno"]),
        ("{ from = ", "{ from = "),
    ],
)
def test_command_lines_say_json_toml_or_text(text: str, value: object) -> None:
    assert from_text(text) == value
