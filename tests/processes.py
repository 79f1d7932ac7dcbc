"""Processes that a test has started, found by their command lines, and waiting for what becomes of them. What they do is in the
tests."""

import os
import time
from collections.abc import Callable
from pathlib import Path

LONG = 60
"""Seconds; only a hang gets there."""


def having(mark: str | Path) -> list[str]:
    """The processes other than this one whose command lines have this in them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(mark).encode() in (process / "cmdline").read_bytes() and process.name != str(os.getpid()):
                found.append(process.name)
        except OSError:  # It has just ended.
            continue
    return found


def await_that(holds: Callable[[], object]) -> None:
    """Waits until it does."""
    deadline = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)
