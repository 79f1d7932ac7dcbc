"""Sweeps: what is run, what is kept, what goes wrong, and that equal questions get equal answers."""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tailback as tb
from tailback.results.completion import completion_times
from tailback.results.formulas import round_trips
from tailback.scenario.seeds import several
from tailback.sweeps import Variant, grid
from tailback.sweeps.design import label
from tailback.sweeps.drive import TOGETHER, _Way, drive
from tailback.sweeps.work import Done, Task
from tailback.sweeps.work import several as worked_off


@pytest.fixture(scope="module")
def base() -> tb.Scenario:
    made = tb.dumbbell(rate="10 Mbit/s", delay="10 ms", buffer="20 packets", duration="4 s", warm_up="1 s")
    return made.with_flows(tb.flows(2, "reno"), tb.flows(2, "cubic"))


@pytest.fixture(scope="module")
def runs(base: tb.Scenario, tmp_path_factory: pytest.TempPathFactory) -> tb.Runs:
    return base.sweep(buffer=["10 packets", "40 packets"], seeds=4, jobs=2, cache=tmp_path_factory.mktemp("runs"))


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


def test_a_result_is_of_one_scenario(runs: tb.Runs) -> None:
    with pytest.raises(tb.ArgumentError, match=r"2 scenarios fit; .* choose buffer, one of '10 packets', '40 packets'"):
        runs.result(seed=1)
    assert runs.result(buffer="10 packets").seed == runs.table["seed"][0]


def test_labels_are_short() -> None:
    assert label({"name": "red", "max": "10 packets"}) == "red (max 10 packets)"
    assert label(0.5) == 0.5
    assert label(["reno", "cubic"]) == "reno + cubic"


def test_one_row_per_run_and_the_same_as_a_single_run(base: tb.Scenario, runs: tb.Runs) -> None:
    assert runs.table.height == 8
    assert runs.flows.height == 8 * 4
    assert runs.axes == ["buffer"]
    single = base.replace(buffer="40 packets").run(seed=3)
    row = runs.select(buffer="40 packets", seed=3).table.row(0, named=True)
    assert row["hash"] == single.hash
    summary = single.summary().row(0, named=True)
    for name in ("goodput", "throughput", "jain", "utilization", "loss_rate", "mean_queue", "queueing_delay"):
        assert row[name] == pytest.approx(summary[name], rel=1e-12), name
    assert row["mean_rtt"] == pytest.approx(summary["mean_rtt"], rel=1e-9)
    assert row["bottleneck"] == single.bottleneck
    flows = runs.select(buffer="40 packets", seed=3).flows
    for name in ("goodput", "throughput", "retransmission_rate"):
        assert flows[name].to_list() == pytest.approx(single.flows[name].to_list(), rel=1e-12)


def test_the_percentile_is_that_of_the_metrics(base: tb.Scenario, runs: tb.Runs) -> None:
    from tailback.results.metrics import queueing_delay_percentile

    single = base.replace(buffer="10 packets").run(seed=2)
    row = runs.select(buffer="10 packets", seed=2).table.row(0, named=True)
    assert row["queueing_delay_p95"] == pytest.approx(queueing_delay_percentile(single, 95.0))


