"""The cases of RFC 8867: the files say what the RFC's tables say, as typed here from its text, and the page is what its tool
writes."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tailback as tb
from tailback.results import dynamics
from tailback.units import number
from tools import write_media
from tools.media_cases import CASES, MEASURES, ROWS, SCHEMES, changes, intervals, measured, scenario
from tools.pages import between, write_cells

# Seconds and Mbit/s: reference capacity times ratio, of Tables 1 to 4 and the sections' own attributes.
FORWARD = {
    "5.1": {0: 1.0, 40: 2.5, 60: 0.6, 80: 1.0},
    "5.2": {0: 4.0, 25: 2.0, 50: 3.5, 75: 1.0, 100: 2.0},
    "5.3": {0: 2.0, 20: 1.0, 40: 0.5, 60: 2.0},
    **{case: {0: 3.5} for case in ("5.4", "5.8", "6.1")},
    "5.5": {0: 4.0},
    **{case: {0: 2.0} for case in ("5.6", "5.7")},
}
BACKWARD = {"5.3": {0: 2.0, 35: 0.8, 70: 2.0}}
LASTS = {
    "5.1": 100,
    "5.2": 125,
    "5.3": 100,
    "5.4": 120,
    "5.5": 300,
    "5.6": 120,
    "5.7": 300,
    "5.8": 120,
    "6.1": 120,
    "6.3": 300,
}
# Starts and ends of calls, seconds.
CALLS = {
    "5.1": ([0], 99),
    "5.2": ([0, 0], 125),
    "5.3": ([0, 0], 99),
    "5.4": ([0, 20, 40], 119),
    "5.5": ([0, 10, 20, 30, 40], 299),
    "5.6": ([5], 119),
    "5.7": ([5, 5], 299),
    "5.8": ([0, 0, 0], 119),
    "6.1": ([0, 20, 40], 119),
    "6.3": ([0, 0, 0], 299),
}
# Bits that wait for 300 ms at the reference capacity, in Mbit/s.
REFERENCE = {"5.1": 1, "5.2": 2, "5.3": 1, "5.4": 3.5, "5.5": 4, "5.6": 2, "5.7": 2, "5.8": 3.5, "6.1": 3.5}


def data(case: str) -> dict[str, Any]:
    return tb.Scenario.from_toml(CASES / f"{case}.toml").to_dict()


def capacities(direction: dict[str, Any]) -> dict[float, float]:
    """Mbit/s from when on."""
    steps = {number(step["at"]): 1e-6 * number(step["rate"]) for step in direction.get("schedule", [])}
    return {0.0: 1e-6 * number(direction["rate"]), **steps}


def one_way(case: str) -> list[float]:
    """Milliseconds of each video's way, without queues and jitter."""
    result = tb.Scenario.from_toml(CASES / f"{case}.toml").run()
    return [500 * trip for trip in result.flows.filter(pl.col("group").str.starts_with("video"))["round_trip"]]


def test_every_case_is_there_and_valid() -> None:
    names = {path.stem for path in CASES.glob("*.toml")}
    assert names == {*LASTS, "5.1-udp", "5.2-udp", "5.3-udp"}
    for name in names:
        case = tb.Scenario.from_toml(CASES / f"{name}.toml")
        case.check()
        assert case.name == name


@pytest.mark.parametrize("case", FORWARD)
def test_capacities_and_buffers_are_those_of_the_tables(case: str) -> None:
    topology = data(case)["topology"]
    assert capacities(topology) == pytest.approx(FORWARD[case])
    back = topology["reverse"]
    assert capacities(back) == (pytest.approx(BACKWARD[case]) if case in BACKWARD else {0.0: 100.0})
    assert number(topology["buffer"]) == pytest.approx(0.3 * 1e6 * REFERENCE[case] / 8)
    assert (back.get("buffer") == "unlimited") == (case not in BACKWARD)


@pytest.mark.parametrize(("case", "directions"), [("5.1", ("there",)), ("5.2", ("there",)), ("5.3", ("there", "back"))])
def test_datagrams_leave_of_four_megabits_what_the_tables_say(case: str, directions: tuple[str, ...]) -> None:
    found = data(f"{case}-udp")
    assert (number(found["topology"]["rate"]), number(found["topology"]["buffer"])) == (4e6, 150e3)
    for direction, table in zip(directions, (FORWARD[case], BACKWARD.get(case, {})), strict=False):
        udp = [
            flow
            for flow in found["flows"]
            if flow["name"].startswith("udp") and (direction == "back") == ("from" in flow)
        ]
        for at, left in table.items():
            now = [flow for flow in udp if number(flow.get("start", "0 s")) <= at + 1 < number(flow["stop"])]
            assert sum(number(flow["scheme"]["rate"]) for flow in now) == pytest.approx(4e6 - 1e6 * left), (
                direction,
                at,
            )


