"""Running one scenario in this process. Running many is in ``pool.py``; sweeps are not made here."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from tailback import _core
from tailback.results.from_core import result_of
from tailback.results.warnings import TailbackWarning
from tailback.scenario.seeds import one

if TYPE_CHECKING:
    from tailback.results import Result
    from tailback.scenario import Scenario


def run(scenario: Scenario, seed: int | None = None, progress: Callable[[float], object] | None = None) -> Result:
    """Simulates a scenario.

    Args:
        scenario: what to simulate.
        seed: in place of the scenario's own.
        progress: called now and then with the part of the run that is done, 0 to 1.

    Raises:
        ScenarioError: where the scenario makes no sense.
    """
    chosen = None if seed is None else one(seed)
    began = time.monotonic()
    raw = _core.run(scenario.to_json(), seed=chosen, progress=progress)
    result = result_of(raw, time.monotonic() - began)
    for warning in result.warnings:
        warnings.warn(warning, TailbackWarning, stacklevel=3)
    return result