def test_round_trips_of_a_flow_are_those_of_numpy() -> None:
    random = np.random.default_rng(3)
    for bins in (1, 2, 20, 21, 100):
        samples = [random.exponential(size=bins) for _ in range(6)]
        for row, one in enumerate(samples[:4]):
            one[random.permutation(bins)[: bins * row // 3]] = np.nan  # The fourth has none at all.
        found = round_trips([one.copy() for one in samples])
        for row, one in enumerate(samples):
            known = one[np.isfinite(one)]
            expected = (known.mean(), known.min(), np.percentile(known, 95)) if known.size else (np.nan,) * 3
            got = tuple(found[name][row] for name in ("mean_rtt", "min_rtt", "rtt_p95"))
            assert got == pytest.approx(expected, nan_ok=True)
            # To the last bit what the flow has when it is alone, whoever else is there.
            if known.size:
                assert got[0] == np.sort(known).mean()


def test_runs_with_and_without_round_trips_stand_in_one_table(base: tb.Scenario) -> None:
    # Streams measure round trips; a call hears of its packets by reports, and has none.
    call = tb.flows(1, "nada", "video", name="call")
    one, both = (base.with_flows(*groups) for groups in ([call], [call, tb.flows(1, "sack")]))
    named = [one.replace(name="one", delays=True), both.replace(name="both", delays=True)]
    found = tb.sweep(named, jobs=1, cache=False).flows
    assert found["flow"].to_list() == ["call", "call", "sack"]
    assert found["rtt_p95"][:2].to_list() == [None, None]
    assert found["rtt_p95"][2] == both.replace(delays=True).run().flows["rtt_p95"][1] > 0.02


def test_completion_times_of_a_sweep_are_those_of_its_runs_after_warm_up() -> None:
    # Until the link becomes faster, before warm-up ends, files take very much longer.
    faster = [{"at": "4 s", "rate": "10 Mbit/s"}]
    base = tb.dumbbell(rate="200 kbit/s", delay="10 ms", duration="10 s", warm_up="5 s", schedule=faster)
    scenario = base.with_flows(tb.flows(3, "sack", {"name": "files"}))
    row = scenario.sweep(seeds=1, jobs=1).table.row(0, named=True)
    table = completion_times(scenario.run(seed=row["seed"])).row(0, named=True)
    assert row["messages"] == table["messages"] > 5
    for name in ("completion_time", *(f"completion_time_p{percent}" for percent in (50, 95, 99))):
        assert row[name] == pytest.approx(table[name], rel=1e-12), name


def test_a_run_can_be_made_again(runs: tb.Runs) -> None:
    again = runs.result(buffer="10 packets", seed=2)
    assert again.hash == runs.select(buffer="10 packets", seed=2).table["hash"][0]
    with pytest.raises(KeyError, match="11 packets: no such value of buffer"):
        runs.result(buffer="11 packets")
    with pytest.raises(KeyError, match="did you mean buffer"):
        runs.select(bufer="10 packets")


def test_tables_that_are_made_of_others_are_given_out_too(runs: tb.Runs, tmp_path: Path) -> None:
    frame = runs.to_pandas("groups")
    assert frame["goodput"].tolist() == runs.groups["goodput"].to_list()
    assert frame.attrs["units"]["goodput"] == "bit/s"
    assert "buffer_value [packets]" in runs.to_csv(tmp_path / "groups.csv", "groups", units=True).read_text()
    one = runs.result(buffer="10 packets", seed=1)
    assert one.to_polars("main_links").equals(one.main_links)
    with pytest.raises(tb.NotFoundError, match="group: no such table; expected one of flows, groups, links, table"):
        runs.to_polars("group")


def test_a_selection_tells_of_its_own_runs(base: tb.Scenario, runs: tb.Runs, tmp_path: Path) -> None:
    assert repr(runs.select(buffer="10 packets")).startswith("<Runs: 4 of 1 variant over buffer (1)")
    page = runs.select(buffer="40 packets", seed=[1, 2]).report(tmp_path / "page").read_text()
    assert "2 runs: 1 variant, 2 seeds each" in page
    assert "buffer = 40 packets" in page
    assert "buffer = 10 packets" not in page
    joined = tb.concat([runs.select(buffer="10 packets"), runs.select(buffer="40 packets", seed=3)])
    assert "5 runs: 2 variants, 1 to 4 seeds each" in joined.report(tmp_path / "joined").read_text()
    points = [{"rate": "5 Mbit/s", "delay": "5 ms"}, {"rate": "6 Mbit/s", "delay": "6 ms"}]
    pairs = base.sweep(points=points, seeds=1, cache=False, jobs=1)
    with pytest.raises(tb.NotFoundError, match=r"no run has \{'rate': '5 Mbit/s', 'delay': '6 ms'\}; see the columns"):
        pairs.select(rate="5 Mbit/s", delay="6 ms")


def test_kept_runs_are_not_made_again(base: tb.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = base.sweep(buffer=["10 packets"], seeds=2, cache=tmp_path, jobs=1)
    monkeypatch.setattr("tailback._core.run", None)
    again = base.sweep(buffer=["10 packets"], seeds=2, cache=tmp_path, jobs=1)
    assert again.table.equals(first.table)
    assert again.failed.is_empty()
    more = base.sweep(buffer=["10 packets"], seeds=3, cache=tmp_path, jobs=1)
    assert more.failed["seed"].to_list() == [3], "only the third had to be made"


def test_a_damaged_record_counts_as_absent(base: tb.Scenario, tmp_path: Path) -> None:
    first = base.sweep(seeds=1, cache=tmp_path, jobs=1)
    (record,) = tmp_path.rglob("*.json")
    record.write_bytes(record.read_bytes()[:100])
    assert base.sweep(seeds=1, cache=tmp_path, jobs=1).table["hash"].to_list() == first.table["hash"].to_list()


def test_other_scenarios_have_other_records(base: tb.Scenario, tmp_path: Path) -> None:
    base.sweep(seeds=1, cache=tmp_path, jobs=1)
    base.replace(delay="11 ms").sweep(seeds=1, cache=tmp_path, jobs=1)
    assert len(list(tmp_path.rglob("*.json"))) == 2


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


def test_any_executor_will_do(base: tb.Scenario, runs: tb.Runs) -> None:
    with ThreadPoolExecutor(2) as executor:
        threads = base.sweep(buffer=["10 packets", "40 packets"], seeds=4, executor=executor, cache=False)
    assert threads.table["hash"].to_list() == runs.table["hash"].to_list()


def test_progress_is_told(base: tb.Scenario) -> None:
    told: list[tuple[int, int]] = []
    base.sweep(seeds=3, cache=False, jobs=1, progress=lambda done, of: told.append((done, of)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_common_random_numbers(base: tb.Scenario) -> None:
    """Variants of one seed see the same traffic: what does not depend on the variant is the same, draw by draw."""
    poisson = tb.flows(1, {"name": "fixed-rate", "rate": "1 Mbit/s", "tokens": "poisson"}, name="cross")
    axes: dict[str, Any] = {"flows[1].scheme": ["reno", "vegas"], "buffer": "unlimited"}
    runs = base.with_flows(poisson, tb.flows(1, "reno")).sweep(seeds=3, cache=False, jobs=1, **axes)
    cross = runs.flows.filter(pl.col("group") == "cross")
    sent = [cross.filter(pl.col("flows[1].scheme") == scheme)["sent_packets"].to_list() for scheme in ("reno", "vegas")]
    assert sent[0] == sent[1]
    assert len(set(sent[0])) > 1, "seeds differ"


def test_runs_come_back_from_their_folder(runs: tb.Runs, tmp_path: Path) -> None:
    runs.save(tmp_path / "sweep")
    loaded = tb.Runs.load(tmp_path / "sweep")
    assert loaded.table.equals(runs.table)
    assert loaded.summary(by="group").equals(runs.summary(by="group"))
    assert loaded.result(buffer="10 packets", seed=1).hash == runs.table["hash"][0]
    assert (tmp_path / "sweep" / "runs.csv").read_text().startswith("buffer,variant,seed")
    with pytest.raises(tb.StorageError, match="holds no sweep"):
        tb.Runs.load(tmp_path)


def test_compare_puts_schemes_in_place_of_the_flows(base: tb.Scenario) -> None:
    runs = tb.compare(["reno", "vegas"], [base, base.replace(rate="5 Mbit/s")], seeds=2, cache=False, jobs=1)
    assert runs.axes == ["scenario", "scheme"]
    assert runs.table.height == 8
    differences = runs.compare("scheme")
    assert set(differences["scheme"]) == {"vegas"}


def dies(task: Task) -> Done:
    if task.number == 2:
        os._exit(9)
    return Done(task.number, record=b"fine")


def test_a_worker_that_dies_takes_no_other_run_with_it() -> None:
    tasks = [Task(number, "", 0, "", 1.0, 0.0) for number in range(6)]
    found = {done.number: done for done in drive(tasks, jobs=2, work=dies)}
    assert sorted(found) == list(range(6))
    assert "died" in found[2].error
    assert all(found[number].record == b"fine" for number in found if number != 2)


class Messages(Executor):
    """Works in this thread, and notes how many tasks a message held."""

    def __init__(self, seconds: float, error: Exception | None = None) -> None:
        self.seconds, self.error = seconds, error
        self.sizes: list[int] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Works off a message at once."""
        work, tasks, _ = args
        self.sizes.append(len(tasks))
        future: Future[Any] = Future()
        if self.error is not None and len(tasks) > 1:
            future.set_exception(self.error)
        else:
            future.set_result(fn(work, tasks, self.seconds, **kwargs))
        return future


def echoes(task: Task) -> Done:
    return Done(task.number, record=b"fine")


def _through(executor: Executor) -> list[Done]:
    tasks = deque(Task(number, "", 0, "", 1.0, 0.0) for number in range(60))
    return list(_Way(executor, tasks, 2, echoes, deque()).results())


def test_short_runs_go_to_workers_together() -> None:
    executor = Messages(seconds=1.0)
    assert sorted(done.number for done in _through(executor)) == list(range(60))
    assert executor.sizes[0] == 1, "nobody knows yet how long they take"
    assert max(executor.sizes) == TOGETHER
    assert executor.sizes[-1] == 1, "towards the end none waits for another's"


def test_what_a_worker_has_no_time_to_begin_with_is_given_again() -> None:
    executor = Messages(seconds=0.0)  # The first of each message has used it up.
    assert sorted(done.number for done in _through(executor)) == list(range(60))
    assert len(executor.sizes) == 60
    assert max(executor.sizes) > 1


def test_what_was_sent_together_fails_together() -> None:
    found = _through(Messages(1.0, ValueError("lost on the way")))
    assert sorted(done.number for done in found) == list(range(60))
    said = {done.error for done in found}
    assert said == {"", "ValueError: lost on the way"}


def takes_long(task: Task) -> Done:
    time.sleep(0.15)
    return Done(task.number, record=b"fine")


def test_long_runs_go_to_workers_one_by_one() -> None:
    tasks = [Task(number, "", 0, "", 1.0, 0.0) for number in range(4)]
    assert len(worked_off(takes_long, tasks, 0.1).done) == 1
    made = worked_off(takes_long, tasks[:2], 1.0)
    assert [done.number for done in made.done] == [0, 1]
    assert 0.15 <= made.seconds < 1.0, "one of them"


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


def test_swept_quantities_have_numbers_beside_their_text(base: tb.Scenario, tmp_path: Path) -> None:
    runs = base.sweep(delay=["5 ms", "0.04 s"], buffer=["9 packets", "1 BDP"], cache=False, jobs=1)
    for table in tb.Runs.TABLES:
        frame = runs.to_pandas(table)
        assert list(frame.columns[:3]) == ["delay", "buffer", "delay_value"]
        assert set(frame["delay_value"]) == {0.005, 0.04}
        units = frame.attrs["units"]
        # A mixture of packets and products of rate and delay is no column of numbers.
        assert units["delay_value"] == "s"
        assert not {"delay", "buffer"} & set(units)
    runs.to_csv(tmp_path / "runs.csv", units=True)
    head, *_ = (tmp_path / "runs.csv").read_text().splitlines()
    assert head.startswith("delay,buffer,delay_value [s],")
    assert {"wall [s]", "goodput [bit/s]", "events"} <= set(head.split(","))
    assert runs.to_arrow().field("delay_value").metadata[b"unit"] == b"s"
    # What figures and tables are made of is what it was.
    assert "delay_value" not in runs.table.columns
    assert runs.units["link_delay"] == runs.units["delay_value"]


def test_a_full_cache_names_what_the_command_line_has(base: tb.Scenario, tmp_path: Path) -> None:
    (tmp_path / "no-folder").symlink_to("/proc/nowhere")
    with pytest.raises(tb.StorageError, match=r"TAILBACK_CACHE names another folder, and --no-cache keeps no runs"):
        base.sweep(seeds=1, jobs=1, cache=tmp_path / "no-folder")


def test_fields_that_change_together_have_no_paired_differences(tmp_path: Path) -> None:
    base = tb.dumbbell(rate="8 Mbit/s", delay="20 ms", duration="1 s").with_flows(tb.flows(1, "reno"))
    points = [{"scheme": "reno", "rate": "2 Mbit/s"}, {"scheme": "cubic", "rate": "4 Mbit/s"}]
    runs = base.sweep(points=points, seeds=2, jobs=1, cache=False)
    with pytest.raises(
        tb.ArgumentError, match=r"axis: 'scheme' is not allowed; expected an axis .*; here rate changes with it$"
    ):
        runs.compare("scheme")
    assert "Paired differences" not in runs.report(tmp_path / "page").read_text(encoding="utf-8")
    assert runs.select(scheme="reno").compare("scheme").is_empty(), "nothing to compare is nothing wrong"
