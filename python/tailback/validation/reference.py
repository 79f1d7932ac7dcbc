"""The reference rows as data: what was set up in ns-2 and what came out. Comparing happens in ``judge``."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Literal, cast

Group = Literal["dumbbell", "bernoulli", "fair", "further"]
OPTIONS: Mapping[str, str] = {
    "proto": "sack", "queue": "droptail", "n": "8", "bw": "10", "rtt": "60", "rttmax": "0", "acc": "100", "buf": "0",
    "from": "20", "to": "120", "jitter": "0", "loss": "0", "delack": "0", "cbr": "0", "ecn": "0", "mode": "gentle",
    "wnd": "10000", "iw": "2", "limited": "1", "minrto": "0.2", "spread": "5", "size": "0", "reverse": "0", "hops": "1",
    "pkt": "1000", "back": "0",
}  # fmt: skip
"""What ``benches/ns2/oracle.tcl`` takes, with its defaults; the script's header explains each."""
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
    """By name, those that ns-2 could measure: throughput and goodput in Mbit/s, utilization and loss as fractions, mean_queue in
    packets, and the count of timeouts."""
    flow_goodput: tuple[float, ...]
    """Mbit/s: the mean of all flows alike, or in ``fair`` one value per flow, the unresponsive one last."""
    label: str = ""
    """The row's own name, in ``further`` only."""
    options: Mapping[str, str] = field(default_factory=lambda: OPTIONS)
    """The options of the script that makes the row, in ``further`` only; all others are at their defaults."""

    @property
    def name(self) -> str:
        """A readable name, unique among the rows: ``dumbbell/sack/red/64/jitter``."""
        if self.label:
            return f"{self.group}/{self.label}"
        parts = [self.group, self.scheme, self.queue, str(self.flows)]
        if self.group == "bernoulli":
            parts = [self.group, self.scheme, f"loss-{self.loss:g}"]
            parts += ["delayed-acks"] if self.delayed_acks else []
        if self.group == "fair":
            parts = [self.group, self.scheme, self.queue]
        return "/".join([*parts, "jitter"] if self.jitter_s else parts)

    @property
    def warm_up_s(self) -> float:
        """When measuring began, in seconds."""
        return 20.0

    @property
    def duration_s(self) -> float:
        """When measuring ended, in seconds."""
        return 520.0 if self.group == "bernoulli" else float(self.options["to"])


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


def further(cells: Mapping[str, str]) -> Row:
    """A row of the further configurations: a name, options of the script, and whatever figures were compared."""
    options = {**OPTIONS, **dict(part.split("=", 1) for part in cells["options"].split())}
    rate, rtt, buffer = float(options["bw"]), float(options["rtt"]), int(options["buf"])
    figures = {
        name.removesuffix("_mean"): Estimate(float(value), float(cells[name.replace("_mean", "_sd")]))
        for name, value in cells.items()
        if name.endswith("_mean") and value
    }
    return Row(
        group="further",
        scheme=options["proto"],
        queue=options["queue"],
        flows=int(options["n"]),
        capacity_mbps=rate,
        rtt_ms=rtt,
        # As the script does: one bandwidth-delay product of packets of 1000 B.
        buffer_packets=buffer or int(rate * rtt / 8.0 + 0.5),
        jitter_s=float(options["jitter"]),
        loss=float(options["loss"]),
        delayed_acks=options["delack"] == "1",
        constant_mbps=float(options["cbr"]),
        seeds=int(cells["seeds"]),
        figures=figures,
        flow_goodput=(),
        label=cells["name"],
        options=options,
    )


def _cells(name: str) -> list[dict[str, str]]:
    text = (files(__package__) / "reference" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@cache
def rows() -> tuple[Row, ...]:
    """Every row of the reference, in its order."""
    return (*(_row(cells) for cells in _cells("ns2.csv")), *(further(cells) for cells in _cells("further.csv")))
