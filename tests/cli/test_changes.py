"""Changes of a scenario by ``--set``, and arguments given twice: what is mended, made in order, and refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tailback as tb
from tests.cli.command import SCENARIO, tailback


def test_set_mends_a_file_that_is_wrong_without(here: Path) -> None:
    traced = SCENARIO.replace('rate = "5 Mbit/s"', 'trace = { file = "mahimahi.trace" }')
    (here / "there").mkdir()
    (here / "there" / "mahimahi.trace").write_text("1\n2\n3\n")
    (here / "there" / "wire.toml").write_text(traced.replace('"sack"\n', '"kernel-cubic"\n'))
    status, _, err = tailback("run", "there/wire.toml", "--no-plot")
    assert (status, "kernel-cubic" in err) == (1, True)
    status, _, err = tailback("run", "there/wire.toml", "--no-plot", "--set", "flows[0].scheme=cubic")
    assert status == 0, err
    status, _, err = tailback("run", "there/wire.toml", "--set", "flows[0].count=1")
    assert (status, "flows[0].scheme" in err, "there/wire.toml with --set" in err) == (1, True, True)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["buffer=3 packets", "buffer=4 packets"], "buffer: a second --set of it is not allowed; expected one value"),
        (["buffer=3 packets", "topology.buffer=4 packets"], "topology.buffer: what --set buffer gives, too, is not al"),
        (["queue.ecn=true", "queue=red"], "queue: a --set behind queue.ecn, which it would undo, is not allowed; exp"),
        (["flows[0].scheme=reno", "flows.scheme=cubic"], "flows.scheme: a --set behind flows[0].scheme, which it wo"),
    ],
)
def test_a_change_that_would_undo_another_is_refused(here: Path, changes: list[str], said: str) -> None:
    options = [word for change in changes for word in ("--set", change)]
    for words in (
        ["run", "small.toml"],
        ["sweep", "small.toml", "--over", "delay=5 ms"],
        ["shrink", "small.toml", "--while", "failed"],
    ):
        status, _, told = tailback(*words, *options)
        assert status == 1
        assert f"  {said}" in told
    (here / "wrong.toml").write_text(SCENARIO.replace('duration = "5 s"', 'duration = "5"'))
    assert tailback("run", "wrong.toml")[0] == 1
    options += ["--set", "duration=5 s"]  # Which mends it.
    assert tailback("run", "wrong.toml", *options)[2].startswith(f"tailback: --set: 1 problem\n  {said}")


def test_changes_that_go_from_the_whole_to_its_parts_are_all_made(here: Path) -> None:
    del here
    status, out, _ = tailback(
        "run", "small.toml", "--json", "--no-plot", "--set", "queue=red", "--set", "queue.gentle=true",
        "--set", "flows.scheme=cubic", "--set", "flows[0].scheme=vegas",
    )  # fmt: skip
    assert status == 0
    assert json.loads(out)["flows"][0]["scheme"] == "vegas"


def test_arguments_of_figures_and_fields_of_a_direction_are_given_once() -> None:
    from tailback.commands.figures import _options
    from tailback.shell.links import _fields

    with pytest.raises(tb.ArgumentError, match="--set: 'by = queue' is not allowed; expected one value of by"):
        _options(["by=scheme", "by = queue"])
    with pytest.raises(tb.ScenarioError, match="--up rate: a second value is not allowed; expected one value"):
        _fields(["rate=5 Mbit/s", "rate=6 Mbit/s"], "--up")
