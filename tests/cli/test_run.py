"""``tailback run``: what it prints, saves and plots, in words and in JSON. Changes by ``--set`` are tested beside."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tailback as tb
from tests.cli.command import SCENARIO, tailback


def test_run_prints_saves_and_plots(here: Path) -> None:
    status, out, _ = tailback("run", "small.toml", "--seed", "3")
    assert status == 0
    assert "sack-0" in out
    assert "r0->r1" in out
    assert "Jain" in out
    folder = here / "out" / "small-seed-3"
    assert tb.Result.load(folder).seed == 3
    assert (folder / "overview.svg").read_text().startswith("<?xml")


def test_run_in_json_with_changes(here: Path) -> None:
    del here
    status, out, _ = tailback(
        "run",
        "small.toml",
        "--set",
        "flows.count=4",
        "--set",
        "buffer=10 packets",
        "--out",
        "there",
        "--no-plot",
        "--json",
    )
    assert status == 0
    found = json.loads(out)
    assert len(found["flows"]) == 4
    assert found["out"] == "there"
    assert found["units"]["goodput"] == "bit/s"
    result = tb.Result.load("there")
    assert result.scenario.to_dict()["topology"]["buffer"] == "10 packets"
    assert not Path("there", "overview.svg").exists()


def test_a_run_without_time_series_says_why(here: Path) -> None:
    said = "record.bin of 3600 s is longer than the run of 5 s, so that no time series was recorded"
    status, out, _ = tailback("run", "small.toml", "--set", "record.bin=1 h", "--out", "long")
    assert (status, f"No overview: {said}." in out) == (0, True)
    with pytest.raises(tb.NotFoundError, match=r"record\.bin of 3600 s"):
        tb.Result.load(here / "long").plot.overview()
    assert "No overview" not in tailback("run", "small.toml", "--set", "record.bin=1 h", "--no-plot")[1]


def test_goodput_says_that_it_has_headers_and_why_it_is_above_throughput(here: Path) -> None:
    _, out, _ = tailback("run", "small.toml", "--no-plot")
    assert "Mbit/s with headers" in out
    assert "Goodput is above" not in out
    example = Path(__file__).resolve().parents[2] / "examples" / "edge_to_edge.toml"
    assert "Goodput is above throughput where data" in tailback("run", str(example), "--no-plot")[1]
    tailback("report", "out/small-seed-1")
    page = (here / "out" / "small-seed-1" / "report" / "index.html").read_text(encoding="utf-8")
    assert "Throughput and goodput are counted on the wire, headers included." in page


def test_the_index_of_fairness_is_of_those_that_always_send(here: Path) -> None:
    tail = """
[[flows]]
name = "game"
scheme = { name = "fixed-rate", rate = "1 Mbit/s" }
source = { name = "game", direction = "client" }
datagram = { segment_size = "500 B" }
"""
    (here / "mixed.toml").write_text(SCENARIO + tail)
    _, out, _ = tailback("run", "mixed.toml", "--no-plot")
    said = re.search(
        r"Jain's index (0\.\d+|1\.0000) of those that always have data to send \(sack\)", " ".join(out.split())
    )
    assert said is not None, out
    flows = tb.Result.load(here / "out" / "mixed-seed-1").flows
    rates = flows.filter(pl.col("group") == "sack")["goodput"].to_numpy()
    assert float(said[1]) == pytest.approx(rates.sum() ** 2 / (len(rates) * (rates**2).sum()), abs=1e-4)
    assert "one-way delay" not in out
    _, out, _ = tailback("run", "mixed.toml", "--no-plot", "--set", "flows[0].source={name='files', size='9 kB'}")
    assert "Jain" not in out


def test_recorded_delays_are_shown(here: Path) -> None:
    del here
    _, out, _ = tailback("run", "small.toml", "--no-plot", "--set", "record.delays=true")
    rows = [line.split() for line in out.splitlines()]
    assert ["flow", "ms", "ms", "ms", "ms"] in rows
    delays = [row for row in rows if row[:1] == ["sack-0"]][1]
    assert 5.0 < float(delays[1]) <= float(delays[2]) <= float(delays[3]) < 60.0


def test_run_says_how_long_files_took(here: Path) -> None:
    files = '[[flows]]\nname = "web"\ncount = 3\nscheme = "sack"\n'
    files += 'source = { name = "files", size = "20 kB", pause = "50 ms" }\n'
    (here / "files.toml").write_text(SCENARIO + files)
    status, out, _ = tailback("run", "files.toml", "--no-plot")
    assert status == 0
    times = tb.Scenario.from_toml(here / "files.toml").run().messages["completion_time"]
    (row,) = re.findall(r"^ web +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) *$", out, re.MULTILINE)
    assert int(row[0]) == times.len()
    told = [float(number) for number in row[1:]]
    assert told == pytest.approx(1e3 * np.quantile(times.to_numpy(), (0.5, 0.95, 0.99)), rel=1e-3)
    assert "completion time of files and bursts" in out
    _, out, _ = tailback("run", "small.toml", "--no-plot")
    assert "completion time" not in out
