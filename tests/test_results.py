"""Results: tables that agree with each other, metrics by their definitions, folders with everything or nothing."""

from __future__ import annotations

import dataclasses
import json
import re
import resource
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tailback as tb
from tailback.results import files, from_core, metrics, tables
from tailback.results.columns import RECORDED
from tailback.results.units import UNITS
from tailback.units import number


def test_describes_itself(result: tb.Result, dumbbell: tb.Scenario) -> None:
    assert result.seed == 3
    assert result.duration == 10
    assert result.warm_up == 2
    assert len(result.hash) == 32
    assert result.versions["tailback"]
    assert result.scenario.run(seed=3).hash == dumbbell.run(seed=3).hash == result.hash
    assert dumbbell.run(seed=4).hash != result.hash


def test_series_are_one_table_however_many_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    table_of = from_core.table_of

    def counted(columns: Any, kind: str) -> pl.DataFrame:
        made.append(1)
        return table_of(columns, kind)

    monkeypatch.setattr(from_core, "table_of", counted)

    def tables_made(count: int) -> int:
        made.clear()
        base = tb.dumbbell(rate="10 Mbit/s", delay="5 ms", duration="1 s", record={"links": "all", "queue_state": True})
        result = base.with_flows(tb.flows(count, "sack", name="f")).run()
        assert result.flow_series["flow"].unique(maintain_order=True).to_list() == result.flows["flow"].to_list()
        assert result.link_series.height == result.links.height * 10
        return len(made)

    assert tables_made(2) == tables_made(40)


def test_links_without_a_state_of_that_name_miss_it() -> None:
    base = tb.dumbbell(
        rate="10 Mbit/s",
        delay="5 ms",
        duration="1 s",
        queue="red",
        reverse={"queue": "codel"},
        record={"queue_state": True},
    )
    series = base.with_flows(tb.flows(1, "sack", name="f")).run().link_series
    there, back = (series.filter(pl.col("link") == name) for name in ("r0->r1", "r1->r0"))
    [average] = set(there.columns) & {"average_packets"}
    assert there[average].null_count() == 0
    assert back[average].null_count() == back.height == 10


def test_counters_balance(dumbbell: tb.Scenario) -> None:
    links = dumbbell.replace(warm_up="0 s").run().links
    out = pl.sum_horizontal(
        "delivered_packets", "dropped_packets", "waiting_packets", "in_service_packets", "propagating_packets"
    )
    assert links.select((pl.col("arrived_packets") + pl.col("duplicated_packets") == out).all()).item()
    dropped = pl.sum_horizontal(
        *(name for name in links.columns if name.startswith("dropped_") and name.count("_") == 2)
    )
    assert links.select((dropped == pl.col("dropped_packets")).all()).item()


def test_series_add_up_to_counters(dumbbell: tb.Scenario) -> None:
    result = dumbbell.replace(warm_up="0 s").run()
    for flow in result.flows.iter_rows(named=True):
        series = result.series(flow=flow["flow"])
        assert series["goodput_bytes"].sum() == flow["goodput_bytes"]
        assert series["goodput"].mean() == pytest.approx(flow["goodput"])
    link = result.links.filter(pl.col("link") == result.bottleneck).row(0, named=True)
    series = result.series()
    assert series["transmitted_packets"].sum() == link["transmitted_packets"]
    assert series["mean_queue"].mean() == pytest.approx(link["mean_queue"])
    assert series["dropped_packets"].sum() == link["dropped_packets"]


def test_metrics_by_their_definitions(result: tb.Result) -> None:
    link = result.links.filter(pl.col("link") == "r0->r1").row(0, named=True)
    assert result.bottleneck == "r0->r1"
    assert metrics.utilization(result) == pytest.approx(link["busy"] / 8.0)
    assert metrics.loss_rate(result) == pytest.approx(link["dropped_packets"] / link["arrived_packets"])
    assert metrics.mean_queue(result) == link["mean_queue"]
    # Little's law against the delay that packets saw: what the round trip time adds to propagation and transmission.
    waits = metrics.queueing_delay(result)
    series = result.series(flow="cubic-0", after_warm_up=True)
    smoothed = series["smoothed_rtt"].mean()
    propagation = result.flows["round_trip"][0]
    assert isinstance(smoothed, float)
    assert waits == pytest.approx(smoothed - propagation, abs=0.004)
    goodput = metrics.goodput(result)
    assert metrics.jain_index(result) == pytest.approx(goodput.sum() ** 2 / (3 * (goodput**2).sum()))
    assert 0 < metrics.queueing_delay_percentile(result, 50) < metrics.queueing_delay_percentile(result, 100) <= 0.0201
    assert metrics.coefficient_of_variation(result, "cubic-0", 1.0) < metrics.coefficient_of_variation(
        result, "cubic-0", 0.1
    )


