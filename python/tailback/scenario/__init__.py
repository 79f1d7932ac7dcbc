"""Scenarios as typed objects that say the same as TOML files: what to simulate, never how."""

from tailback.scenario._models import Access, Aggregate, Flow, GraphLink, Record
from tailback.scenario.build import dumbbell, flows, graph, parking_lot, star
from tailback.scenario.scenario import Scenario

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
    "parking_lot",
    "star",
]
