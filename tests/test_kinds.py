"""Values of scenarios that are of another kind than asked for, in Python as in files: a text where a number belongs, a number
where a truth value does. What range values may have is the Rust tests' business."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailback as tb
from tailback.scenario import _models
from tailback.scenario._base import Part, plain
from tailback.scenario.toml import dumps

ALLOWED = {"Whole": "a whole number", "Number": "a number", "Truth": "true or false", "Text": "a text"}
WRONG: dict[str, tuple[Any, ...]] = {
    "Whole": ("3", b"3", 3.0, True, [3], None),
    "Number": ("0.5", b"0.5", True, [0.5], None),
    "Truth": ("yes", "true", 1, 0, 1.0, None),
    "Text": (b"name", 5, True, ["name"], None),
}


def fields() -> list[tuple[type[Part], str, str]]:
    """Every field of a part that holds one plain value, with its kind."""
    parts = [part for part in vars(_models).values() if isinstance(part, type) and issubclass(part, Part)]
    found = []
    for part in parts:
        for name, said in getattr(part, "__annotations__", {}).items():
            kind = said.removeprefix("Annotated[").partition(",")[0]
            if kind in WRONG:
                found.append((part, name, kind))
    return found


def test_every_plain_field_refuses_another_kind() -> None:
    asked = fields()
    assert len(asked) > 200
    for part, name, kind in asked:
        for value in WRONG[kind]:
            with pytest.raises(tb.ScenarioError) as raised:
                part(**{name: value})
            said = [
                problem
                for problem in raised.value.problems
                if problem.field.removesuffix("_") == name.removesuffix("_")
            ]
            assert [(problem.value, problem.allowed) for problem in said] == [(repr(value), ALLOWED[kind])], part


def test_files_and_python_refuse_the_same(tmp_path: Path) -> None:
    base = tb.dumbbell(rate="5 Mbit/s", delay="5 ms", duration="2 s", flows=[tb.flows(1, "cubic")])
    wrong: dict[str, tuple[Any, ...]] = {
        "seed": ("3", True, 3.0),
        "flows[0].count": ("3", True, 3.0),
        "flows[0].cells": ("yes", 1),
        "flows[0].scheme.beta": ("0.5", True),
        "record.packets": ("true", 1),
        "name": (5, True),
    }
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(tb.ScenarioError) as in_python:
                base.replace(**{name: value})
            data = json.loads(base.to_json())
            place: Any = data
            *way, last = name.replace("[0]", ".0").split(".")
            for step in way:
                place = place.setdefault(step, {}) if isinstance(place, dict) else place[int(step)]
                if isinstance(place, str):  # Only the scheme, by its bare name.
                    place = data["flows"][0]["scheme"] = {"name": place}
            place[last] = value
            file = tmp_path / "scenario.toml"
            file.write_text(dumps(plain(data)), encoding="utf-8")
            with pytest.raises(tb.ScenarioError) as in_a_file:
                tb.Scenario.from_toml(file)
            assert in_python.value.problems == in_a_file.value.problems, name


def test_numbers_of_numpy_are_taken_for_pythons() -> None:
    # Which a checker of types takes for no int and no bool.
    count: Any = np.int64(2)
    cells: Any = np.bool_(True)
    flows = tb.flows(count, {"name": "cubic", "beta": np.float32(0.5)}, cells=cells)
    assert flows == tb.flows(2, {"name": "cubic", "beta": 0.5}, cells=True)
    assert tb.Flow(scheme="reno", count=np.int64(2)) == tb.Flow(scheme="reno", count=2)


def test_a_bound_is_told_in_words() -> None:
    for count, said in ((-1, "a number of at least 1"), (10**7, "a number of at most 1000000")):
        with pytest.raises(tb.ScenarioError, match=rf"count: {count} is not allowed; expected {said}"):
            tb.Flow(scheme="reno", count=count)
