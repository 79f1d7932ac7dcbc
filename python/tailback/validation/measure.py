"""One run of one reference row, reduced to the figures of ns-2's row. Repeating and comparing is not done here."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from tailback import _core
from tailback.validation.reference import Row
from tailback.validation.settings import scenario

BOTTLENECK = "r0->r1"


@dataclass(frozen=True)
class Job:
    """A row and a seed."""

    row: Row
    seed: int


def measure(job: Job) -> dict[str, float]:
    """Runs the row with the seed and gives its figures, in the reference's units."""
    row = job.row
    result = _core.run(json.dumps(scenario(row, job.seed)))
    window = row.duration_s - row.warm_up_s
    links, flows = result.links_measured, result.flows_measured
    at = list(links["name"]).index(BOTTLENECK)

    def bottleneck(column: str) -> float:
        return float(links[column][at])

    goodput = np.asarray(flows["goodput_bytes"], dtype=float) * 8 / window / 1e6
    rate = bottleneck("transmitted_bytes") * 8 / window / 1e6
    arrived = bottleneck("arrived_packets")
    figures = {
        "throughput": rate,
        "utilization": rate / row.capacity_mbps,
        "loss": bottleneck("dropped_packets") / arrived if arrived else 0.0,
        "mean_queue": bottleneck("mean_queue_packets"),
        "goodput": float(goodput.sum()),
        "timeouts": float(np.sum(flows["timeouts"])),
    }
    if row.group == "further":
        groups = [str(group) for group in flows["group"]]
        for kind in ("tcp", "crossing", "reverse"):
            chosen = [value for value, group in zip(goodput, groups, strict=True) if group.startswith(kind)]
            figures[f"{kind}_goodput"] = float(sum(chosen))
        messages = result.messages
        if len(messages["ended_seconds"]):
            took = np.asarray(messages["ended_seconds"]) - np.asarray(messages["began_seconds"])
            figures["completion"] = float(took.mean())
    if row.group == "fair":
        figures |= {f"flow_{index}": float(value) for index, value in enumerate(goodput)}
        figures |= {"tcp_goodput": float(goodput[:-1].sum()), "constant_goodput": float(goodput[-1])}
    return figures
