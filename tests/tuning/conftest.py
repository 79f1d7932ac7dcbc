"""Networks that several files of these tests begin with."""

from __future__ import annotations

import pytest

import tailback as tb
from tailback.tuning import Tuned
from tests.tuning.networks import EXAMPLE, bottleneck, tuned


@pytest.fixture(scope="module")
def example() -> tuple[tb.Scenario, tb.Result]:
    """The example, and its run."""
    scenario = tb.Scenario.from_toml(EXAMPLE)
    return scenario, scenario.run()


@pytest.fixture(scope="module")
def one_tuned() -> Tuned:
    """A network for which theory has tuned its queue."""
    return tuned(bottleneck(10, 20, 50, seconds=4.0), 0.95)
