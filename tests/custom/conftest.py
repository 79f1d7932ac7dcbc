"""What several files of these tests begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

import tailback as tb
from tests.custom.real_runs import GENTLE


@pytest.fixture(scope="module")
def base() -> tb.Scenario:
    """Two flows over a short buffer."""
    made = tb.dumbbell(rate="10 Mbit/s", delay="10 ms", buffer="30 packets", duration="10 s")
    return made.with_flows(tb.flows(2, "sack"))


@pytest.fixture
def gentle(tmp_path: Path) -> Path:
    """A file of parts, which no process can import but by its place."""
    path = tmp_path / "gentle_and_others.py"
    path.write_text(GENTLE, encoding="utf-8")
    return path
