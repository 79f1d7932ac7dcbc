"""What cannot be saved is printed all the same, and then why: a long run is not lost with a full disk."""

from __future__ import annotations

import importlib
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import tailback as tb
from tests.cli.command import tailback

IN_THE_WAY = "tailback: out: cannot be written, out is a file; expected a folder, or a path where nothing is yet"
RUNS = {
    "run": ("run", "small.toml"),
    "sweep": ("sweep", "small.toml", "--seeds", "2", "--jobs", "1", "--no-cache"),
    "compare": ("compare", "sack", "reno", "--over", "small.toml", "--seeds", "1", "--jobs", "1", "--no-cache"),
}
SHOWN = {"run": "Together: goodput", "sweep": "2 runs, 2 seeds each", "compare": "Differences from sack"}


@pytest.mark.parametrize("command", RUNS)
def test_what_was_found_is_printed_and_then_why_it_is_nowhere(here: Path, command: str) -> None:
    (here / "out").write_text("in the way")
    status, said, why = tailback(*RUNS[command])
    assert SHOWN[command] in said
    assert said.endswith("\nNot saved.\n")
    assert (status, why.partition(";")[0]) == (1, IN_THE_WAY.partition(";")[0])
    status, said, why = tailback(*RUNS[command], "--json")
    told = json.loads(said)
    assert told["out"] is None
    assert told["summary"]
    assert (status, why.partition(";")[0]) == (1, IN_THE_WAY.partition(";")[0])
    assert (here / "out").read_text() == "in the way"


@pytest.mark.parametrize("room", [0, 2000, 8000])
def test_on_a_full_disk_nothing_is_left_that_looks_whole(here: Path, room: int) -> None:
    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    words = [sys.executable, "-m", "tailback", "run", "small.toml"]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=full,
    )
    assert done.returncode == 1
    assert "Together: goodput" in done.stdout
    assert done.stdout.endswith("\nNot saved.\n")
    assert done.stderr.startswith("tailback: out/small-seed-1")
    assert done.stderr.endswith(": cannot be written, the file is too large; nothing was changed there\n")
    assert list((here / "out").iterdir()) == []


def test_a_figure_that_cannot_be_drawn_takes_no_tables_with_it(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError("no such angle")

    run = importlib.import_module("tailback.commands.run")
    monkeypatch.setattr(run, "draw_overview", fail)
    result = tb.Scenario.from_toml("small.toml").run()
    with pytest.raises(ArithmeticError, match="no such angle"):
        run.keep_and_tell(result, None, here / "kept", plot=True, predict=None, as_json=False)
    assert "Together: goodput" in capsys.readouterr().out
    assert not (here / "kept").exists()


@pytest.mark.parametrize("command", RUNS)
def test_a_folder_of_another_kind_is_refused_before_anything_runs(
    here: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "mine").mkdir()
    (here / "mine" / "thesis.tex").touch()
    for name in ("tailback.run.run_text", "tailback.sweeps.make.run_all"):
        monkeypatch.setattr(name, lambda *_, **__: pytest.fail("a run was made"))
    status, said, why = tailback(*RUNS[command], "--out", "mine")
    assert (status, said) == (1, "")
    assert why.startswith("tailback: mine: exists and holds something else; expected a new or empty folder")


@pytest.mark.parametrize("letter", ["x", "é"])
def test_a_name_as_long_as_the_system_has_is_none_too_long(here: Path, letter: str) -> None:
    longest = letter * (255 // len(letter.encode()))
    assert tailback(*RUNS["run"], "--no-plot", "--out", longest)[0] == 0
    assert isinstance(tb.load(here / longest), tb.Result)
    status, said, why = tailback(*RUNS["run"], "--out", f"{longest}xx")
    assert (status, said) == (1, "")
    assert why == f"tailback: {longest}xx: cannot be written, File name too long; nothing was changed there"