@pytest.mark.parametrize("case", LASTS)
def test_calls_come_and_go_as_the_sections_say(case: str) -> None:
    found = data(case)
    assert number(found["duration"]) == LASTS[case]
    starts, stop = CALLS[case]
    for kind in ("video", "audio"):
        groups = [flow for flow in found["flows"] if flow["name"].startswith(kind)]
        assert [number(flow.get("start", "0 s")) for flow in groups for _ in range(flow.get("count", 1))] == starts
        assert {number(flow.get("stop", found["duration"])) for flow in groups} == {stop}
    for flow in found["flows"]:
        if flow["name"].startswith("audio"):
            assert number(flow["source"]["rate"]) == 20e3
        if flow["name"].startswith("video"):
            source = flow["source"]
            # 150 kbit/s to 1.5 Mbit/s lie within what quantisers of 31 to 1 give.
            assert 8 / 31 * number(source["rate"]) < 150e3
            assert 8 * number(source["rate"]) > 1.5e6
            assert 10 <= source["frame_rate"] <= 30


def test_ways_are_as_long_as_the_sections_say() -> None:
    assert one_way("5.4") == pytest.approx([50.0] * 3)
    assert one_way("5.5") == pytest.approx([10.0, 25.0, 50.0, 100.0, 150.0])
    assert one_way("6.3") == pytest.approx([100.0, 40.0, 40.0])
    for case in ("5.1", "5.2", "5.3", "5.6", "5.7", "5.8", "6.1"):
        topology = data(case)["topology"]
        assert number(topology["delay"]) == 0.05
        assert {number(topology[end]["delay"]) for end in ("access", "receiver_access")} == {0.0}


def test_the_two_bottlenecks_have_their_ratios() -> None:
    links = {(link["from"], link["to"]): link for link in data("6.3")["topology"]["links"]}
    rates = [1e-6 * number(links[ends]["rate"]) for ends in (("a", "b"), ("b", "c"), ("c", "d"))]
    assert rates == pytest.approx([2.0, 8.0, 1.5])
    buffers = [number(links[ends]["buffer"]) for ends in (("a", "b"), ("b", "c"), ("c", "d"))]
    assert buffers == pytest.approx([0.3e6 * rate / 8 for rate in rates])


@pytest.mark.parametrize("case", LASTS)
def test_jitter_is_the_cut_normal_of_rfc_8868(case: str) -> None:
    text = (CASES / f"{case}.toml").read_text(encoding="utf-8")
    lists = re.findall(r"values = \[([^\]]*)\]", text)
    assert len(lists) == (6 if case == "6.3" else 2)
    for listed in lists:
        values = np.array([number(value.strip().strip('"')) for value in listed.split(",")])
        drawn = np.abs(np.clip(np.random.default_rng(1).normal(0, 5e-3, 100_000), -15e-3, 15e-3))
        middles = (np.arange(values.size) + 0.5) / values.size
        assert values == pytest.approx(np.quantile(drawn, middles), abs=0.15e-3)
        assert values.max() < 15e-3


def test_competing_flows_and_the_pause() -> None:
    flows = {flow["name"]: flow for flow in data("5.7")["flows"]}
    assert [flows[name]["count"] for name in ("web on", "web off")] == [2, 8]
    assert [flows[name]["source"].get("pause_first", False) for name in ("web on", "web off")] == [False, True]
    assert {name: flows["web on"]["source"]["size"][name] for name in ("from", "to")} == {
        "from": "30 kB",
        "to": "50 kB",
    }
    assert flows["web on"]["source"]["pause"] == {"name": "exponential", "mean": "10 s"}
    tcp = next(flow for flow in data("5.6")["flows"] if flow["name"] == "tcp")
    assert (number(tcp.get("start", "0 s")), number(tcp["stop"])) == (0, 119)
    paused = [flow["source"].get("pauses") for flow in data("5.8")["flows"] if flow["name"].startswith("video")]
    assert paused == [None, [{"from": "40 s", "to": "60 s"}], None]
    priorities = [flow["scheme"] for flow in data("6.1")["flows"] if flow["name"].startswith("video")]
    assert priorities == [{"name": "nada", "priority": 2}, {"name": "nada"}, {"name": "nada"}]


@pytest.mark.parametrize("row", ROWS)
def test_every_row_is_a_scenario_in_which_calls_alone_change(row: str) -> None:
    for scheme in SCHEMES:
        case = scenario(row, scheme)
        case.check()
        for flow in case.to_dict()["flows"]:
            assert (flow["scheme"] == SCHEMES[scheme]) == flow["name"].startswith("video")


@pytest.mark.parametrize("row", ROWS)
def test_the_synthetic_coder_takes_the_place_of_videos_alone(row: str) -> None:
    own, synthetic = (scenario(row, "gcc", synthetic=wanted) for wanted in (False, True))
    synthetic.check()
    for before, after in zip(own.to_dict()["flows"], synthetic.to_dict()["flows"], strict=True):
        coder = after.pop("source", None)
        source = before.pop("source", None)
        assert before == after
        if not before["name"].startswith("video"):
            assert coder == source
            continue
        assert coder["name"] == "synthetic-video"
        assert (number(coder.get("min_rate", "150 kbit/s")), number(coder.get("max_rate", "1.5 Mbit/s"))) == (
            15e4,
            15e5,
        )
        assert coder.get("pauses", []) == source.get("pauses", [])
    assert changes(own) == changes(synthetic)


