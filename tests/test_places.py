"""Where commands put what comes out: nothing that differs is lost in silence."""

from __future__ import annotations

import importlib
import json
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tailback as tb
from tailback import cli
from tailback.papers.mtsc import fig_5
from tailback.plot.style import figure
from tailback.results.places import place

SCENARIO = """
name = "small"
duration = "2 s"
[topology]
template = "dumbbell"
rate = "5 Mbit/s"
delay = "5 ms"
buffer = "20 packets"
[[flows]]
name = "sack"
scheme = "sack"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_figure: None) -> Path:
    """A folder of its own with two scenarios in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TAILBACK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "small.toml").write_text(SCENARIO)
    (tmp_path / "other.toml").write_text(SCENARIO.replace("5 ms", "9 ms"))
    # What an item finds is of no matter here, only that it writes.
    monkeypatch.setattr(fig_5, "_effort", lambda _: (4_000, 2))
    del one_figure
    return tmp_path


def tailback(*words: str) -> str:
    """What a command says, on both outputs."""
    done = CliRunner().invoke(cli.app, list(words))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("command", ["report out/small-seed-1", "reproduce mtsc/fig-5 --jobs 1", "lrd volumes.csv"])
def test_folders_of_others_are_not_written_into(here: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tailback("run", "small.toml", "--no-plot")
    (here / "volumes.csv").write_text("bytes\n" + "1\n2\n4\n" * 200)
    (here / "keep").mkdir()
    (here / "keep" / "a.txt").write_text("hi")
    # Nobody waits for a study, only to hear that.
    studies = importlib.import_module("tailback.analysis.lrd.study")
    with monkeypatch.context() as patched:
        patched.setattr(studies, "study", lambda *_, **__: pytest.fail("studied before"))
        done = CliRunner().invoke(cli.app, [*command.split(), "--out", "keep"])
    assert isinstance(done.exception, tb.StorageError), done.output
    assert "keep: exists and holds something else; expected a new or empty folder" in str(done.exception)
    assert [path.name for path in (here / "keep").iterdir()] == ["a.txt"]
    # What the command itself has made is replaced. What a study finds and how it looks is asked elsewhere.
    found: list[object] = []
    study = studies.study

    def once(*of: object, **how: object) -> object:
        found[:] = found or [study(*of, **how)]
        return found[0]

    monkeypatch.setattr(studies, "study", once)
    monkeypatch.setattr("tailback.plot.lrd.overview", lambda _: figure()[0])
    tailback(*command.split(), "--out", "mine")
    tailback(*command.split(), "--out", "mine")


def test_a_report_does_not_take_the_place_of_reproduced_claims(here: Path) -> None:
    tailback("run", "small.toml", "--no-plot")
    tailback("reproduce", "mtsc/fig-5", "--jobs", "1", "--out", "claims")
    page = (here / "claims" / "index.html").read_bytes()
    done = CliRunner().invoke(cli.app, ["report", "out/small-seed-1", "--out", "claims"])
    assert isinstance(done.exception, tb.StorageError), done.output
    assert (here / "claims" / "index.html").read_bytes() == page


def folders(here: Path) -> list[str]:
    """What lies in ``out``, hidden files too."""
    return sorted(path.name for path in (here / "out").iterdir())


def test_a_changed_run_leaves_the_earlier_one(here: Path) -> None:
    assert "other plans" not in tailback("run", "small.toml", "--no-plot")
    first = tb.Result.load(here / "out" / "small-seed-1").hash
    said = tailback("run", "small.toml", "--no-plot", "--set", "buffer=5 packets")
    assert "Saved in out/small-seed-1-2, for out/small-seed-1 holds results of other plans" in said
    assert tb.Result.load(here / "out" / "small-seed-1").hash == first
    # The same scenario and seed take their own place again.
    tailback("run", "small.toml", "--no-plot")
    tailback("run", "small.toml", "--no-plot", "--set", "buffer=5 packets")
    assert folders(here) == ["small-seed-1", "small-seed-1-2"]


def test_json_says_where_it_is_and_why(here: Path) -> None:
    tailback("run", "small.toml", "--no-plot")
    done = CliRunner().invoke(cli.app, ["run", "small.toml", "--no-plot", "--set", "buffer=5 packets", "--json"])
    assert json.loads(done.stdout)["out"] == "out/small-seed-1-2"
    assert "for out/small-seed-1 holds" in done.stderr
    del here


def test_sweeps_of_other_plans_and_seeds_lie_side_by_side(here: Path) -> None:
    tailback("sweep", "small.toml", "--over", "buffer=5 packets, 9 packets", "--seeds", "2")
    assert "out/small-sweep-2" in tailback("sweep", "small.toml", "--seeds", "2")
    said = tailback("sweep", "small.toml", "--seeds", "3")
    assert "out/small-sweep-3, for out/small-sweep to out/small-sweep-2 hold results of other plans" in said
    tailback("sweep", "small.toml", "--seeds", "2", "--jobs", "1")
    assert folders(here) == ["small-sweep", "small-sweep-2", "small-sweep-3"]
    assert len(tb.Runs.load(here / "out" / "small-sweep")) == 4


def test_comparisons_are_named_after_their_scenario(here: Path) -> None:
    for file in ("small.toml", "other.toml"):
        tailback("compare", "reno", "cubic", "--over", file, "--seeds", "1")
    tailback("compare", "reno", "cubic", "--over", "small.toml", "--over", "other.toml", "--seeds", "1")
    assert folders(here) == ["compare", "other-compare", "small-compare"]


def test_what_was_asked_for_is_replaced_and_said(here: Path) -> None:
    assert "in place of" not in tailback("sweep", "small.toml", "--seeds", "1", "--out", "there")
    assert "in place of" not in tailback("sweep", "small.toml", "--seeds", "1", "--out", "there")
    said = tailback("sweep", "other.toml", "--seeds", "1", "--out", "there")
    assert "there, in place of another result that was there" in " ".join(said.split())
    del here


def test_a_report_of_one_item_leaves_the_report_of_others(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tailback.papers import ledger
    from tests.papers.fakes import Fake, claims

    made = claims(monkeypatch, one=Fake({"value": 1}), two=Fake({"value": 1}))
    asked = {"pcc/one": made[:1], "pcc": made, "pcc/two": made[1:]}
    monkeypatch.setattr(ledger, "select", lambda what: tuple(asked[what[0]]))
    for words in (["pcc"], ["pcc/one"], ["pcc/one"], ["pcc/one", "--full"]):
        tailback("reproduce", *words, "--jobs", "1")
    assert folders(here) == ["reproduce-pcc", "reproduce-pcc-one", "reproduce-pcc-one-full"]
    assert "of 2 claims" in (here / "out" / "reproduce-pcc" / "index.html").read_text(encoding="utf-8")
    said = tailback("reproduce", "pcc/two", "--jobs", "1", "--out", "out/reproduce-pcc")
    assert "in place of another result that was there" in said


def test_a_report_of_an_earlier_version_is_left(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tailback.papers import ledger
    from tests.papers.fakes import Fake, claims

    made = claims(monkeypatch, one=Fake({"value": 1}))
    monkeypatch.setattr(ledger, "select", lambda _: tuple(made))
    older = here / "out" / "reproduce-pcc-one" / "index.html"
    older.parent.mkdir(parents=True)
    older.write_text("73 items")
    assert "out/reproduce-pcc-one-2" in tailback("reproduce", "pcc/one", "--jobs", "1")
    assert older.read_text() == "73 items"


def test_two_at_once_take_two_places(here: Path) -> None:
    found: list[Path] = []
    both = threading.Barrier(2)

    def work(text: str) -> None:
        both.wait()
        with place(None, Path("out/x"), lambda _: False) as where:
            found.append(where.folder)
            where.folder.mkdir()
            (where.folder / "result").write_text(text)

    threads = [threading.Thread(target=work, args=(text,)) for text in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert folders(here) == ["x", "x-2"]
    assert sorted(found) == [Path("out/x"), Path("out/x-2")]
