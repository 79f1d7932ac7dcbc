"""Scenarios with real packets on this machine: ``run.py`` starts a run in namespaces and reads its result, ``inside.py`` is what
runs within them, ``parity.py`` compares with the simulator. Packets are the core's business."""

from tailback.lab.run import LabError, Setup, load, run

__all__ = ["LabError", "Setup", "load", "run"]
