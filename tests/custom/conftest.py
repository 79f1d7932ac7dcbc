"""What several files of these tests begin with."""

from __future__ import annotations

import pytest

import tailback as tb


@pytest.fixture(scope="module")
def base() -> tb.Scenario:
    """Two flows over a short buffer."""
    made = tb.dumbbell(rate="10 Mbit/s", delay="10 ms", buffer="30 packets", duration="10 s")
    return made.with_flows(tb.flows(2, "sack"))
