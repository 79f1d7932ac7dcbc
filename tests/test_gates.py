"""Flows that are switched on and off: what a result, the overview and the terminal tell of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import tailback as tb
from tailback.cli import app
from tailback.results.gates import off_times, switched, told

EXAMPLES = Path(__file__).parents[1] / "examples"
SHORT = {"name": "probabilistic", "period": "5 s"}


@pytest.fixture(scope="module")
def result() -> tb.Result:
    """Twelve flows that want twice what there is, beside four of TCP, for a minute."""
    link = tb.dumbbell(rate="4 Mbit/s", delay="20 ms", buffer="50 packets", duration="60 s", warm_up="10 s")
    datagrams = {"name": "datagrams", "rate": "400 kbit/s", "arrivals": "jittered"}
    return link.with_flows(tb.flows(12, SHORT, datagrams, name="game"), tb.flows(4, "sack", name="tcp")).run(seed=1)


def test_times_off_are_those_that_were_counted(result: tb.Result) -> None:
    spells = off_times(result, after_warm_up=False)
    assert spells.height > 10
    by_series = dict(spells.group_by("flow").agg(pl.col("off").sum()).iter_rows())
    whole = result.flow_series.group_by("flow").agg(pl.col("closed").sum())
    for flow, closed in whole.iter_rows():
        assert by_series.get(flow, 0.0) == pytest.approx(closed, abs=1e-6)
    # After warm-up, the table of flows has the same: time series bin by bin, the table in one piece.
    late = result.flow_series.filter(pl.col("time") > result.warm_up + 0.5 * result.bin)
    counted = late.group_by("flow", maintain_order=True).agg(pl.col("closed").sum())
    found = result.flows.select("flow", "closed").join(counted, on="flow", suffix="_series")
    assert np.allclose(found["closed"], found["closed_series"], atol=1e-6)


def test_no_flow_sends_while_it_is_off_and_is_off_for_about_its_period(result: tb.Result) -> None:
    off = result.flow_series.filter(pl.col("closed") > result.bin * (1 - 1e-9))
    assert off.height > 100
    assert off["sent_bytes"].max() == 0
    whole = off_times(result).filter(~pl.col("is_cut"))
    # T within 10 %; longer where the protected time is made up for, never shorter.
    assert whole["off"].min() >= 4.5 - 1e-6  # type: ignore[operator]
    assert 4.5 <= whole["off"].median() <= 8.0  # type: ignore[operator]


def test_words_and_numbers_of_what_became_of_them(result: tb.Result) -> None:
    (gated,) = switched(result)
    assert (gated.group, gated.flows, gated.tcp_flows) == ("game", 12, 4)
    closed = result.flows.filter(pl.col("group") == "game")["closed"].to_numpy()
    assert gated.on == pytest.approx(1 - closed.mean() / 50.0)
    assert gated.least_on <= gated.on <= gated.most_on
    rates = result.flows.group_by("group").agg(pl.col("throughput").mean())
    mean = dict(rates.iter_rows())
    assert gated.friendliness == pytest.approx(mean["game"] / mean["tcp"])
    text = told(gated)
    for part in (
        "game: 12 flows were on",
        "(median)",
        "at longest",
        "Jain's index",
        "of what a TCP flow beside it got",
    ):
        assert part in text


def test_the_overview_shows_gates_and_one_of_others_does_not(result: tb.Result) -> None:
    axes = result.plot.overview().axes
    assert [axis.get_ylabel().split(" (")[0] for axis in axes] == [
        "flow",
        "throughput",
        "queue",
        "times",
        "part of flows",
    ]
    bars = axes[0].collections[0].get_paths()
    # A bar more than there are times off, for each flow, less those that are off at the end.
    spells = off_times(result, after_warm_up=False)
    assert len(bars) == 12 + int((~spells["is_cut"]).sum())
    assert result.plot.gates().axes
    assert result.plot.off_times().axes


def test_nobody_is_switched_off_where_there_is_room() -> None:
    link = tb.dumbbell(rate="40 Mbit/s", delay="10 ms", duration="10 s")
    datagrams = {"name": "datagrams", "rate": "400 kbit/s"}
    free = link.with_flows(tb.flows(2, SHORT, datagrams, name="game")).run(seed=1)
    (gated,) = switched(free)
    assert told(gated).startswith("game: none of 2 flows was switched off")
    assert "no TCP beside them" in told(gated)
    assert free.plot.overview().axes
    plain = link.with_flows(tb.flows(2, "sack")).run(seed=1)
    assert switched(plain) == []
    with pytest.raises(tb.TailbackError, match="switched off"):
        plain.plot.gates()


def test_the_example_tells_what_becomes_of_the_players(tmp_path: Path) -> None:
    arguments = ["run", str(EXAMPLES / "game.toml"), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0
    assert "Switched on and off: game: 24 flows were on" in done.output.replace("\n", " ")
    done = CliRunner().invoke(app, [*arguments, "--json", "--no-plot"])
    (told_json,) = json.loads(done.output)["switched"]
    # A scenario in which it matters: most of the time, and not always.
    assert 0.3 < told_json["on"] < 0.9
    assert 25 < told_json["median_off"] < 40
