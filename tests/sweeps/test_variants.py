"""Which scenarios and seeds a sweep is of, and what makes none."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest

import tailback as tb
from tailback.scenario.seeds import several
from tailback.sweeps import Variant, grid
from tailback.sweeps.design import label


def test_a_scheme_may_take_the_place_of_one_alone(base: tb.Scenario) -> None:
    first, *_ = variants = grid(base, {"scheme": ["sack", {"name": "vegas", "alpha": 3}]}, in_place_of="reno")
    assert first.scenario is not None
    assert [variant.labels["scheme"] for variant in variants] == ["sack", "vegas (alpha 3)"]
    assert [flow["scheme"] for flow in first.scenario.to_dict()["flows"]] == ["sack", "cubic"]
    there = grid(first.scenario, {"scheme": ["sack"]})[0].scenario
    assert there is not None
    assert [flow["scheme"] for flow in there.to_dict()["flows"]] == ["sack", "sack"]
    with pytest.raises(tb.ScenarioError, match=r"^sweep: .*\n.*in_place_of: 'nada' is not allowed; .*: reno, cubic"):
        tb.compare(["sack"], base, in_place_of="nada")
    with pytest.raises(
        tb.ScenarioError, match="in_place_of: 'reno' is not allowed; expected it beside values of scheme"
    ):
        base.sweep(buffer=["10 packets"], in_place_of="reno")


def test_a_grid_has_every_combination_in_order(base: tb.Scenario) -> None:
    variants = grid(base, {"buffer": ["10 packets", "20 packets"], "rate": ["5 Mbit/s", "6 Mbit/s"], "delay": "5 ms"})
    assert [tuple(variant.labels.values()) for variant in variants] == [
        ("10 packets", "5 Mbit/s"),
        ("10 packets", "6 Mbit/s"),
        ("20 packets", "5 Mbit/s"),
        ("20 packets", "6 Mbit/s"),
    ]
    scenario = variants[2].scenario
    assert scenario is not None
    assert scenario.to_dict()["topology"]["delay"] == "5 ms"


def test_points_change_fields_together(base: tb.Scenario) -> None:
    points = [{"rate": "5 Mbit/s", "delay": "5 ms"}, {"rate": "50 Mbit/s", "delay": "1 ms"}]
    variants = grid(base, {"scheme": ["reno", "vegas"]}, points)
    assert len(variants) == 4
    assert list(variants[0].labels) == ["rate", "delay", "scheme"]


def test_flows_can_be_an_axis(base: tb.Scenario) -> None:
    groups = [[tb.flows(count, "reno"), tb.flows(1, "cubic")] for count in (1, 2)]
    variants = grid(base, {"flows": groups})
    assert [variant.labels["flows"] for variant in variants] == ["1 reno + 1 cubic", "2 reno + 1 cubic"]


@pytest.mark.parametrize(
    "axes",
    [
        {"buffer": ["50 packets", "50 packets"]},
        {"buffer": ["50 packets", "60 packets", "50 packets "], "scheme": ["reno", "cubic"]},
        {"rate": ["1 Mbit/s", "1000 kbit/s"]},
        {"delay": ["5 ms", "5000 us"]},
        {"scheme": ["cubic", {"name": "cubic", "beta": 0.7}]},
    ],
)
def test_the_same_scenario_twice_is_refused(base: tb.Scenario, axes: dict[str, list[Any]]) -> None:
    """It would count each run twice, and intervals would be too narrow."""
    with pytest.raises(tb.ScenarioError, match="would count twice") as caught:
        grid(base, axes)
    assert [problem.field for problem in caught.value.problems] == [next(iter(axes))]
    assert str(next(iter(axes.values()))[0]) in str(caught.value)


def test_points_that_are_the_same_scenario_are_refused(base: tb.Scenario) -> None:
    points = [{"rate": "1 Mbit/s", "delay": "5 ms"}, {"rate": "1000 kbit/s", "delay": "5 ms"}]
    with pytest.raises(tb.ScenarioError, match=r"rate: '1 Mbit/s' beside '1000 kbit/s'.*would count twice"):
        grid(base, {}, points)


def test_values_that_tables_cannot_tell_apart_are_refused(base: tb.Scenario) -> None:
    early, late = [tb.flows(2, "cubic", start="1 s")], [tb.flows(2, "cubic")]
    with pytest.raises(tb.ScenarioError, match="can tell apart"):
        grid(base, {"flows": [early, late]})
    named = [[tb.flows(2, "cubic", start="1 s", name="early")], late]
    assert len(grid(base, {"flows": named})) == 2


def test_labels_are_short() -> None:
    assert label({"name": "red", "max": "10 packets"}) == "red (max 10 packets)"
    assert label(0.5) == 0.5
    assert label(["reno", "cubic"]) == "reno + cubic"


def test_a_variant_that_makes_no_scenario_is_kept_with_its_error(base: tb.Scenario) -> None:
    runs = base.sweep(buffer=["10 packets", "10 parsecs"], seeds=2, cache=False, jobs=1)
    assert runs.failed["buffer"].to_list() == ["10 parsecs"] * 2
    assert "buffer" in runs.failed["error"][0]
    assert runs.summary()["failed"].to_list() == [0, 2]
    assert runs.summary()["goodput"].null_count() == 1
    with pytest.raises(tb.ScenarioError, match="buffer"):
        runs.result(buffer="10 parsecs")


def test_names_that_lead_nowhere_end_the_sweep(base: tb.Scenario) -> None:
    with pytest.raises(tb.ScenarioError, match="did you mean buffer"):
        base.sweep(bufer=["10 packets", "20 packets"])
    with pytest.raises(tb.ScenarioError, match="at least one value"):
        base.sweep(buffer=[])


def test_seeds_are_different_and_at_least_one(base: tb.Scenario) -> None:
    assert several(3, 5) == [5, 6, 7]
    for seeds, first, allowed in (
        ([2**63], 1, "how many, 1 to 1000000, or a list of different whole numbers from 0 to 9223372036854775807"),
        (2, 2**63 - 1, "how many, 1 to 1, or a list of"),
    ):
        with pytest.raises(tb.ScenarioError, match=f"seeds: .* is not allowed; expected {allowed}"):
            several(seeds, first)
    for bad in (0, [], [1, 1], [-1]):
        with pytest.raises(tb.ScenarioError, match="seeds"):
            base.sweep(seeds=bad, cache=False, jobs=1)


def test_compare_puts_schemes_in_place_of_the_flows(base: tb.Scenario) -> None:
    runs = tb.compare(["reno", "vegas"], [base, base.replace(rate="5 Mbit/s")], seeds=2, cache=False, jobs=1)
    assert runs.axes == ["scenario", "scheme"]
    assert runs.table.height == 8
    differences = runs.compare("scheme")
    assert set(differences["scheme"]) == {"vegas"}


@pytest.mark.parametrize("seeds", [0, -1, 10**9, [], "3", 2.0, True, [1, 1], ["a"], [1.5], [2**70], [-1], None])
def test_seeds_that_are_none(base: tb.Scenario, seeds: Any) -> None:
    with pytest.raises(tb.ScenarioError, match=f"seeds: {re.escape(repr(seeds))} is not allowed"):
        base.sweep(seeds=seeds, cache=False, jobs=1)


@pytest.mark.parametrize("seeds", [np.int64(2), np.arange(1, 3), range(1, 3), (1, 2)])
def test_numpy_counts_seeds_too(base: tb.Scenario, seeds: Any) -> None:
    runs = base.sweep(seeds=seeds, cache=False, jobs=1)
    assert runs.failed.is_empty()
    assert runs.table["seed"].to_list() == [1, 2]


@pytest.mark.parametrize("values", [[1, 2], (1, 2), range(1, 3), np.arange(1, 3), pl.Series([1, 2])])
def test_axes_come_in_many_forms(base: tb.Scenario, values: Any) -> None:
    runs = base.sweep(**{"flows[0].count": values}, cache=False, jobs=1)
    assert runs.table["flows[0].count"].to_list() == [1, 2]
    assert runs.failed.is_empty()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"buffer": {"5 packets", "6 packets"}}, "buffer: a set is not allowed; expected a list"),
        ({"buffer": (f"{count} packets" for count in (5, 6))}, "buffer: a generator is not allowed; expected a list"),
        ({"points": {"buffer": "5 packets"}}, "points: .* is not allowed; expected a list of tables"),
        ({"points": []}, "points: .* is not allowed; expected a list of tables"),
        ({"points": [{"buffer": "5 packets"}], "buffer": ["6 packets"]}, "buffer: .*not both"),
        ({"jobs": 0}, "jobs: 0 is not allowed; expected a number of processes"),
        ({"jobs": "2"}, "jobs: '2' is not allowed"),
        ({"executor": 3}, "executor: 3 is not allowed"),
        ({"progress": 3}, "progress: 3 is not allowed"),
        ({"cache": None}, "cache: None is not allowed; expected True, False, or a folder"),
        ({"flows[1].scheme.beta": [float("nan")]}, r'flows\[1\].scheme.beta: "nan" is not allowed; expected a number'),
    ],
)
def test_options_that_make_no_sense(base: tb.Scenario, options: dict[str, Any], words: str) -> None:
    with pytest.raises(tb.TailbackError, match=words):
        base.sweep(**{"jobs": 1, "cache": False, **options})


def test_what_is_no_scenario_is_told(base: tb.Scenario) -> None:
    with pytest.raises(tb.ScenarioError, match=r"expected a Scenario or a list of them; Scenario.from_toml"):
        tb.sweep("file.toml", buffer=["5 packets"])  # type: ignore[arg-type]
    with pytest.raises(tb.ScenarioError, match="schemes: 'cubic' is not allowed; expected a list"):
        tb.compare("cubic", base)


def test_variants_say_what_they_are() -> None:
    assert Variant({"buffer": "1 BDP"}, None, "no").error == "no"
