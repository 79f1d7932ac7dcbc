"""Runs with real packets whose figures are compared: where the machine stood still meanwhile they say nothing of the code, and
the run is made again. What is compared is in the tests."""

from collections.abc import Callable, Mapping

import pytest

import tailback as tb

TRIES = 5
LONGEST = 0.05
"""Seconds that the router may have stood still at most."""
USUAL = 0.005
"""Seconds that 99 of 100 packets may have been late at most: those that came while it stood still are more."""


def went_on(late: Mapping[str, float]) -> bool:
    """Whether the machine did, by how late packets were."""
    return late["greatest_seconds"] < LONGEST and late["p99_seconds"] < USUAL


def undisturbed(make: Callable[[], tb.Result]) -> tb.Result:
    """The first run during which the machine went on; skips where there is none."""
    stood = []
    for _ in range(TRIES):
        result = make()
        late = result.real["lateness"]
        if went_on(late):
            return result
        stood.append(late["greatest_seconds"])
    pytest.skip(f"this machine stands still: for {min(stood):.2g} s at least in each of {TRIES} runs")
