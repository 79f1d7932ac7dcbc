"""Mistakes on the command line and in the files that it names: one clear message, one status to exit with, and no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import SCENARIO, tailback


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "none.toml"], "no such file"),
        (["run", "small.toml", "--set", "bufer=10 packets"], "did you mean buffer?"),
        (["run", "small.toml", "--set", "rate=10"], "rate with its unit"),
        (["run", "small.toml", "--set", "scheme=cubik"], '"cubic"'),
        (["run", "small.toml", "--set", "nonsense"], "FIELD=VALUE"),
        (["reproduce", "mtsc/fig-55"], "did you mean mtsc/fig-5?"),
    ],
)
def test_mistakes_get_one_clear_message(here: Path, words: list[str], expected: str) -> None:
    status, _, err = tailback(*words)
    assert status == 1
    assert expected in err
    assert "Traceback" not in err
    assert not (here / "out").exists()


def test_a_missing_key_is_called_missing(here: Path) -> None:
    status, _, err = tailback("send", str(here / "small.toml"), "localhost")
    assert (status, "--key is missing; expected what" in err) == (1, True)


def test_what_is_missing_is_said_to_be_missing(here: Path) -> None:
    (here / "empty.toml").write_text('[topology]\ntemplate = "dumbbell"\n', encoding="utf-8")
    status, _, err = tailback("validate", "empty.toml")
    assert status == 1
    assert "duration is missing; expected a time with its unit" in err
    assert "flows is missing; expected a list of tables" in err


def test_an_item_that_is_not_there_is_named(here: Path) -> None:
    del here
    status, _, err = tailback("reproduce", "tdqm/fig-66")
    assert status != 0
    assert "tdqm/fig-66" in err
    assert "Traceback" not in err


def test_wrong_usage_exits_with_two(here: Path) -> None:
    del here
    assert tailback("run")[0] == 2
    assert tailback("run", "small.toml", "--seed", "minus one")[0] == 2
    assert tailback("reproduce", "--jobs", "0")[0] == 2


def test_a_scenario_with_many_mistakes_lists_them_all(here: Path) -> None:
    (here / "bad.toml").write_text(
        SCENARIO.replace("5 Mbit/s", "5").replace('"sack"\n', '"sakc"\n').replace("5 ms", "-5 ms")
    )
    status, out, err = tailback("validate", "small.toml", "bad.toml")
    assert status == 1
    assert "small.toml: fine, 2 flows for 5 s" in out
    for field in ("topology.rate", "topology.delay", "flows[0].scheme"):
        assert field in err


def test_checks_are_told_in_json(here: Path) -> None:
    (here / "bad.toml").write_text(SCENARIO.replace("5 Mbit/s", "5"))
    status, out, err = tailback("validate", "small.toml", "bad.toml", "--json")
    fine, bad = (json.loads(line) for line in out.splitlines())
    assert (status, err) == (1, "")
    assert fine == {"file": "small.toml", "fine": True, "flows": 2, "duration": "5 s"}
    assert not bad["fine"]
    assert "topology.rate" in bad["error"]


def test_the_real_command_shows_no_traceback(here: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tailback.cli", "run", "none.toml"],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("tailback: none.toml: there is no such file")


def test_standard_input_is_no_scenario(here: Path) -> None:
    for words in (
        ["run", "-"],
        ["run", "-", "--set", "buffer=3 packets"],
        ["sweep", "-", "--over", "buffer=3 packets"],
    ):
        assert tailback(*words) == (
            1,
            "",
            "tailback: -: standard input is not read; expected a scenario in TOML, in a file",
        )
    assert not (here / "out").exists()


def test_a_folder_whose_name_is_no_text_is_refused_before_the_run(here: Path) -> None:
    for words in (["run", "small.toml"], ["sweep", "small.toml", "--over", "buffer=3 packets", "--no-cache"]):
        status, _, said = tailback(*words, "--out", os.fsdecode(b"a\xff"))
        assert (status, said) == (1, r"tailback: 'a\udcff': cannot be written; expected a name in UTF-8")
    assert [path.name for path in here.iterdir()] == ["small.toml"]
