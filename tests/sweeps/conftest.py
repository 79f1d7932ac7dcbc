"""What several files of these tests begin with."""

from __future__ import annotations

import pytest

import tailback as tb


@pytest.fixture(scope="module")
def base() -> tb.Scenario:
    """Two kinds of flows over a short buffer."""
    made = tb.dumbbell(rate="10 Mbit/s", delay="10 ms", buffer="20 packets", duration="4 s", warm_up="1 s")
    return made.with_flows(tb.flows(2, "reno"), tb.flows(2, "cubic"))


@pytest.fixture(scope="module")
def runs(base: tb.Scenario, tmp_path_factory: pytest.TempPathFactory) -> tb.Runs:
    """Them over two buffers."""
    return base.sweep(buffer=["10 packets", "40 packets"], seeds=4, jobs=2, cache=tmp_path_factory.mktemp("runs"))
