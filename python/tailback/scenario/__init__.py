"""Scenarios as typed objects that say the same as TOML files: what to simulate, never how.

Names are imported when first used: what only runs a file needs no types, which take longer to make than a short run.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailback.scenario._models import Access, Aggregate, Flow, GraphLink, Record
    from tailback.scenario.build import dumbbell, flows, graph, home, parking_lot, star
    from tailback.scenario.scenario import Scenario

_HOMES = {
    "Access": "_models",
    "Aggregate": "_models",
    "Flow": "_models",
    "GraphLink": "_models",
    "Record": "_models",
    "Scenario": "scenario",
    "dumbbell": "build",
    "flows": "build",
    "graph": "build",
    "home": "build",
    "parking_lot": "build",
    "star": "build",
}

__all__ = [
    "Access",
    "Aggregate",
    "Flow",
    "GraphLink",
    "Record",
    "Scenario",
    "dumbbell",
    "flows",
    "graph",
    "home",
    "parking_lot",
    "star",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tailback.scenario' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"tailback.scenario.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
