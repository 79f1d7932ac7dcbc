"""§10: packet-pair over cell-by-cell fair queueing, and under a window with buffers reserved for it. Multicast and control at
the receiver are not built: the simulator sends a packet to one receiver, and no scheme measures pairs at the receiver yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.packet_pair.scenes import (
    ACCESS,
    BOTTLENECK,
    HEADER,
    ONE_WAY,
    RATE,
    UPSTREAM,
    Source,
    base,
    base_parameters,
    packet_pair,
    transport,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

SIZES = (500, 500, 1500)
"""Bytes of the packets of the sources over cells."""
END, SETTLED = 6000.0, 3000.0
"""TU."""
RESERVED = 150
"""Packets of each source's window, and of buffer reserved for it: the pipe of 100 and half as much again."""
PROBED = 100_000.0
"""TU: enough for setpoints to grow beyond the reserved buffers."""
WINDOWS = ("no window", "window")
LIMIT = 0.05
"""The ledger's."""


class Estimated(NamedTuple):
    """One source over cells."""

    size: int
    estimated: float
    """Bit/s: the mean estimate of the service rate."""
    believed: float
    """Bit/s of the mean estimate of the service time."""
    served: float
    """Bit/s that it got."""


class Counted(NamedTuple):
    """With or without a window."""

    losses: int
    utilization: float


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    sizes = ", ".join(f"{size} B" for size in SIZES)
    return (
        *base_parameters(),
        Parameter(
            "over cells",
            f"three sources with packets of {sizes}; the server counts 53-byte cells",
            "inferred",
            "§10.1 gives no figures; different sizes tell cells from packets",
        ),
        Parameter(
            "window",
            f"two sources, {RESERVED} packets of window and of reserved buffer each, setpoints probed",
            "inferred",
            "§10.3: buffers for a window",
        ),
    )


def cells() -> Scenario:
    """Three sources over cell-by-cell round robin."""
    import tailback as tb

    flows = [
        tb.flows(1, packet_pair(), name=f"{index}", transport={**transport(), "segment_size": f"{size} B"})
        for index, size in enumerate(SIZES, start=1)
    ]
    return tb.dumbbell(
        rate=f"{RATE} bit/s",
        delay=f"{ONE_WAY - 2 * ACCESS:g} ms",
        buffer="100 packets",
        duration=f"{END:g} ms",
        name="over cells",
        queue="cell-round-robin",
        reverse={"rate": f"{UPSTREAM} bit/s"},
        access={"rate": f"{UPSTREAM} bit/s", "delay": f"{ACCESS} ms"},
        flows=flows,
        record={"bin": "10 ms", "flows": "all", "links": "none", "state": True},
    )


def over_cells(_: int) -> list[Estimated]:
    """What the sources believe and what they get."""
    result = cells().run()
    late = pl.col("time") > SETTLED * 1e-3
    found = []
    for index, size in enumerate(SIZES, start=1):
        seen = result.state.filter(late & (pl.col("flow") == f"{index}") & (pl.col("name") == "service_rate"))
        got = result.series(flow=f"{index}").filter(late)["received_bytes"].sum()
        served = 8.0 * float(got) / ((END - SETTLED) * 1e-3)
        rates = seen["value"].to_numpy()
        found.append(Estimated(size, float(np.mean(rates)), float(1.0 / np.mean(1.0 / rates)), served))
    return found


def windowed(kind: str) -> Counted:
    """Losses over reserved buffers, with or without the window that they are reserved for."""
    import tailback as tb

    queue: dict[str, Any] = {"name": "weighted-fair-queueing", "buffer": {"per_flow": f"{RESERVED} packets"}}
    limit = {"window_limit": f"{RESERVED} packets"} if kind == "window" else {}
    plain = base([Source(None, 0)] * 2, PROBED, buffer=2 * RESERVED, queue=queue, name=kind)
    flows = [tb.flows(1, packet_pair(), name=f"{index}", transport={**transport(), **limit}) for index in (1, 2)]
    result = plain.model_copy(update={"flows": flows}).run()
    link = result.links.filter(pl.col("link") == BOTTLENECK).row(0, named=True)
    return Counted(int(link["dropped_packets"]), float(link["utilization"]))


def measure(lab: Lab) -> Outcome:
    """Both extensions that there are."""
    sources = lab.map(over_cells, [0])[0]
    windows = dict(zip(WINDOWS, lab.map(windowed, WINDOWS), strict=True))
    error = max(abs(one.estimated / one.served - 1.0) for one in sources)
    by_time = max(abs(one.believed / one.served - 1.0) for one in sources)
    shown = ", ".join(f"{one.size} B: {one.estimated / 1e6:.3f} for {one.served / 1e6:.3f} Mbit/s" for one in sources)
    capped, free = windows["window"], windows["no window"]
    return Outcome(
        measured={
            "atm_estimate_error": round(error, 4),
            "multicast_rate_over_slowest": None,
            "window_losses": capped.losses,
            "receiver_based_completion_ratio": None,
        },
        checks=(
            Check("over cells the estimate is the rate served", shown, "within 5 %", error <= LIMIT),
            Check(
                "no loss under the window",
                f"{capped.losses} packets, utilization {capped.utilization:.3f}; without it {free.losses} packets",
                "0",
                capped.losses == 0,
            ),
            Check("multicast at the slowest branch", "not built", "within 5 %", False),
            Check("control at the receiver", "not built", "within 10 % of the sender's", False),
        ),
        data=pl.DataFrame(sources, schema=Estimated._fields, orient="row"),
        units={"size": "B", "estimated": "bit/s", "believed": "bit/s", "served": "bit/s"},
        why="Two of the four extensions are not built: multicast, which the simulator has no packets for, and control at the "
        "receiver. "
        + (
            ""
            if error <= LIMIT
            else f"Over cells the mean estimate of the rate is {100 * error:.1f} % off, that of the service time, which the "
            f"estimator holds, {100 * by_time:.1f} %: a long packet among short ones makes spacings of single rounds uneven."
        ),
        scenario=cells().to_toml(),
        notes=(
            f"Cells are counted by the server ({HEADER} B acknowledgements are one); the link itself carries packets without "
            "the padding and headers of cells.",
        ),
    )


def draw(outcome: Outcome) -> Figure:
    """Estimate and truth per source over cells."""
    from tailback.plot.style import COLOURS, figure, style

    data = outcome.data
    with style():
        made, (axis,) = figure(height=3.0)
        for index, (column, label) in enumerate((("estimated", "estimated"), ("served", "served"))):
            places = [place + 0.36 * (index - 0.5) for place in range(data.height)]
            axis.bar(places, data[column] / 1e6, width=0.33, color=COLOURS[index], label=label)
        axis.set_xticks(range(data.height), labels=[f"{size} B" for size in data["size"]])
        axis.set_ylabel("service rate (Mbit/s)")
        axis.legend(loc="upper left")
    return made