def test_is_short_on_a_terminal_and_a_table_in_a_notebook(result: tb.Result, dumbbell: tb.Scenario) -> None:
    assert (
        repr(result)
        == f"<Result: two kinds, 10 s, seed 3; 3 flows, {result.links.height} links; hash {result.hash[:16]}>"
    )
    one = dataclasses.replace(result, flows=result.flows.head(1), links=result.links.head(1))
    assert "; 1 flow, 1 link; " in repr(one)
    assert "&lt;Result: two kinds" in result._repr_html_()
    shown = result._repr_html_()
    assert re.search(r"<th[^>]*>goodput<br>\(Mbit/s\)</th>", shown)
    assert re.search(r"<th[^>]*>mean rtt<br>\(ms\)</th>", shown)
    assert "overflow-x:auto" in shown
    runs = dumbbell.sweep(buffer=["10 packets", "20 packets"], seeds=2, cache=False, jobs=1)
    assert repr(runs).startswith("<Runs: 4 of 2 variants over buffer (2)")
    assert "goodput" in runs._repr_html_()
    assert "half width" not in runs._repr_html_(), "it stands beside its mean"
    empty = dataclasses.replace(runs, table=runs.table.clear(), flows=runs.flows.clear(), links=runs.links.clear())
    assert "0 of 0 variants" in empty._repr_html_()
    assert "[topology]" in dumbbell._repr_html_()
    foretold = dumbbell.predicted()
    assert "Predicted, proportional" in foretold._repr_html_()
    assert "(Mbit/s)" in foretold._repr_html_()
    assert repr(result.plot).startswith("<Figures of a result: cdf(), ")
    assert repr(runs.plot).startswith("<Figures of a sweep: cdf(), ")
    assert "[topology]" in str(dumbbell)


def test_summary_is_one_line(result: tb.Result) -> None:
    summary = result.summary()
    assert summary.height == 1
    assert summary["goodput"][0] == pytest.approx(result.flows["goodput"].sum())


def test_metrics_name_what_is_missing(result: tb.Result) -> None:
    with pytest.raises(KeyError, match="r0->r1"):
        metrics.utilization(result, "r9->r1")
    with pytest.raises(KeyError, match="cubic-0"):
        result.series(flow="cubik-0")
    with pytest.raises(ValueError, match="half the window"):
        metrics.coefficient_of_variation(result, "cubic-0", 60.0)


def test_every_column_has_its_unit(result: tb.Result) -> None:
    plain = "flow group scheme source from to link is_access is_traced timeouts recoveries closings name value "
    plain += "begun_messages"
    without = set(plain.split()) | {column.name for column in RECORDED["packets"] if not column.unit}
    for name in tb.Result.TABLES:
        columns = set(getattr(result, name).columns)
        assert columns <= UNITS.keys() | without, name


def test_comes_back_from_its_folder(result: tb.Result, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "run")
    again = tb.Result.load(folder)
    assert (again.hash, again.seed, again.versions) == (result.hash, result.seed, result.versions)
    for name in tb.Result.TABLES:
        assert getattr(again, name).equals(getattr(result, name)), name
    assert again.scenario.run(seed=again.seed).hash == result.hash
    about = json.loads((folder / "result.json").read_text())
    assert about["units"]["flows"]["goodput"] == "bit/s"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_tables_carry_their_units(result: tb.Result, tmp_path: Path) -> None:
    file = tmp_path / "flows.parquet"
    tables.write_parquet(result.flows, file, result.units)
    table, units = tables.read_parquet(file)
    assert table.equals(result.flows)
    assert units["throughput"] == "bit/s"
    tables.write_csv(result.flows, tmp_path / "flows.csv")
    assert pl.read_csv(tmp_path / "flows.csv")["goodput_bytes"].to_list() == result.flows["goodput_bytes"].to_list()


def test_pandas_gets_units_too(result: tb.Result) -> None:
    pytest.importorskip("pandas")
    frame = result.to_pandas("flows")
    assert frame.attrs["units"]["goodput"] == "bit/s"
    assert frame["goodput"].to_numpy() == pytest.approx(result.flows["goodput"].to_numpy())
    with pytest.raises(KeyError, match="flow_series"):
        result.to_pandas("flow")


def test_series_for_pandas_name_flows_by_category(result: tb.Result) -> None:
    pytest.importorskip("pandas")
    frame = result.to_pandas("flow_series")
    assert list(frame["flow"].cat.categories) == result.flows["flow"].to_list()
    assert frame["flow"].astype(str).to_list() == result.flow_series["flow"].to_list()
    frame.loc[0, "goodput"] = -1.0  # Memory of its own.
    assert (result.flow_series["goodput"] >= 0.0).all()
    assert frame["directed_rate"].isna().sum() == result.flow_series["directed_rate"].null_count() > 0


