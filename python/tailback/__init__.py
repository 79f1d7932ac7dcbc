"""Tailback: a workbench for congestion control.

    >>> import tailback as tb
    >>> base = tb.dumbbell(rate="10 Mbit/s", delay="20 ms", buffer="50 packets", duration="20 s")
    >>> result = base.with_flows(tb.flows(2, "cubic"), tb.flows(2, "reno")).run(seed=1)
    >>> result.flows, result.links, result.plot.overview()  # doctest: +SKIP

Names are imported when first used, so that ``import tailback`` is quick. Nothing is imported here: until the command line is
there, whoever stops it gets Python's own traceback.
"""

from __future__ import annotations

TYPE_CHECKING = False  # What checkers take for true; ``typing`` takes longer to import than all that is here.
if TYPE_CHECKING:
    from typing import Any

    from tailback.custom import (
        AckFrequency,
        Arrival,
        ArrivalReport,
        ArrivalReports,
        Connection,
        Controller,
        ControlPair,
        Cx,
        DataPairs,
        DeliverySample,
        Directive,
        Feedback,
        FeedbackPolicy,
        Link,
        Outgoing,
        Packet,
        Padding,
        ProbeCluster,
        QueueCx,
        QueueDiscipline,
        Sent,
        register,
    )
    from tailback.errors import (
        ArgumentError,
        CallError,
        NotFoundError,
        PartError,
        Problem,
        ScenarioError,
        StorageError,
        TailbackError,
        TailbackWarning,
    )
    from tailback.results import Result
    from tailback.saved import load
    from tailback.scenario import Aggregate, Flow, GraphLink, Scenario, dumbbell, flows, graph, home, parking_lot, star
    from tailback.sweeps import Runs, compare, concat, sweep

_HOMES = {
    "Aggregate": "tailback.scenario",
    "AckFrequency": "tailback.custom",
    "ArgumentError": "tailback.errors",
    "Arrival": "tailback.custom",
    "ArrivalReport": "tailback.custom",
    "ArrivalReports": "tailback.custom",
    "CallError": "tailback.errors",
    "Connection": "tailback.custom",
    "ControlPair": "tailback.custom",
    "Controller": "tailback.custom",
    "Cx": "tailback.custom",
    "DataPairs": "tailback.custom",
    "DeliverySample": "tailback.custom",
    "Directive": "tailback.custom",
    "Feedback": "tailback.custom",
    "FeedbackPolicy": "tailback.custom",
    "Flow": "tailback.scenario",
    "GraphLink": "tailback.scenario",
    "Link": "tailback.custom",
    "NotFoundError": "tailback.errors",
    "Outgoing": "tailback.custom",
    "Packet": "tailback.custom",
    "Padding": "tailback.custom",
    "PartError": "tailback.errors",
    "ProbeCluster": "tailback.custom",
    "Problem": "tailback.errors",
    "QueueCx": "tailback.custom",
    "QueueDiscipline": "tailback.custom",
    "Result": "tailback.results",
    "Runs": "tailback.sweeps",
    "Scenario": "tailback.scenario",
    "ScenarioError": "tailback.errors",
    "Sent": "tailback.custom",
    "StorageError": "tailback.errors",
    "TailbackError": "tailback.errors",
    "TailbackWarning": "tailback.errors",
    "compare": "tailback.sweeps",
    "concat": "tailback.sweeps",
    "dumbbell": "tailback.scenario",
    "flows": "tailback.scenario",
    "graph": "tailback.scenario",
    "home": "tailback.scenario",
    "load": "tailback.saved",
    "parking_lot": "tailback.scenario",
    "register": "tailback.custom",
    "star": "tailback.scenario",
    "sweep": "tailback.sweeps",
}
_MODULES = ("analysis", "custom", "papers", "plot", "report", "results", "scenario", "units", "validation")

__all__ = [
    "AckFrequency",
    "Aggregate",
    "ArgumentError",
    "Arrival",
    "ArrivalReport",
    "ArrivalReports",
    "CallError",
    "Connection",
    "ControlPair",
    "Controller",
    "Cx",
    "DataPairs",
    "DeliverySample",
    "Directive",
    "Feedback",
    "FeedbackPolicy",
    "Flow",
    "GraphLink",
    "Link",
    "NotFoundError",
    "Outgoing",
    "Packet",
    "Padding",
    "PartError",
    "ProbeCluster",
    "Problem",
    "QueueCx",
    "QueueDiscipline",
    "Result",
    "Runs",
    "Scenario",
    "ScenarioError",
    "Sent",
    "StorageError",
    "TailbackError",
    "TailbackWarning",
    "compare",
    "concat",
    "dumbbell",
    "flows",
    "graph",
    "home",
    "load",
    "parking_lot",
    "register",
    "star",
    "sweep",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"tailback.{name}")
    else:
        from tailback.errors import nearest

        close = None if name.startswith("_") else nearest(name, __all__)
        hint = f"; did you mean {close!r}?" if close else ""
        raise AttributeError(f"module 'tailback' has no attribute {name!r}{hint}", name=name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_HOMES, *_MODULES, *(name for name in globals() if name.startswith("__"))})
