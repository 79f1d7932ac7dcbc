"""``tailback capture``: when it writes its files, and where. What stands in them is tested beside, and in ``test_cli.py``."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tailback.cli import app
from tailback.errors import TailbackError

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
