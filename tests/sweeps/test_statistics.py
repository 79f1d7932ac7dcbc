"""Intervals over seeds and paired differences agree with the plain formulas."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import tailback as tb
from tailback.analysis import mean_interval, paired_interval
from tailback.sweeps import statistics


@pytest.fixture
def samples() -> pl.DataFrame:
    random = np.random.default_rng(5)
    common = random.normal(size=10)
    rows = [
        {"scheme": scheme, "load": load, "seed": seed, "goodput": level + common[seed] + 0.1 * random.normal()}
        for scheme, level in (("reno", 5.0), ("cubic", 5.3))
        for load in (1, 2)
        for seed in range(10)
    ]
    return pl.DataFrame(rows).with_columns(pl.lit(None, dtype=pl.String).alias("error"))


def test_intervals_are_those_of_student(samples: pl.DataFrame) -> None:
    table = statistics.intervals(samples, ["scheme", "load"], ["goodput"], level=0.9, units={"goodput": "bit/s"})
    assert table.height == 4
    values = samples.filter((pl.col("scheme") == "cubic") & (pl.col("load") == 2))["goodput"]
    plain = mean_interval(values, level=0.9)
    row = table.filter((pl.col("scheme") == "cubic") & (pl.col("load") == 2)).row(0, named=True)
    assert row["mean"] == pytest.approx(plain.mean)
    assert (row["low"], row["high"]) == pytest.approx((plain.low, plain.high))
    assert (row["runs"], row["unit"]) == (10, "bit/s")


def test_differences_are_paired(samples: pl.DataFrame) -> None:
    shuffled = samples.sample(fraction=1.0, shuffle=True, seed=1)
    table = statistics.differences(shuffled, ["scheme", "load"], "scheme", "reno", ["goodput"], level=0.95, units={})
    assert table.height == 2
    part = samples.filter(pl.col("load") == 1)
    plain = paired_interval(
        part.filter(pl.col("scheme") == "cubic").sort("seed")["goodput"],
        part.filter(pl.col("scheme") == "reno").sort("seed")["goodput"],
    )
    row = table.filter(pl.col("load") == 1).row(0, named=True)
    assert row["difference"] == pytest.approx(plain.mean)
    assert row["half_width"] == pytest.approx(plain.half_width)
    assert row["differs"], "the spread common to both cancels, so that 0.3 shows"
    unpaired = statistics.intervals(samples, ["scheme", "load"], ["goodput"], level=0.95, units={})
    assert unpaired["half_width"].min() > row["half_width"]


def test_one_seed_has_no_interval(samples: pl.DataFrame) -> None:
    one = samples.filter(pl.col("seed") == 0)
    table = statistics.intervals(one, ["scheme"], ["goodput"], level=0.95, units={})
    assert table["half_width"].to_list() == pytest.approx(
        [mean_interval(one.filter(pl.col("scheme") == name)["goodput"]).half_width for name in ("reno", "cubic")]
    )
    single = statistics.intervals(one.head(1), ["scheme"], ["goodput"], level=0.95, units={})
    assert single["half_width"].to_list() == [None]
    assert single["mean"][0] == one["goodput"][0]


def test_runs_that_failed_are_counted_and_left_out(samples: pl.DataFrame) -> None:
    broken = samples.with_columns(
        pl.when(pl.col("seed") == 3).then(pl.lit("no")).alias("error"),
        pl.when(pl.col("seed") != 3).then(pl.col("goodput")).alias("goodput"),
    )
    table = statistics.wide(statistics.intervals(broken, ["scheme"], ["goodput"], level=0.95, units={}), ["scheme"])
    assert table["failed"].to_list() == [2, 2]
    assert table["runs"].to_list() == [18, 18]


def test_unknown_metrics_are_named(samples: pl.DataFrame) -> None:
    with pytest.raises(KeyError, match="godput"):
        statistics.intervals(samples, ["scheme"], ["godput"], level=0.95, units={})
    with pytest.raises(KeyError, match="expected one of cubic, reno"):
        statistics.differences(samples, ["scheme"], "scheme", "bbr", ["goodput"], level=0.95, units={})
    with pytest.raises(ValueError, match="level"):
        statistics.intervals(samples, ["scheme"], ["goodput"], level=1.5, units={})


def test_the_relative_difference_is_of_pairs_that_both_have(samples: pl.DataFrame) -> None:
    missing = pl.when((pl.col("scheme") == "cubic") & (pl.col("seed") < 5)).then(None).otherwise(pl.col("goodput"))
    broken = samples.with_columns(missing.alias("goodput"), (100.0 * pl.col("seed")).alias("far"))
    broken = broken.with_columns(
        pl.when(pl.col("scheme") == "reno")
        .then(pl.col("far"))
        .otherwise(pl.col("goodput") + pl.col("far"))
        .alias("far")
    )
    table = statistics.differences(broken, ["scheme", "load"], "scheme", "reno", ["far"], level=0.95, units={})
    # The baseline's mean over seeds 5 to 9 alone.
    expected = table["difference"] / (100.0 * np.mean([5, 6, 7, 8, 9]))
    assert table["runs"].to_list() == [5, 5]
    assert table["relative"].to_list() == pytest.approx(expected.to_list())
    unknown = broken.with_columns(pl.col("far").fill_null(float("nan")))
    again = statistics.differences(unknown, ["scheme", "load"], "scheme", "reno", ["far"], level=0.95, units={})
    assert again.equals(table), "not a number is missing, too"


def test_a_group_that_got_nothing_has_no_fairness() -> None:
    flows = pl.DataFrame({"seed": [1, 1, 1, 1], "group": ["a", "a", "b", "b"], "goodput": [0.0, 0.0, 1.0, 3.0]})
    assert statistics.groups(flows, ["seed"])["jain"].to_list() == [None, pytest.approx(0.8)]


def test_a_groups_completion_times_are_those_of_its_messages_from_the_warm_up_on() -> None:
    def files(pause: str) -> dict[str, object]:
        return {
            "name": "files",
            "size": {"name": "pareto", "mean": "30 kB", "shape": 1.3},
            "pause": {"name": "exponential", "mean": pause},
        }

    link = tb.dumbbell(rate="10 Mbit/s", delay="10 ms", buffer="60 packets", duration="8 s", warm_up="2 s")
    busy = tb.flows(3, "cubic", files("50 ms"), name="busy", start={"from": "0 s", "to": "1 s"})
    calm = tb.flows(2, "cubic", files("400 ms"), name="calm", start={"from": "0 s", "to": "1 s"})
    runs = link.with_flows(busy, calm, tb.flows(1, "cubic", name="long")).sweep(seeds=2, cache=False, jobs=1)
    got = {row["group"]: row for row in runs.groups.filter(seed=1).to_dicts()}
    result = runs.result(seed=1)
    of = result.flows.select("flow", "group")
    told = result.messages.filter(pl.col("began") >= 2.0).join(of, on="flow")
    assert told.height < result.messages.height
    for name in ("busy", "calm"):
        one = told.filter(group=name)
        assert one.group_by("flow").len()["len"].n_unique() > 1, "else means over flows were the same"
        assert got[name]["completion_time"] == pytest.approx(one["completion_time"].mean())
        for percent in (50, 95, 99):
            of_all = one["completion_time"].quantile(percent / 100, "linear")
            assert got[name][f"completion_time_p{percent}"] == pytest.approx(of_all)
    assert (got["long"]["completion_time"], got["long"]["completion_time_p95"]) == (None, None)
    table = runs.intervals("completion_time_p95", by="group").filter(group="busy")
    assert table["unit"].to_list() == ["s"]
    assert table["half_width"][0] > 0.0
    plain = link.with_flows(tb.flows(2, "cubic")).sweep(seeds=1, cache=False, jobs=1)
    assert not any(name == "messages" or "completion" in name for name in plain.flows.columns), "nobody sends any"


def test_what_no_run_recorded_is_missing_and_still_a_number() -> None:
    link = tb.dumbbell(rate="10 Mbit/s", delay="5 ms", duration="2 s", record={"flows": "none"})
    runs = link.with_flows(tb.flows(1, "cubic"), tb.flows(1, "reno")).sweep(seeds=2, cache=False, jobs=1)
    assert runs.groups.schema["mean_rtt"] == pl.Float64
    row = runs.intervals("mean_rtt", by="group").row(0, named=True)
    assert (row["mean"], row["runs"]) == (None, 0)
    assert "goodput" in runs.summary(by="group").columns, "by which reports are written"