def test_changes_are_those_of_the_case() -> None:
    assert changes(scenario("5.1", "gcc")) == [0, 40, 60, 80, 99]
    assert changes(scenario("5.1 by UDP", "gcc")) == [0, 40, 60, 80, 99]
    assert changes(scenario("5.3", "gcc")) == [0, 20, 35, 40, 60, 70, 99]
    assert changes(scenario("5.8", "gcc")) == [0, 40, 60, 119]
    assert changes(scenario("5.7", "gcc")) == [0, 5, 299]


def test_priorities_double_the_rate_where_it_may_be_so_large() -> None:
    case = tb.Scenario.from_toml(CASES / "6.1.toml")
    larger = case.replace(**{f"flows[{place}].scheme.max_rate": "2500 kbit/s" for place in range(3)})
    bounded, free = (
        [dynamics.windows(one.run(), f"video {place}", 90, 119).mean() for place in (1, 2)] for one in (case, larger)
    )
    assert bounded[0] == pytest.approx(0.95 * 1.5e6, rel=0.02)
    assert free[0] / free[1] == pytest.approx(2.0, rel=0.15)


def test_a_run_says_what_the_page_tells_of_it() -> None:
    beside_tcp = measured(("5.6", "nada", 1))
    assert beside_tcp["ratio"] > 3
    assert 250 < beside_tcp["delay_p95"] < 360
    alone = measured(("5.1", "nada", 1))
    assert math.isnan(alone["ratio"])
    assert 0.5 < alone["reports"] < 1.5
    assert alone["delay_p50"] < 75
    assert measured(("5.1 without jitter", "nada", 1))["rate"] > 1.15 * alone["rate"]


def test_the_page_has_the_tables_that_the_tool_writes() -> None:
    cells = pl.read_csv(write_media.CELLS)
    assert set(cells["measure"]) == set(MEASURES)
    assert cells.height == len(ROWS) * len(SCHEMES) * len(MEASURES)
    # What there is none of is empty there.
    numbers = cells.with_columns(pl.col("mean", "half_width").cast(pl.Float64, strict=False).fill_null(math.nan))
    written = [re.sub(r"[\d.]+", "#", line) for line in write_media.markdown(numbers, 10).splitlines()]
    stands = [
        re.sub(r"[\d.]+", "#", line) for line in between(write_media.PAGE, *write_media.MARKS).strip().splitlines()
    ]
    assert stands == written


@pytest.mark.parametrize("look", ["--quick", "--synthetic"])
def test_a_look_leaves_the_documentation_as_it_is(look: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = (write_media.PAGE, write_media.CELLS, *write_media.FIGURES)
    before = {file: file.read_bytes() for file in files}
    table = pl.DataFrame(
        [
            {"case": case, "scheme": scheme, "measure": name, "mean": 1.0, "half_width": 0.1}
            for case in ROWS
            for scheme in SCHEMES
            for name in MEASURES
        ]
    )
    monkeypatch.setattr(write_media, "measure", lambda *_, **__: table)
    monkeypatch.setattr(write_media, "intervals", lambda found: found)
    monkeypatch.setattr(sys, "argv", ["write_media", look])
    monkeypatch.chdir(tmp_path)
    write_media.main()
    assert before == {file: file.read_bytes() for file in before}
    assert "1.00\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.10" in (
        tmp_path / "out" / "media" / "howto" / "evaluate-media.md"
    ).read_text(encoding="utf-8")
    # Figures are of the suite's own coder.
    drawn = tmp_path / "out" / "media" / "_static" / "media-shares.svg"
    assert drawn.exists() == (look == "--quick")


def test_a_measure_that_a_case_does_not_have_has_no_interval() -> None:
    runs = pl.DataFrame({"case": "5.1", "scheme": "nada", **{name: [1.0, 3.0] for name in MEASURES}})
    alone = runs.with_columns(ratio=pl.lit(math.nan))
    found = {row["measure"]: row for row in intervals(alone).to_dicts()}
    assert math.isnan(found["ratio"]["mean"])
    assert math.isnan(found["ratio"]["half_width"])
    assert found["rate"]["mean"] == pytest.approx(2.0)


def test_a_cell_without_a_number_is_empty(tmp_path: Path) -> None:
    cells = pl.DataFrame({"case": ["a", "b"], "mean": [1.23456, math.nan], "half_width": [None, math.nan]})
    write_cells(cells, tmp_path / "cells.csv")
    assert (tmp_path / "cells.csv").read_text(encoding="utf-8") == "case,mean,half_width\na,1.235,\nb,,\n"
    assert pl.read_csv(tmp_path / "cells.csv")["mean"].to_list() == [1.235, None]


def test_no_cell_of_the_pages_is_a_word() -> None:
    for path in sorted((write_media.CELLS.parent).glob("*.csv")):
        assert "nan" not in path.read_text(encoding="utf-8").lower().split(","), path.name
