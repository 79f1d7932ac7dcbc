"""Where the tests of the command line stand: a folder with a scenario in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import SCENARIO


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own with a scenario in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SCENARIO)
    return tmp_path
