"""``tools/fuzz``: what it refuses before it builds anything."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

TOOL = Path(__file__).parent.parent / "tools" / "fuzz"


@pytest.mark.parametrize("seconds", ["0", "8", "-5", "1.5", "soon", "9999999999"])
def test_every_target_gets_a_second(seconds: str) -> None:
    """No second at all would be no limit."""
    ended = subprocess.run([TOOL, seconds], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert f"FUZZ_SECONDS: '{seconds}' is not allowed; expected whole seconds, at least 9" in ended.stderr