@pytest.mark.parametrize("name", tb.Result.TABLES)
def test_files_of_one_table_carry_units(result: tb.Result, tmp_path: Path, name: str) -> None:
    table: pl.DataFrame = getattr(result, name)
    if table.width == 0 or name == "packets":  # There are none, or they were not recorded.
        told = "the scenario has no" if name.startswith("aggregate") else r"expected a run with record=\{\"packets"
        with pytest.raises(tb.NotFoundError, match=f"^{name}: .*{told}"):
            result.to_csv(tmp_path / "table.csv", name)
        assert not (tmp_path / "table.csv").exists()
        return
    known = {column: result.units[column] for column in table.columns if column in result.units}
    again, units = tb.results.read_parquet(result.to_parquet(tmp_path / "table.parquet", name))
    assert again.equals(table)
    assert units == known
    head = result.to_csv(tmp_path / "table.csv", name, units=True).read_text(encoding="utf-8").splitlines()[0]
    assert head.split(",") == [f"{column} [{known[column]}]" if column in known else column for column in table.columns]
    plain = result.to_csv(tmp_path / "table.csv", name).read_text(encoding="utf-8").splitlines()[0]
    assert plain.split(",") == table.columns


def test_arrow_gets_units_that_survive(result: tb.Result, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = result.to_arrow("flow_series")
    assert table.schema.field("goodput").metadata == {b"unit": b"bit/s"}
    assert table.schema.field("flow").metadata is None
    parquet.write_table(table, tmp_path / "series.parquet")
    again, units = tb.results.read_parquet(tmp_path / "series.parquet")
    assert units["rtt"] == "s"
    assert again.equals(result.flow_series)


def test_tables_that_are_none_are_named(result: tb.Result, tmp_path: Path) -> None:
    for give in (result.to_polars, result.to_pandas, result.to_arrow):
        with pytest.raises(KeyError, match="did you mean flows"):
            give("flow")
    with pytest.raises(tb.StorageError, match="cannot be written"):
        result.to_csv(tmp_path / "nowhere" / "flows.csv")


def test_older_results_are_replaced_and_other_things_are_not(result: tb.Result, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "run")
    (folder / "extra.txt").write_text("of the old result")
    result.save(folder)
    assert not (folder / "extra.txt").exists()
    foreign = tmp_path / "thesis"
    foreign.mkdir()
    (foreign / "chapter.tex").write_text("years of work")
    with pytest.raises(tb.StorageError, match="holds something else"):
        result.save(foreign)
    assert (foreign / "chapter.tex").read_text() == "years of work"


def test_damaged_and_foreign_folders_are_named(result: tb.Result, tmp_path: Path) -> None:
    with pytest.raises(tb.StorageError, match="holds no result"):
        tb.Result.load(tmp_path)
    folder = result.save(tmp_path / "run")
    (folder / "flows.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(tb.StorageError, match=r"flows\.parquet"):
        tb.Result.load(folder)


FULL = """
    import resource, sys
    from pathlib import Path
    import tailback as tb
    scenario = tb.dumbbell(rate="5 Mbit/s", delay="5 ms", duration="60 s", flows=[tb.flows(8, "reno")])
    folder = Path(sys.argv[1])
    if sys.argv[2] == "old":
        scenario.replace(seed=1).run().save(folder)
    result = scenario.replace(seed=2).run()
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # A disk that is full after 20 kB of a file.
    try:
        result.save(folder)
    except tb.StorageError as error:
        print(error)
    else:
        print("saved after all")
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs limits on file sizes")
@pytest.mark.parametrize("before", ["nothing", "old"])
def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, before: str) -> None:
    folder = tmp_path / "run"
    command = [sys.executable, "-c", textwrap.dedent(FULL), str(folder), before]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "cannot be written" in done.stdout
    assert "the file is too large; nothing was changed there" in done.stdout
    assert f"{folder}/" in done.stdout
    if before == "old":
        assert tb.Result.load(folder).seed == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == (["run"] if before == "old" else [])


def test_a_failing_writer_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "table.csv"
    target.write_text("old")

    def fail(path: Path) -> None:
        path.write_text("half of the n")
        raise OSError(28, "No space left on device")

    with pytest.raises(tb.StorageError, match="no space is left; nothing was changed"):
        files.write_file(target, fail)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_a_full_disk_is_named_where_polars_hides_it(tmp_path: Path) -> None:
    """At the end of a table, polars tells of a bad table in place of the system's word."""
    target, table = tmp_path / "table.parquet", pl.DataFrame({f"column {index}": [index] for index in range(100)})
    whole = tmp_path / "whole.parquet"
    table.write_parquet(whole)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    said = []
    try:
        for most in range(0, whole.stat().st_size, 1000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
            with pytest.raises(tb.StorageError) as error:
                files.write_file(target, table.write_parquet)
            said.append(str(error.value))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert set(said) == {f"{target}: cannot be written, the file is too large; nothing was changed there"}
    assert [path.name for path in tmp_path.iterdir()] == ["whole.parquet"]

    def fail(_: Path) -> None:
        raise pl.exceptions.ComputeError("no reason of the system's")

    with pytest.raises(tb.StorageError, match="cannot be written, no reason of the system's; nothing was changed"):
        files.write_file(target, fail)


def test_where_no_folder_can_be(tmp_path: Path, result: tb.Result) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(tb.StorageError, match="file"):
        result.save(tmp_path / "file" / "run")


def test_files_sessions_give_messages() -> None:
    source = {"name": "files", "size": {"name": "constant", "value": "20 kB"}}
    scenario = tb.dumbbell(rate="10 Mbit/s", delay="5 ms", duration="20 s", flows=[tb.flows(3, "sack", source)])
    result = scenario.run()
    assert result.messages.height > 10
    assert set(result.messages["flow"]) == {"sack-0", "sack-1", "sack-2"}
    assert (result.messages["completion_time"] > 0.02).all()


def test_state_of_controllers_is_kept_when_asked_for() -> None:
    scenario = tb.dumbbell(
        rate="5 Mbit/s", delay="5 ms", duration="5 s", flows=[tb.flows(1, "cubic")], record={"state": True}
    )
    state = scenario.run().state
    assert set(state["flow"]) <= {"cubic"}
    assert np.isfinite(state["value"].to_numpy()).all()


def test_times_are_the_numbers_nearest_to_them() -> None:
    """A time of so many nanoseconds is the number that the scenario's own text gives, such as 15 or 0.3."""
    base = tb.dumbbell(
        rate="5 Mbit/s",
        delay="30 ms",
        buffer="10 packets",
        duration="16 s",
        record={"bin": "30 ms", "state": True, "packets": True},
    )
    result = base.with_flows(
        tb.flows(
            1, "cubic", {"name": "files", "size": {"name": "constant", "value": "9 kB"}}, start="15 s", name="late"
        ),
        tb.flows(1, "cubic", "bulk", stop="3 s", name="short"),
    ).run()
    assert result.flows["start"].to_list() == [15.0, 0.0]
    assert result.series(flow="late")["time"].to_list() == [number(f"{30 * (n + 1)} ms") for n in range(533)]
    times = [result.messages["began"], result.messages["ended"], result.state["time"], result.packets["time"]]
    times += [result.links["delay"], result.links["round_trip"], result.flows["round_trip"]]
    for column in times:
        values = column.drop_nulls().to_numpy()
        assert values.size
        assert (values == np.rint(values * 1e9) / 1e9).all(), column.name


def test_nothing_recorded_is_an_empty_table(dumbbell: tb.Scenario) -> None:
    result = dumbbell.replace(record={"flows": "none", "links": "none"}).run(seed=3)
    assert result.flow_series.height == 0
    assert result.link_series.height == 0
    assert result.bottleneck == "r0->r1"
    assert result.flows["mean_rtt"].to_list() == [None, None, None]
    with pytest.raises(KeyError, match="recorded are: none"):
        result.series()


def test_progress_is_told_up_to_the_end(dumbbell: tb.Scenario) -> None:
    told: list[float] = []
    dumbbell.run(progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_a_log_of_packets_that_was_not_recorded_has_its_columns(dumbbell: tb.Scenario, tmp_path: Path) -> None:
    short = dumbbell.replace(duration="1 s", warm_up="0 s")
    logged, bare = short.replace(record={"packets": True}).run(), short.run()
    for one in (bare, tb.Result.load(bare.save(tmp_path / "bare"))):
        assert one.packets.schema == logged.packets.schema
        assert one.packets.filter(pl.col("event") == "dropped").is_empty()
        with pytest.raises(tb.NotFoundError, match=r"record\.packets = true"):
            one.to_polars("packets")


def test_bins_longer_than_the_run_are_told(dumbbell: tb.Scenario) -> None:
    short = dumbbell.replace(duration="2 s", warm_up="0 s")
    long = short.replace(record={"bin": "3 s"}).run()
    assert any(said.startswith("there are no time series: record.bin, 3 s") for said in long.warnings)
    assert not any("time series" in said for said in short.replace(record={"bin": "2 s"}).run().warnings)
