"""What has changed since it was written is not taken for what was measured, and nothing that is damaged ends in a panic."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tailback as tb
from tailback.cli import app


@pytest.fixture(scope="module")
def saved(result: tb.Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return result.save(tmp_path_factory.mktemp("saved") / "result")


def test_single_bits_are_noticed(saved: Path, tmp_path: Path) -> None:
    draw = random.Random(5)
    files = sorted(path for path in saved.iterdir() if path.is_file())
    for trial in range(60):
        copy = tmp_path / str(trial)
        shutil.copytree(saved, copy)
        target = copy / files[trial % len(files)].name
        data = bytearray(target.read_bytes())
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        target.write_bytes(data)
        with pytest.raises(tb.StorageError):
            tb.load(copy)
        try:
            found = tb.load(copy, trust=True)
        except tb.TailbackError:
            continue  # It cannot even be read; in words, not in a panic.
        assert isinstance(found, tb.Result)


def test_what_is_whole_is_loaded_and_what_lacks_is_named(saved: Path, result: tb.Result, tmp_path: Path) -> None:
    assert tb.Result.load(saved).hash == result.hash
    if shutil.which("sha256sum"):
        subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=saved, check=True)
    copy = tmp_path / "copy"
    shutil.copytree(saved, copy)
    about = json.loads((copy / "result.json").read_text(encoding="utf-8"))
    (copy / "result.json").write_text(json.dumps({**about, "duration": 5.0}), encoding="utf-8")
    with pytest.raises(tb.StorageError, match=r"not as it was written: result\.json; .* --trust, or trust=True"):
        tb.load(copy)
    loaded = tb.load(copy, trust=True)
    assert isinstance(loaded, tb.Result)
    assert loaded.duration == 5.0
    (copy / "SHA256SUMS").unlink()
    with pytest.raises(tb.StorageError, match="SHA256SUMS, cannot be read"):
        tb.load(copy)


def test_commands_ask_for_trust(saved: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(saved, copy)
    (copy / "flows.csv").write_text("flow,goodput\n", encoding="utf-8")
    words = ["plot", str(copy), "throughput", "--out", str(tmp_path / "figures")]
    refused = CliRunner().invoke(app, words)
    assert isinstance(refused.exception, tb.StorageError)
    assert CliRunner().invoke(app, [*words, "--trust"]).exit_code == 0


def test_an_edited_record_of_the_cache_is_made_again(dumbbell: tb.Scenario, tmp_path: Path) -> None:
    first = dumbbell.sweep(seeds=1, jobs=1, cache=tmp_path)
    (record,) = tmp_path.rglob("*.json")
    told = json.loads(record.read_text(encoding="utf-8"))
    told["record"]["run"]["goodput"] *= 2
    record.write_text(json.dumps(told, separators=(",", ":")), encoding="utf-8")
    again = dumbbell.sweep(seeds=1, jobs=1, cache=tmp_path)
    assert again.table["goodput"].to_list() == first.table["goodput"].to_list()


def test_sweeps_are_checked_too(dumbbell: tb.Scenario, tmp_path: Path) -> None:
    folder = dumbbell.sweep(seeds=2, jobs=1, cache=False).save(tmp_path / "sweep")
    assert isinstance(tb.load(folder), tb.Runs)
    with (folder / "flows.parquet").open("ab") as file:
        file.write(b"x")
    with pytest.raises(tb.StorageError, match=r"not as it was written: flows\.parquet"):
        tb.load(folder)
