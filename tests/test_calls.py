"""Calls of public functions with arguments that are misspelt, missing or of a wrong kind: each is one error of ours that names the
argument and what is allowed. Values in scenarios are tested in ``test_refusals.py`` and by the core's tests."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import pytest

import tailback as tb
from tailback import analysis, capture, plot, units
from tailback.analysis import lrd
from tailback.calls import checked_call
from tailback.plot.accessor import Plots
from tailback.plot.runs import RunPlots
from tailback.results import completion, dynamics, fairness, losses, metrics

loose: Any = tb
"""Mistakes that a checker of types would find."""
ANY_NAME = {
    *("replace", "select", "result", "sweep", "compare", "dumbbell", "parking_lot", "star", "home", "graph", "flows"),
    *("figure", "measured"),
}
"""They take fields of scenarios by name, options of matplotlib or metrics of any name, and complain in their own words of those
that there are none of."""


def _functions(home: Any, names: list[str]) -> list[tuple[str, Callable[..., Any]]]:
    label = getattr(home, "__name__", str(home)).rpartition(".")[2]
    calls = [(name, getattr(home, name)) for name in names]
    return [(f"{label}.{name}", call) for name, call in calls if isinstance(call, FunctionType | MethodType)]


def _public(home: Any) -> list[str]:
    return [name for name in vars(home) if not name.startswith("_")]


def _own(module: Any) -> list[str]:
    return [name for name in _public(module) if getattr(getattr(module, name), "__module__", "") == module.__name__]


CALLS = [
    *_functions(tb, tb.__all__),
    *(pair for cls in (tb.Scenario, tb.Result, tb.Runs, Plots, RunPlots) for pair in _functions(cls, _public(cls))),
    *(pair for home in (metrics, fairness, losses, dynamics, completion) for pair in _functions(home, _own(home))),
    *(pair for home in (analysis, lrd, capture, plot) for pair in _functions(home, home.__all__)),
]


def test_many_functions_are_looked_at() -> None:
    names = {name for name, _ in CALLS}
    assert len(names) > 80
    assert {
        "tailback.sweep",
        "Scenario.run",
        "Result.to_csv",
        "Runs.intervals",
        "RunPlots.over",
        "analysis.jain",
    } <= names


@pytest.mark.parametrize(("name", "call"), CALLS, ids=[name for name, _ in CALLS])
def test_an_argument_that_there_is_none_of_is_named(name: str, call: Callable[..., Any]) -> None:
    if name.rpartition(".")[2] in ANY_NAME:
        return
    with pytest.raises(tb.ArgumentError, match=r"nonesuch: no such argument; expected .+") as caught:
        call(nonesuch=1)
    assert isinstance(caught.value, TypeError), "as other functions of Python tell it"


@pytest.mark.parametrize("home", [analysis, lrd, capture, plot, metrics], ids=lambda home: home.__name__)
def test_functions_can_go_to_other_processes(home: Any) -> None:
    """What a package exports is the same object as what its module defines: by that name the other process finds it."""
    for name, call in _functions(home, _public(home)):
        assert pickle.loads(pickle.dumps(call)) is call, name


@pytest.fixture(scope="module")
def base() -> tb.Scenario:
    return tb.dumbbell(rate="5 Mbit/s", buffer="20 packets", duration="2 s", flows=[tb.flows(2, "cubic")])


@pytest.fixture(scope="module")
def runs(base: Any) -> Any:
    return base.sweep(buffer=["10 packets", "20 packets"], seeds=2, jobs=1, cache=False)


def test_the_nearest_name_comes_first(base: Any) -> None:
    for call, said in (
        (lambda: base.run(sed=3), r"run\(\): sed: .* \(did you mean seed\?\)"),
        (lambda: loose.load("x", trsut=True), r"load\(\): trsut: .* \(did you mean trust\?\)"),
        (lambda: loose.sweep(base, 3), r"sweep\(\): 3: expected with its name"),
        (lambda: base.sweep("buffer"), r"sweep\(\): 'buffer': expected with its name, as in buffer=…"),
        (lambda: base.sweep({"buffer": []}), r"expected with its name, as in \*\*\{'buffer': …\}"),
        (loose.sweep, r"sweep\(\): base is missing; the arguments are base, seeds, points"),
        (lambda: base.run(1, seed=2), r"run\(\): seed: given twice"),
        (
            lambda: base.with_flows(flows=[]),
            r"with_flows\(\): flows: .* expected groups one after the other, without a name",
        ),
    ):
        with pytest.raises(tb.ArgumentError, match=said):
            call()


def test_an_argument_of_a_wrong_kind_is_told_with_what_is_expected(base: Any) -> None:
    result = base.run()
    loose_metrics: Any = metrics
    loose_dynamics: Any = dynamics
    loose_analysis: Any = analysis
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: loose_metrics.goodput([1, 2]), r"result: \[1, 2\] is not allowed; expected a Result, as run\(\) and"),
        (lambda: loose_metrics.utilization("out/run"), r"result: 'out/run' is not allowed; expected a Result"),
        (lambda: loose_metrics.utilization(result, 3), r"link: 3 is not allowed; expected a text, or None"),
        (lambda: loose_dynamics.smoothness(result, 0), r"flow: 0 is not allowed; expected a text"),
        (
            lambda: loose_dynamics.windows(result, "cubic-0", since="0.5 s", until=2.0, window=0.5),
            r"since: '0\.5 s' is not allowed; expected a number \(did you mean 0\.5\?",
        ),
        (lambda: loose_metrics.queueing_delay_percentile(result, "p95"), r"percent: 'p95' is .* expected a number$"),
        (lambda: loose_analysis.mean_interval(["a"]), r"samples: \['a'\] is not allowed; expected a number, or a list"),
        (lambda: loose_analysis.batch_means([1.0] * 40, batches=2.5), r"batches: 2\.5 is .* expected a whole number$"),
    ]
    for call, said in calls:
        with pytest.raises(tb.CallError, match=said):
            call()


def test_jains_index_takes_a_result_or_rates(base: Any) -> None:
    result = base.run()
    assert metrics.jain_index(result.flows["goodput"]) == metrics.jain_index(result)
    assert metrics.jain_index([1, 2]) == pytest.approx(0.9)
    assert math.isnan(metrics.jain_index([0.0, 0.0])), "of nothing there are no shares"


def test_intervals_of_what_is_no_number_are_refused() -> None:
    calls: list[tuple[Callable[[], Any], str]] = [
        (
            lambda: analysis.mean_interval([1, math.nan, 3]),
            "samples: nan is .* finite numbers, and 1 of 3 is not; leave",
        ),
        (lambda: analysis.mean_interval([1, math.inf, math.nan]), "samples: inf is .* and 2 of 3 are not"),
        (lambda: analysis.paired_interval([1, 2], [math.nan, 3]), "second: nan is not allowed"),
        (lambda: analysis.batch_means([math.nan, *range(40)]), "series: nan is .* and 1 of 41 is not"),
    ]
    for call, said in calls:
        with pytest.raises(tb.ArgumentError, match=said):
            call()


def test_a_mistake_within_a_function_stays_what_it_is() -> None:
    @checked_call
    def broken(count: Any) -> str:
        return "a" + str.join(", ", count)

    with pytest.raises(TypeError, match="can only join an iterable") as caught:
        broken(3)
    assert not isinstance(caught.value, tb.TailbackError)


def test_a_misspelt_option_of_a_sweep_is_told_beside_fields(base: Any) -> None:
    for wrong, meant in (("job", "jobs"), ("sedes", "seeds"), ("progres", "progress"), ("point", "points")):
        with pytest.raises(tb.ScenarioError, match=f"{wrong}: an unknown field .*, or the option {meant}$"):
            base.sweep(**{wrong: [1]})
    with pytest.raises(tb.ScenarioError, match=r"bufer: .*\(did you mean buffer\?\)$"):
        base.sweep(bufer=["1 BDP"])


@pytest.mark.parametrize("options", [{"seed": [1, 2]}, {"points": [{"seed": 1}, {"seed": 2}]}])
def test_seeds_are_no_axis(base: Any, options: dict[str, Any]) -> None:
    """All variants have the same seeds, so that they would be the same run under two numbers."""
    with pytest.raises(tb.ScenarioError, match=r"seed: a swept field is not allowed; expected seeds=\[1, 2, 3\]"):
        base.sweep(**options)


def test_what_is_no_scenario_sweep_or_group_is_told(base: Any) -> None:
    for group in (None, 3, "cubic"):
        with pytest.raises(tb.ScenarioError, match=rf"flows\[0\]: {group!r} is not allowed; expected a group of flows"):
            base.with_flows(group)
    for wrong in (3, "examples/dumbbell.toml", [base, 3]):
        with pytest.raises(tb.ScenarioError, match="expected a Scenario or a list of them"):
            loose.sweep(wrong)
        with pytest.raises(tb.ArgumentError, match=r"sweeps: .* expected a list of sweeps"):
            loose.concat(wrong)


def test_what_is_no_path_is_told(base: Any) -> None:
    result = base.replace(record={"packets": True}).run()
    loose_write: Any = capture.write_pcapng
    from_toml: Any = tb.Scenario.from_toml
    calls: list[tuple[Any, str]] = [
        (lambda: loose.load(3), "folder"),
        (lambda: from_toml(3), "path"),
        (lambda: base.to_toml(3), "path"),
        (lambda: result.save(3), "folder"),
        (lambda: result.to_csv(3), "path"),
        (lambda: loose_write(result, 3), "path"),
    ]
    for call, name in calls:
        with pytest.raises(tb.ArgumentError, match=f"{name}: 3 is not allowed; expected a path"):
            call()


def test_fields_of_parts_are_named_as_in_files() -> None:
    with pytest.raises(
        tb.ScenarioError, match=r"scheem: .* expected `scheme` \(the nearest name\); the fields here are"
    ):
        loose.Flow(scheem="cubic")
    for make, wrong, meant in (
        (lambda **given: tb.dumbbell(rate="1 Mbit/s", **given), "flow", "flows"),
        (loose.graph, "durations", "duration"),
        (loose.home, "uplod", "upload"),
    ):
        with pytest.raises(tb.ScenarioError, match=rf"{wrong}: .* expected `{meant}` \(the nearest argument\)"):
            make(**{wrong: "3 s"})


def test_seeds_are_found_whatever_kind_of_number_names_them(runs: Any) -> None:
    numpy = pytest.importorskip("numpy")
    wanted = runs.result(buffer="10 packets", seed=2).hash
    for seed in (2.0, numpy.int64(2), numpy.array([2])):
        assert runs.result(buffer="10 packets", seed=seed).hash == wanted
    with pytest.raises(tb.NotFoundError, match=r"2\.5: no such value of seed; expected one of 1, 2"):
        runs.result(buffer="10 packets", seed=2.5)
    with pytest.raises(tb.NotFoundError, match=r"^'2': no such value of seed; expected one of 1, 2$"):
        runs.result(buffer="10 packets", seed="2")


def test_figures_say_what_numbers_they_take(base: Any, runs: Any) -> None:
    with pytest.raises(tb.ArgumentError, match="ellipse: 'x' is not allowed; expected standard deviations"):
        runs.plot.throughput_delay(ellipse="x")
    with pytest.raises(tb.ArgumentError, match="window: '1 s' is not allowed; expected seconds"):
        base.run().plot.fairness("1 s")


def test_numbers_of_traces_are_told_with_their_values(tmp_path: Path) -> None:
    loose_rate: Any = capture.constant_rate
    for call, said in (
        (lambda: loose_rate(-1), "rate: -1 is not allowed; expected a number of bit/s"),
        (lambda: loose_rate(math.nan), "rate: nan is not allowed"),
        (lambda: loose_rate("12 Mbit/s"), "rate: '12 Mbit/s' is not allowed"),
        (lambda: loose_rate(12e6, seconds=0), "seconds: 0 is not allowed"),
        (lambda: loose_rate(1e15), r"volumes: 1\.25e\+14 bytes are not allowed; expected at most 100,000,000 opp"),
        (lambda: capture.delivery_trace([1, math.nan], 0.1), "volumes: nan is not allowed"),
        (
            lambda: capture.write_mahimahi(tmp_path / "x", [0.5, 1.5]),
            "milliseconds: 0.5 is not allowed; expected whole",
        ),
        (lambda: capture.write_mahimahi(tmp_path / "x", [1, math.nan]), "milliseconds: nan is not allowed"),
    ):
        with pytest.raises(tb.ArgumentError, match=said):
            call()
    assert capture.write_mahimahi(tmp_path / "x", [0.0, 2.0]).read_text() == "0\n2\n", "whole, though they are floats"


def test_numbers_of_formulas_are_told_with_their_values() -> None:
    for call, said in (
        (lambda: analysis.jain([1.0, -2.0]), "rates: -2 is not allowed"),
        (lambda: analysis.jain([1.0, math.nan]), "rates: nan is not allowed"),
        (lambda: analysis.square_root([0.1, 2.0], 0.1, 1500), "loss: 2 is not allowed"),
        (lambda: analysis.square_root(math.nan, 0.1, 1500), "loss: nan is not allowed"),
        (lambda: analysis.mm1n(-1.0, 3), "load: -1 is not allowed"),
        (lambda: loose.analysis.mm1n(0.5, 3.5), r"n: 3\.5 is not allowed; expected a whole number"),
        (lambda: analysis.mean_interval([1, 2, 3], level=95), "level: 95 is not allowed"),
        (lambda: analysis.paired_interval([1, 2], [1]), "second: 1 samples are given; expected 2"),
        (lambda: loose.units.time("x"), "seconds: 'x' is not allowed; expected a finite number"),
        (lambda: units.number("3 parsecs"), "'3 parsecs' is not a quantity"),
        (lambda: loose.units.number(3), "written: 3 is not allowed; expected a quantity with its unit"),
    ):
        with pytest.raises(tb.ArgumentError, match=said):
            call()
