"""A sweep whose figures several files of these tests look at."""

from __future__ import annotations

from typing import Any

import pytest

import tailback as tb


@pytest.fixture(scope="session")
def runs() -> tb.Runs:
    """Two groups of flows over buffers and queues."""
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", duration="4 s", warm_up="1 s")
    mixed = base.with_flows(tb.flows(1, "reno"), tb.flows(1, "cubic"))
    axes: dict[str, Any] = {"buffer": ["5 packets", "20 packets", "100 packets"], "queue": ["drop-tail", "codel"]}
    return mixed.sweep(**axes, seeds=3, jobs=1, cache=False, progress=False)
