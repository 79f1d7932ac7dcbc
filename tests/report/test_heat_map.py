"""The heat map of a sweep's page: over which fields it is, and how to choose others."""

from __future__ import annotations

import shutil
from html import unescape
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import tailback as tb
from tailback import cli


def test_a_sweep_over_four_fields_has_a_heat_map(four_axes: tb.Runs, four_axes_page: Path) -> None:
    text = four_axes_page.read_text(encoding="utf-8")
    assert "Goodput over rate and buffer" in text
    assert "A panel for each value of scheme, on one scale of colours." in text
    assert "Cells are means over delay (5 ms, 20 ms) too." in text
    cells = pl.read_csv(four_axes_page.parent / "heatmap.csv").filter(pl.col("kind") == "cell")
    assert cells.height == 2 * 3 * 3
    found = four_axes.table.filter(scheme="cubic", rate="5 Mbit/s", buffer="5 packets")["goodput"].mean()
    assert isinstance(found, float)
    assert float(f"{found / 1e6:.6g}") in cells["value"].to_list()


def test_the_heat_map_of_a_report_can_be_chosen(four_axes: tb.Runs, result: tb.Result, tmp_path: Path) -> None:
    def report(folder: Path, *options: str) -> str:
        words = ["report", str(folder), "--out", str(tmp_path / "page"), *options]
        done = CliRunner().invoke(cli.app, words, catch_exceptions=True)
        return done.output + (str(done.exception) if done.exception else "")

    four_axes.save(tmp_path / "runs")
    report(tmp_path / "runs", "--metric", "utilization", "--x", "delay", "--y", "scheme", "--by", "rate")
    text = unescape((tmp_path / "page" / "index.html").read_text(encoding="utf-8"))
    assert "Utilization over delay and scheme" in text
    assert "heatmap utilization delay scheme --set by=rate</code>" in text
    assert "Cells are means over buffer (5 packets to 40 packets) too." in text
    shutil.rmtree(tmp_path / "page")
    assert "dely: no such axis" in report(tmp_path / "runs", "--x", "dely")
    assert "god: no such metric" in report(tmp_path / "runs", "--metric", "god")
    result.save(tmp_path / "one")
    assert "--by: 'rate' is not allowed; expected nothing for a single run" in report(tmp_path / "one", "--by", "rate")
    assert not (tmp_path / "page").exists()
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", duration="1 s").with_flows(tb.flows(1, "reno"))
    alone = base.sweep(buffer=["5 packets", "6 packets"], cache=False, jobs=1)
    with pytest.raises(tb.TailbackError, match=r"x and y: .* is not allowed; expected two axes of the sweep"):
        alone.report(tmp_path / "page", metric="utilization")
    assert not (tmp_path / "page").exists()
