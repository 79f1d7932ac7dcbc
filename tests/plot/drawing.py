"""Short sweeps for names in figures, and figures all parts of which have their places. No tests."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.figure import Figure

import tailback as tb


def short_sweep(*schemes: str, seeds: int = 1, **axes: Any) -> tb.Runs:
    """Runs of which only the names are looked at."""
    base = tb.dumbbell(rate="2 Mbit/s", delay="5 ms", buffer="10 packets", duration="1 s")
    flows = base.with_flows(tb.flows(2, "reno", start={"from": "0 s", "to": "0.5 s"}))
    return flows.sweep(scheme=list(schemes), **axes, seeds=seeds, jobs=1, cache=False, progress=False)


def lay_out(made: Figure) -> None:
    """Gives all parts of a figure their places."""
    made.savefig(io.BytesIO(), dpi=made.dpi)
