"""Aggregates as users meet them: in results, in folders, in reports, beside predictions, on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import tailback as tb
from tailback.analysis import columns
from tailback.cli import app
from tailback.papers.accumulation import network
from tailback.results import Result
from tailback.scenario import Scenario

EXAMPLE = Path(__file__).parent.parent / "examples" / "edge_to_edge.toml"


def edges(*, aggregates: int = 2, **fields: Any) -> Scenario:
    """Four flows of SACK behind each edge, over a core of 20 Mbit/s."""
    links = [network.link("r0", "r1", 20e6, 10e-3)]
    flows, loops = [], []
    for pair in range(aggregates):
        for way in ((f"s{pair}", f"e{pair}", "r0"), ("r1", f"x{pair}", f"d{pair}")):
            links += [network.link(*way[:2], 1e9, 1e-3), network.link(*way[1:], 1e9, 1e-3)]
        flows.append(tb.flows(4, "sack", name=f"in-{pair}", from_=f"s{pair}", to=f"d{pair}", start="10 ms"))
        scheme = {"name": "monaco", "target": network.packets(3 * (pair + 1))}
        loops.append({"name": f"loop-{pair}", "from": f"e{pair}", "to": f"x{pair}", "scheme": scheme})
    return tb.graph(*links, duration="30 s", warm_up="10 s", flows=flows, aggregates=loops, **fields)


@pytest.fixture(scope="module")
def result() -> Result:
    return edges(record={"state": True, "packets": True, "links": ["e0->loop-0", "r0->r1"]}).run()


def test_tables_tell_of_loops_apart_from_flows(result: Result) -> None:
    assert result.flows.height == 8
    assert result.aggregates["aggregate"].to_list() == ["loop-0", "loop-1"]
    assert result.aggregates["link"].to_list() == ["e0->loop-0", "e1->loop-1"]
    assert result.aggregates["data_flows"].to_list() == [4, 4]
    # What leaves an aggregate arrives at its flows.
    assert result.aggregates["throughput"].sum() == pytest.approx(result.flows["throughput"].sum(), rel=1e-3)
    first, second = result.aggregates["throughput"]
    assert second / first == pytest.approx(2, rel=0.1), "shares are as targets"
    series = result.series(aggregate="loop-0", after_warm_up=True)
    assert series["window"].null_count() == 0
    assert columns.mean(series["goodput"]) == pytest.approx(first, rel=0.01)
    with pytest.raises(KeyError, match="did you mean loop-0"):
        result.series(aggregate="loop0")
    assert result.units["left_bytes"] == "B"


def test_logs_name_them(result: Result) -> None:
    assert {"loop-0", "loop-1", "in-0-0"} <= set(result.state["flow"])
    estimates = result.state.filter(pl.col("name") == "accumulation")
    assert set(estimates["flow"]) == {"loop-0", "loop-1"}, "nobody else has Monaco's receiver"
    control = result.packets.filter(pl.col("event") == "sent")["flow"].cast(pl.String).value_counts()
    assert {"loop-0", "loop-1", "in-0-0"} <= set(control["flow"])


def test_a_capture_shows_their_control_packets(result: Result, tmp_path: Path) -> None:
    from tailback.capture import write_pcapng

    file = write_pcapng(result, tmp_path / "core.pcapng", at="r0->r1")
    assert file.stat().st_size > 16 * result.packets.filter(pl.col("link").cast(pl.String) == "r0->r1").height


def test_results_without_any_have_an_empty_table() -> None:
    plain = tb.dumbbell(rate="1 Mbit/s", delay="10 ms", duration="2 s", flows=[tb.flows(1, "sack")]).run()
    assert plain.aggregates.is_empty()
    assert plain.aggregate_series.is_empty()
    with pytest.raises(KeyError, match="recorded are: none"):
        plain.series(aggregate="west")


def test_a_folder_keeps_them(result: Result, tmp_path: Path) -> None:
    again = Result.load(result.save(tmp_path / "saved"))
    assert again.aggregates.equals(result.aggregates)
    assert again.aggregate_series.equals(result.aggregate_series)
    assert again.scenario.to_json() == result.scenario.to_json()
    assert (tmp_path / "saved" / "aggregates.csv").exists()


def test_a_report_lists_them(result: Result, tmp_path: Path) -> None:
    page = result.report(tmp_path / "page").read_text(encoding="utf-8")
    assert "loop-1" in page
    assert "e1-&gt;loop-1" in page


def test_predictions_take_a_loop_for_its_flows(result: Result) -> None:
    found = result.predicted()
    assert found.flows["flow"].to_list() == ["loop-0", "loop-1"]
    assert found.flows["weight"].to_list() == [3000, 6000]
    # Proportionally fair: 1 : 2 of 20 Mbit/s.
    assert found.flows["predicted"].to_list() == pytest.approx([20e6 / 3, 40e6 / 3])
    assert all(abs(difference) < 0.1 for difference in found.flows["difference"])
    core = found.links.filter(pl.col("link") == "r0->r1").row(0, named=True)
    assert core["predicted_delay"] == pytest.approx(9 * 8000 / 20e6)
    assert core["queueing_delay"] == pytest.approx(core["predicted_delay"], rel=0.1)


def test_flows_may_come_after_aggregates() -> None:
    whole = edges()
    late = tb.graph(links=whole.to_dict()["topology"]["links"], duration="5 s", aggregates=whole.aggregates)
    assert late.with_flows(list(whole.flows)).run().aggregates.height == 2


def test_files_say_the_same() -> None:
    scenario = edges()
    assert Scenario.of(scenario.to_dict()).to_json() == scenario.to_json()


def test_the_command_shows_them(tmp_path: Path) -> None:
    arguments = ["run", str(EXAMPLE), "--set", "duration=12 s", "--set", "warm_up=4 s", "--out", str(tmp_path / "out")]
    short = CliRunner().invoke(app, [*arguments, "--set", "flows[1].start=6 s"])
    assert short.exit_code == 0, short.output
    assert "waits in" in short.output
    assert "edge->west" in short.output
    told = CliRunner().invoke(app, [*arguments, "--set", "flows[1].start=6 s", "--json"])
    assert json.loads(told.output)["aggregates"][0]["data_flows"] == 11
