"""Many runs: a grid or list over scenario fields, schemes and seeds, run on all cores or on any executor, cached and
resumable, with confidence intervals. One run is the business of ``tailback.run``.

Names are imported when first used: a worker needs few of them, and starts the sooner.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailback.sweeps.design import Variant, grid
    from tailback.sweeps.make import compare, sweep
    from tailback.sweeps.runs import Runs
    from tailback.sweeps.together import concat

_HOMES = {
    "Runs": "runs",
    "Variant": "design",
    "compare": "make",
    "concat": "together",
    "grid": "design",
    "sweep": "make",
}

__all__ = ["Runs", "Variant", "compare", "concat", "grid", "sweep"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tailback.sweeps' has no attribute {name!r}")
    return getattr(importlib.import_module(f"tailback.sweeps.{_HOMES[name]}"), name)
