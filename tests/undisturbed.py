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


def undisturbed(make: Callable[[], tb.Result], usual: Callable[[tb.Result], bool] = lambda _: True) -> tb.Result:
    """The first run during which the machine went on, and that was as ``usual``; skips where the machine never went on. Of a run
    that is not as usual another is made, since that may be the machine's doing, too; where none is, the last one counts."""
    stood, last = [], None
    for _ in range(TRIES):
        result = make()
        late = result.real["lateness"]
        if not went_on(late):
            stood.append(late["greatest_seconds"])
            continue
        if usual(result):
            return result
        last = result
    if last is None:
        pytest.skip(f"this machine stands still: for {min(stood):.2g} s at least in each of {TRIES} runs")
    return last


def without_time_out(result: tb.Result) -> bool:
    """Whether no flow waited for a time-out. Packets that a machine sends late come together; a full queue may then drop what is
    sent again, and a flow that waits for that stands still for up to a second."""
    return result.flows["timeouts"].sum() == 0
