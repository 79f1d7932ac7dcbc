"""Fields that may be switched off although their default is a value: ``"none"`` says so in Python, in files and on the command
line, and every other word is told what is allowed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from tailback import _core
from tests.cli.command import tailback

ALLOWED = 'an amount in packets or bytes, such as "10 packets" or "15 kB", or "none"'


def scenario(gamma: Any) -> tb.Scenario:
    """One flow, whose slow start ends at ``gamma``."""
    scheme = {"name": "accumulation-p"} | ({} if gamma == "left out" else {"gamma": gamma})
    flows = [tb.flows(1, scheme, name="flow")]
    return tb.dumbbell(rate="20 Mbit/s", delay="20 ms", buffer="unlimited", duration="2 s", flows=flows)


def tables(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field of every table."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {}).items()
        schema = list(schema.values())
    if isinstance(schema, list):
        for each in schema:
            yield from tables(each)


def test_no_field_has_a_default_that_only_null_could_switch_off() -> None:
    """TOML has no null, and ``None`` in Python stands for what was not given."""
    found = list(tables(json.loads(_core.schema())))
    assert len(found) > 300
    kinds = {"type": "null"}
    wrong = [name for name, field in found if field.get("default") is not None and kinds in field.get("anyOf", [])]
    wrong += [name for name, field in found if field.get("default") is not None and "null" in field.get("type", ())]
    assert wrong == []
    words = [name for name, field in found if {"type": "string", "enum": ["none"]} in field.get("anyOf", [])]
    assert set(words) == {"gamma"}


def test_none_is_kept_in_files_and_changes_the_run(tmp_path: Path) -> None:
    off, default = scenario("none"), scenario("left out")
    (tmp_path / "off.toml").write_text(off.to_toml())
    assert 'gamma = "none"' in off.to_toml()
    read = tb.Scenario.from_toml(tmp_path / "off.toml")
    assert read.to_dict()["flows"][0]["scheme"] == off.to_dict()["flows"][0]["scheme"]
    assert scenario("1 packets").run().hash == default.run().hash
    assert read.run().hash == off.run().hash != default.run().hash


def test_none_is_said_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "film.toml").write_text(scenario("left out").to_toml())
    film, out = tmp_path / "film.toml", tmp_path / "out"
    status, _, err = tailback("run", str(film), "--no-plot", "--set", "flows[0].scheme.gamma=none", "--out", str(out))
    assert status == 0, err
    loaded = tb.load(out)
    assert isinstance(loaded, tb.Result)
    assert loaded.scenario.to_dict()["flows"][0]["scheme"]["gamma"] == "none"


@pytest.mark.parametrize("said", ["nothing", "off", 0, None])
def test_what_is_neither_is_told_what_is_allowed(said: Any, tmp_path: Path) -> None:
    with pytest.raises(tb.ScenarioError) as raised:
        scenario(said).check()
    (problem,) = raised.value.problems
    assert (problem.field.rpartition(".")[2], problem.allowed) == ("gamma", ALLOWED)
    if said is not None:
        written = scenario("none").to_toml().replace('gamma = "none"', f"gamma = {json.dumps(said)}")
        (tmp_path / "film.toml").write_text(written)
        with pytest.raises(tb.ScenarioError) as raised:
            tb.Scenario.from_toml(tmp_path / "film.toml")
        (problem,) = raised.value.problems
        assert (problem.field, problem.allowed) == ("flows[0].scheme.gamma", ALLOWED)
