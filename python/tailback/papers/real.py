"""Items' runs with real packets, where this machine lets one have them. What is run and judged is the items' business."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tailback.lab.run import Setup
    from tailback.papers.lab import Lab
    from tailback.results import Result

TRIES = 3
"""A machine with other work is late in most runs, and not in all."""


class Attempt(NamedTuple):
    """A run, or why there is none that counts."""

    result: Result | None
    missing: str


def attempt(setup: Setup, lab: Lab, budget: str) -> Attempt:
    """The first run within the budget of lateness, of a few; in full fidelity only, since real time takes its time."""
    from tailback.lab.run import LabError, available, run

    if not lab.full:
        return Attempt(None, "not run: real packets take real time, which --full has")
    try:
        available()
    except LabError as error:
        return Attempt(None, f"skipped: {error}")
    reasons: list[str] = []
    for _ in range(TRIES):
        result = run(setup, budget=budget)
        lab.runs += 1
        if result.real["valid"]:
            return Attempt(result, "")
        reasons = result.real["reasons"]
    return Attempt(None, f"{TRIES} runs do not count: {'; '.join(reasons)}")
