"""Sweeps: what is run, what is kept, and that equal questions get equal answers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tailback as tb
from tailback.results.completion import completion_times
from tailback.results.formulas import round_trips


def test_a_result_is_of_one_scenario(runs: tb.Runs) -> None:
    with pytest.raises(tb.ArgumentError, match=r"2 scenarios fit; .* choose buffer, one of '10 packets', '40 packets'"):
        runs.result(seed=1)
    assert runs.result(buffer="10 packets").seed == runs.table["seed"][0]


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
