"""Results and sweeps of earlier versions are still read: the folders beside this file were written by them, and are never
made again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import tailback as tb

HERE = Path(__file__).parent
RESULTS = sorted(HERE.glob("result-*"))
SWEEPS = sorted(HERE.glob("sweep-*"))


def by_name(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("folder", RESULTS, ids=by_name)
def test_results_of_earlier_versions_are_read(folder: Path) -> None:
    result = tb.Result.load(folder)
    about = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert (result.seed, result.hash, result.title) == (1, about["hash"], "small")
    assert result.bottleneck == "r0->r1"
    # What it holds agrees with itself, by today's definitions.
    window = result.duration - result.warm_up
    flows = result.flows
    assert flows["goodput"].to_list() == pytest.approx((flows["goodput_bytes"] * 8 / window).to_list())
    late = result.flow_series.filter(pl.col("time") > result.warm_up + 0.5 * result.bin)
    sums = late.group_by("flow", maintain_order=True).agg(pl.col("goodput_bytes").sum())
    assert sums["goodput_bytes"].to_list() == flows["goodput_bytes"].to_list()
    assert result.summary()["goodput"][0] == pytest.approx(flows["goodput"].sum())
    assert result.messages.height > 0
    assert result.state.height > 0
    assert result.packets.filter(pl.col("event") == "sent").height > 100
    assert result.units["goodput"] == "bit/s"
    assert result.plot.overview()


@pytest.mark.parametrize("folder", RESULTS, ids=by_name)
def test_csv_and_parquet_of_earlier_versions_agree(folder: Path) -> None:
    table, units = tb.results.read_parquet(folder / "flows.parquet")
    assert units["goodput"] == "bit/s"
    plain = pl.read_csv(folder / "flows.csv")
    assert plain["goodput"].to_list() == table["goodput"].to_list()


@pytest.mark.parametrize("folder", SWEEPS, ids=by_name)
def test_sweeps_of_earlier_versions_are_read(folder: Path) -> None:
    runs = tb.Runs.load(folder)
    assert runs.axes == ["buffer"]
    assert len(runs) == 4
    assert runs.summary()["runs"].to_list() == [2, 2]
    assert (runs.flows.filter(pl.col("group") == "cubic")["goodput"] > 1e6).all()


@pytest.mark.parametrize("folder", SWEEPS, ids=by_name)
def test_a_sweep_whose_scenarios_nobody_understands_keeps_its_numbers(folder: Path, tmp_path: Path) -> None:
    old = shutil.copytree(folder, tmp_path / "old")
    about = json.loads((old / "sweep.json").read_text(encoding="utf-8"))
    about["variants"][0]["scenario"]["abandoned"] = 1
    (old / "sweep.json").write_text(json.dumps(about), encoding="utf-8")
    runs = tb.Runs.load(old)
    assert runs.table.equals(tb.Runs.load(folder).table)
    with pytest.raises(tb.ScenarioError, match=r"not one of this version[\s\S]*abandoned"):
        runs.result(buffer="5 packets")


@pytest.mark.parametrize("folder", [*RESULTS[-1:], *SWEEPS[-1:]], ids=by_name)
def test_newer_and_damaged_folders_are_refused_in_words(folder: Path, tmp_path: Path) -> None:
    kind = tb.Result if folder.name.startswith("result") else tb.Runs
    name = "result.json" if kind is tb.Result else "sweep.json"
    made = shutil.copytree(folder, tmp_path / "made")
    whole = json.loads((made / name).read_text(encoding="utf-8"))
    for broken, words in (
        ({**whole, "format": 1000}, "newer version"),
        ({"format": whole["format"]}, "lacks 'seed'|is damaged"),
        ([], "holds no"),
    ):
        (made / name).write_text(json.dumps(broken), encoding="utf-8")
        with pytest.raises(tb.StorageError, match=words):
            kind.load(made)
