"""Running one scenario in this process. Running many is in ``pool.py``; sweeps are not made here."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tailback import forked
from tailback.callers import warn
from tailback.custom import runs
from tailback.errors import refused
from tailback.memory import budget
from tailback.results.from_core import result_of
from tailback.scenario.seeds import one

if TYPE_CHECKING:
    from tailback.results import Result
    from tailback.scenario import Scenario


def run(
    scenario: Scenario,
    seed: int | None = None,
    progress: Callable[[float], object] | None = None,
    memory: str | int | None = None,
) -> Result:
    """Simulates a scenario.

    Args:
        scenario: what to simulate.
        seed: in place of the scenario's own.
        progress: called now and then with the part of the run that is done, 0 to 1.
        memory: what the run may take, ``"4 GB"``; half of what this process can have by default (see ``TAILBACK_MEMORY``).

    Raises:
        ScenarioError: where the scenario makes no sense, or the run needs more memory; the field is named.
        PartError: where a custom part fails; what it raised is the cause.
        TailbackError: in a process that was forked from one that had made tables.
    """
    with scenario.as_made():
        result = run_text(scenario.to_json(), seed, progress, memory)
        if any(scenario.parts_named()):
            _ = result.scenario  # Which it keeps, with the classes that names mean now.
    for warning in result.warnings:
        warn(warning)
    return result


def run_text(
    scenario: str,
    seed: int | None = None,
    progress: Callable[[float], object] | None = None,
    memory: str | int | None = None,
) -> Result:
    """The same for a scenario as JSON; without warnings, which the result has."""
    chosen = None if seed is None else one(seed)
    if progress is not None and not callable(progress):
        raise refused("progress", progress, "a function of the part of the run that is done, or None")
    forked.check()
    began = time.monotonic()
    raw = runs.run(scenario, chosen, progress, budget(memory))
    return result_of(raw, time.monotonic() - began)
