"""What tests share: a short scenario and its result, reports of one figure, and whether a laboratory can be had."""

from __future__ import annotations

import gc

import pytest
from hypothesis import settings

import tailback as tb
from tailback.__main__ import SELDOM
from tailback.lab import LabError
from tailback.lab.run import available

# The same examples every time, so that a failure is of the code and not of the day; `--hypothesis-profile default` searches.
settings.register_profile("steady", derandomize=True)
settings.load_profile("steady")
# Figures and pages make many objects, as commands do: to look at all of them as often as Python does takes a tenth of the time.
gc.set_threshold(SELDOM, *gc.get_threshold()[1:])


@pytest.fixture(scope="session")
def dumbbell() -> tb.Scenario:
    """Two kinds of flows on a small bottleneck."""
    base = tb.dumbbell(
        rate="10 Mbit/s", delay="10 ms", buffer="25 packets", duration="10 s", warm_up="2 s", name="two kinds"
    )
    return base.with_flows(tb.flows(2, "cubic"), tb.flows(1, "reno"))


@pytest.fixture(scope="session")
def result(dumbbell: tb.Scenario) -> tb.Result:
    """Its result with seed 3."""
    return dumbbell.run(seed=3)


@pytest.fixture(scope="session")
def able() -> None:
    """Skips where the system lacks what a laboratory needs, with what that is. Whether it then works is not asked here."""
    try:
        available()
    except LabError as error:
        pytest.skip(str(error))


@pytest.fixture
def one_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports have their first figure alone."""
    from tests.fewer_figures import leave

    leave(monkeypatch, lambda found: found[:1])
