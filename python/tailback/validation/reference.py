"""The reference rows as data: what was set up in ns-2 and what came out. Comparing happens in ``judge``."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, cast

Group = Literal["dumbbell", "bernoulli", "fair"]
FIGURES = ("throughput", "utilization", "loss", "mean_queue", "goodput", "timeouts")
_COLUMNS = {
    "throughput": "thr",
    "utilization": "util",
    "loss": "lossrate",
    "mean_queue": "meanq",
    "goodput": "goodput",
    "timeouts": "timeouts",
}


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds and the sample standard deviation of one seed."""

    mean: float
    deviation: float


@dataclass(frozen=True)
class Row:
    """One configuration of ns-2 and its figures; units in ``reference/README.md``."""

    group: Group
    scheme: str
    queue: str
    flows: int
    capacity_mbps: float
    """Bottleneck rate, Mbit/s."""
    rtt_ms: float
    """Propagation round trip time."""
    buffer_packets: int
    """Packets that may wait; the one in transmission is extra."""
    jitter_s: float
    """Largest random delay of a send opportunity."""
    loss: float
    """Probability that a data packet is lost before the queue."""
    delayed_acks: bool
    constant_mbps: float
    """Rate of a further, unresponsive flow; 0 for none."""
    seeds: int
    figures: Mapping[str, Estimate]
    """By name, those of ``FIGURES`` that ns-2 could measure: Mbit/s, fractions, packets, counts."""
    flow_goodput: tuple[float, ...]
    """Mbit/s: the mean of all flows alike, or in ``fair`` one value per flow, the unresponsive one last."""

    @property
    def name(self) -> str:
        """A readable name, unique among the rows: ``dumbbell/sack/red/64/jitter``."""
        parts = [self.group, self.scheme, self.queue, str(self.flows)]
        if self.group == "bernoulli":
            parts = [self.group, self.scheme, f"loss-{self.loss:g}"]
            parts += ["delayed-acks"] if self.delayed_acks else []
        if self.group == "fair":
            parts = [self.group, self.scheme, self.queue]
        return "/".join([*parts, "jitter"] if self.jitter_s else parts)

    @property
    def warm_up_s(self) -> float:
        """When measuring began."""
        return 20.0

    @property
    def duration_s(self) -> float:
        """When measuring ended."""
        return 520.0 if self.group == "bernoulli" else 120.0


def _row(cells: dict[str, str]) -> Row:
    figures = {
        name: Estimate(float(cells[f"{column}_mean"]), float(cells[f"{column}_sd"]))
        for name, column in _COLUMNS.items()
        if cells[f"{column}_mean"]
    }
    return Row(
        group=cast("Group", cells["group"]),
        scheme=cells["proto"],
        queue=cells["queue"],
        flows=int(cells["n"]),
        capacity_mbps=float(cells["bw_mbps"]),
        rtt_ms=float(cells["rtt_ms"]),
        buffer_packets=int(cells["buf_pkts"]),
        jitter_s=float(cells["jitter_s"]),
        loss=float(cells["loss_p"]),
        delayed_acks=cells["delack"] == "1",
        constant_mbps=float(cells["cbr_mbps"]),
        seeds=int(cells["seeds"]),
        figures=figures,
        flow_goodput=tuple(float(value) for value in cells["perflow_goodput_mean"].split(";")),
    )


@cache
def rows() -> tuple[Row, ...]:
    """Every row of the reference, in its order."""
    text = (files(__package__) / "reference" / "ns2.csv").read_text(encoding="utf-8")
    return tuple(_row(cells) for cells in csv.DictReader(text.splitlines()))
