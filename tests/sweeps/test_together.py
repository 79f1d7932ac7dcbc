"""Several sweeps as one, and what is said of seeds that change nothing."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tailback as tb


@pytest.fixture(scope="module")
def mixed() -> tb.Scenario:
    base = tb.dumbbell(rate="4 Mbit/s", delay="5 ms", buffer="20 packets", duration="2 s")
    return base.with_flows(tb.flows(2, "cubic", start={"from": "0 s", "to": "1 s"}))


@pytest.fixture(scope="module")
def small(mixed: tb.Scenario) -> tb.Runs:
    return mixed.sweep(buffer=["10 packets", "20 packets"], seeds=3, jobs=1, cache=False)


def test_runs_of_two_sweeps_count_once(mixed: tb.Scenario, small: tb.Runs, tmp_path: Path) -> None:
    more = mixed.sweep(buffer=["20 packets", "40 packets"], seeds=[2, 3, 4], jobs=1, cache=False)
    both = tb.concat([small, more])
    at_once = mixed.sweep(buffer=["10 packets", "20 packets", "40 packets"], seeds=4, jobs=1, cache=False)
    assert len(both) == 3 + 4 + 3
    order = ["variant", "seed"]
    expected = at_once.table.join(both.table.select(order), on=order, how="semi").sort(order)
    assert both.table.sort(order)["hash"].to_list() == expected["hash"].to_list()
    assert both.flows.height == 2 * len(both)
    assert both.result(buffer="40 packets", seed=4).hash == both.select(buffer="40 packets", seed=4).table["hash"][0]
    loaded = tb.load(both.save(tmp_path / "both"))
    assert isinstance(loaded, tb.Runs)
    assert loaded.table.equals(both.table)


def test_sweeps_that_begin_with_different_seeds_are_one(mixed: tb.Scenario, small: tb.Runs) -> None:
    again = mixed.replace(name="again")
    more = again.sweep(buffer=["10 packets", "20 packets"], seed=4, seeds=2, jobs=1, cache=False)
    assert tb.concat([small, more]).intervals("goodput")["runs"].to_list() == [5, 5]


def test_named_sweeps_are_told_apart_by_an_axis(mixed: tb.Scenario, small: tb.Runs) -> None:
    far = mixed.replace(delay="50 ms").sweep(buffer=["10 packets", "20 packets"], seeds=3, jobs=1, cache=False)
    both = tb.concat({"near": small, "far": far}, axis="path")
    assert both.axes == ["path", "buffer"]
    found = both.compare("path", "near", "mean_rtt")
    assert found["runs"].to_list() == [3, 3]
    assert (found["difference"] > 0.08).all()
    assert both.variants[-1].scenario == far.variants[-1].scenario


def test_the_axis_may_be_a_field_of_which_tables_have_a_column(
    mixed: tb.Scenario, small: tb.Runs, tmp_path: Path
) -> None:
    slow = mixed.replace(rate="2 Mbit/s").sweep(buffer=["10 packets", "20 packets"], seeds=3, jobs=1, cache=False)
    both = tb.concat({"4 Mbit/s": small, "2 Mbit/s": slow}, axis="rate")
    assert both.links.select("rate", "link_rate").unique(maintain_order=True).rows() == [
        ("4 Mbit/s", 4_000_000),
        ("2 Mbit/s", 2_000_000),
    ]
    assert both.units["link_rate"] == both.units["rate_value"] == "bit/s"
    schemes = tb.concat({"one": small, "other": slow}, axis="scheme")  # Which flows have a column of, too.
    assert schemes.flows.select("scheme", "flow_scheme").unique(maintain_order=True).rows() == [
        ("one", "cubic"),
        ("other", "cubic"),
    ]
    loaded = tb.load(schemes.save(tmp_path / "schemes"))
    assert isinstance(loaded, tb.Runs)
    assert loaded.compare("scheme", "one", "goodput", by="group")["runs"].to_list() == [3, 3]


@pytest.mark.parametrize(
    "axis", ["seed", "goodput", "metric", "low", "group", "flow", "link", "hash", "buffer_value", ""]
)
def test_an_axis_is_not_called_like_what_tables_are_read_by(small: tb.Runs, axis: str) -> None:
    with pytest.raises(tb.ArgumentError, match=f"axis: '{axis}' is not allowed; expected a name"):
        tb.concat({"before": small, "after": small}, axis=axis)


def test_what_cannot_be_one_sweep_is_told(mixed: tb.Scenario, small: tb.Runs) -> None:
    other = mixed.sweep(scheme=["reno"], seeds=3, jobs=1, cache=False)
    with pytest.raises(tb.ArgumentError, match="is over scheme; expected buffer, the fields of the first"):
        tb.concat([small, other])
    for seeds in (3, [7, 8]):  # With other seeds, nothing but the scenario tells them apart.
        far = mixed.replace(delay="50 ms").sweep(buffer=["10 packets"], seeds=seeds, jobs=1, cache=False)
        with pytest.raises(tb.ArgumentError, match=r"two have different scenarios for buffer='10 packets'; .*'before'"):
            tb.concat([small, far])
    changed = dataclasses.replace(small, table=small.table.with_columns(hash=pl.lit("of another build")))
    with pytest.raises(tb.ArgumentError, match="seed 1 came out differently"):
        tb.concat([small, changed])
    nothing: list[Any] = [[], [3], {}]
    for sweeps in nothing:
        with pytest.raises(tb.ArgumentError, match="a list of sweeps"):
            tb.concat(sweeps)


def test_values_that_no_run_has_are_told(small: tb.Runs) -> None:
    with pytest.raises(tb.NotFoundError, match=r"20 pakets: no such value of buffer.*did you mean 20 packets"):
        small.select(buffer="20 pakets")
    with pytest.raises(tb.NotFoundError, match="9: no such value of seed"):
        small.result(seed=9)


def test_a_metric_of_groups_or_of_all_says_whose_it_is(small: tb.Runs) -> None:
    with pytest.raises(tb.NotFoundError, match=r"^queueing_delay_p99: no such metric; .*; by=\"variant\" has it$"):
        small.intervals("goodput", "queueing_delay_p99", by="group")
    with pytest.raises(tb.NotFoundError, match=r"^retransmission_rate: no such metric; .*; by=\"group\" has it$"):
        small.compare(small.axes[0], None, "retransmission_rate")
    with pytest.raises(tb.NotFoundError, match=r"^godput: .*did you mean goodput\?\)$"):
        small.summary("godput")


def test_seeds_that_change_nothing_are_told(mixed: tb.Scenario, small: tb.Runs) -> None:
    assert not small.alike
    still = mixed.replace(start="0 s").sweep(seeds=2, jobs=1, cache=False)
    assert still.alike
    assert "nothing in them is drawn" in repr(still)
    assert not mixed.replace(start="0 s").sweep(seeds=1, jobs=1, cache=False).alike


def test_folders_are_read_whatever_they_hold(mixed: tb.Scenario, tmp_path: Path) -> None:
    result = mixed.run()
    loaded = tb.load(result.save(tmp_path / "one"))
    assert isinstance(loaded, tb.Result)
    assert loaded.hash == result.hash
    scenario = tmp_path / "scenario.toml"
    scenario.write_text("duration = '1 s'\n")
    with pytest.raises(tb.StorageError, match=r"scenario\.toml: .*are folders; .*tb\.Scenario\.from_toml read a"):
        tb.load(scenario)
    with pytest.raises(tb.StorageError, match="holds neither a result nor a sweep"):
        tb.load(tmp_path)
