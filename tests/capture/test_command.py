"""``tailback capture``: when it writes its files, and where, and of what kind they are. What stands in them is tested beside."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tailback.cli import app
from tailback.errors import TailbackError
from tests.cli import command

SCENARIO = """
duration = "2 s"
record = { packets = true }
[topology]
template = "dumbbell"
rate = "2 Mbit/s"
delay = "10 ms"
buffer = "10 packets"
[[flows]]
name = "sack"
count = 2
scheme = "sack"
"""


@pytest.mark.parametrize("words", [[], ["--flow", "nobody"], ["--flow", "sack-0", "--at", "nowhere"]])
def test_where_one_file_cannot_be_made_none_is(words: list[str], tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    files = [str(tmp_path / "new" / name) for name in ("a.pcapng", "a.qlog", "a.trace")]
    for order in (files, files[::-1]):
        outcome = CliRunner().invoke(app, ["capture", str(scenario), *order, *words])
        assert isinstance(outcome.exception, TailbackError)
        assert list(tmp_path.iterdir()) == [scenario]


def test_missing_folders_are_made(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    files = [tmp_path / "new" / "a.pcapng", tmp_path / "newer" / "still" / "a.qlog"]
    outcome = CliRunner().invoke(app, ["capture", str(scenario), *map(str, files), "--flow", "sack-0"])
    assert outcome.exit_code == 0, outcome.output
    assert all(file.exists() for file in files)


def test_captures_are_what_their_endings_say(tmp_path: Path) -> None:
    scenario = tmp_path / "small.toml"
    scenario.write_text(command.SCENARIO, encoding="utf-8")
    short = ("--set", "duration=3 s")
    files = [str(tmp_path / name) for name in ("a.pcapng", "sack-0.qlog", "a.trace")]
    status, out, _ = command.tailback("capture", str(scenario), *files, "--flow", "sack-0", *short)
    assert (status, out.split()) == (0, files)
    assert Path(files[0]).read_bytes()[:4] == bytes.fromhex("0a0d0d0a"), "a section header of pcapng"
    assert json.loads(Path(files[1]).read_text())["traces"][0]["title"].endswith("sack-0")
    assert Path(files[2]).read_text().split("\n", 1)[0].isdigit()
    for words, said in (
        ((files[1],), "expected the flow that a .qlog file is of, one of sack-0"),
        ((str(tmp_path / "a.pcap"),), "expected a file that ends in .pcapng, .qlog, .trace"),
        ((files[0], "--at", "r0-r1"), "did you mean r0->r1?"),
    ):
        status, _, complaint = command.tailback("capture", str(scenario), *words, *short)
        assert status == 1
        assert said in complaint
