"""Scenarios of one flow for parts that carry real packets, commands that take them, and a file of such parts. No tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tailback as tb
from tests.processes import LONG

COMMAND = [sys.executable, "-m", "tailback"]
LOOSE = "10 s, 60 s"
"""A budget that a machine with other work keeps, too."""


def dumbbell(scheme: Any, duration: str = "1500 ms", **link: Any) -> tb.Scenario:
    """One flow over 10 Mbit/s, with a buffer of a bandwidth-delay product."""
    how: dict[str, Any] = {"rate": "10 Mbit/s", "delay": "10 ms", "buffer": "17 packets", "access": {"delay": "0.1 ms"}}
    base = tb.dumbbell(**how, duration=duration, warm_up="500 ms", **link)
    of = "datagram" if isinstance(scheme, Mapping) and scheme.get("part") == "told" else "transport"
    return base.with_flows(tb.flows(1, scheme, name="one", **{of: {"segment_size": "1500 B"}}))


def file_of(folder: Path, **link: Any) -> Path:
    """A scenario in a file, with the parts of this folder's files by their plain names."""
    path = folder / "scenario.toml"
    dumbbell("sack", **link).to_toml(path)
    return path


GENTLE = """
import tailback as tb


class Gentle(tb.Controller):
    def __init__(self, connection, window: float = 20_000, at: float = 1e9):
        super().__init__(connection)
        self.window, self.at = window, at

    def on_feedback(self, now, feedback, cx):
        if now > self.at:
            raise ValueError("enough")

    def directive(self):
        return tb.Directive(window=self.window)


class Count(tb.FeedbackPolicy):
    every = 100

    def __init__(self, connection):
        super().__init__(connection)
        self.seen = 0

    def on_arrival(self, now, arrival, cx):
        self.seen += 1
        if self.seen == 1000:
            raise ValueError("too many")

    def poll_report(self, now, cx):
        return None


class Counted(Gentle):
    policy = Count


class Mine(tb.QueueDiscipline):
    def __init__(self, link, most: int = 1000):
        super().__init__(link)
        self.waiting, self.most = [], most

    def enqueue(self, now, packet, cx):
        self.most -= 1
        if self.most < 0:
            raise ValueError("no more")
        self.waiting.append(packet)

    def dequeue(self, now, cx):
        return self.waiting.pop(0) if self.waiting else None
"""


def command(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """What became of a command line."""
    return subprocess.run(
        [*COMMAND, *words], env={**os.environ, **more}, capture_output=True, text=True, timeout=LONG, check=False
    )
