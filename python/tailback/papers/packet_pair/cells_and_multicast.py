"""Scenarios of §10's cells and multicast: three sources over ATM cells, and one sender with three receivers. What they must
show is in ``extensions.py``; the base scenario is in ``scenes.py``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from tailback.papers.packet_pair.scenes import (
    ACCESS,
    ONE_WAY,
    RATE,
    TU,
    UPSTREAM,
    bulk,
    fixed,
    packet_pair,
    transport,
)  # fmt: skip

if TYPE_CHECKING:
    from tailback.results import Result
    from tailback.scenario import Scenario

END, SETTLED = 6000.0, 3000.0
"""TU."""
SIZES = (500, 500, 1500)
"""Bytes of the packets of the sources over cells."""
CARRIED: Mapping[str, tuple[str, bool, int]] = {
    "cells": ("round-robin", True, 1700),
    "whole packets": ("cell-round-robin", False, 100),
}
"""Per way of carrying packets: the server, whether packets are cut, and the buffer in cells or packets: as many packets."""
BRANCHES = {"a": 4_000_000, "b": 3_000_000, "c": 6_000_000}
"""Bit/s of the last links to the three receivers of the multicast; another conversation shares the first."""
SLOWEST = 2_000_000
"""Bit/s: half of the first."""
LOSSY, LOSS = "c", 0.02
"""A receiver behind a line that loses packets, and how many."""
SENT = 4000
"""Packets of the multicast with losses."""


class Estimated(NamedTuple):
    """One source over cells."""

    carried: str
    size: int
    estimated: float
    """Bit/s: the mean estimate of the service rate."""
    spread: float
    """Standard deviation of the spacings, as a part of their mean."""
    served: float
    """Bit/s that it got."""


class Shared(NamedTuple):
    """A multicast."""

    rates: dict[str, float]
    """Bit/s that each receiver got."""
    lost: int
    again: int
    """Retransmissions."""
    elsewhere: int
    """Packets beyond the first copy that reached the receivers that lost nothing."""


def cells(carried: str = "cells") -> Scenario:
    """Three sources over cells in turn, or over a server that counts cells but sends whole packets."""
    import tailback as tb

    queue, cut, buffer = CARRIED[carried]
    flows = [
        tb.flows(
            1,
            packet_pair(),
            name=f"{index}",
            cells=cut,
            transport={**transport(), "segment_size": f"{size} B"},
        )
        for index, size in enumerate(SIZES, start=1)
    ]
    return tb.dumbbell(
        rate=f"{RATE} bit/s",
        delay=f"{ONE_WAY - 2 * ACCESS:g} ms",
        buffer=f"{buffer} packets",
        duration=f"{END:g} ms",
        name=f"ATM, {carried}",
        queue=queue,
        reverse={"rate": f"{UPSTREAM} bit/s"},
        access={"rate": f"{UPSTREAM} bit/s", "delay": f"{ACCESS} ms"},
        flows=flows,
        record={"bin": "10 ms", "flows": "all", "links": "none", "state": True},
    )


def over_cells(carried: str) -> list[Estimated]:
    """What the sources believe and what they get."""
    result = cells(carried).run()
    late = pl.col("time") > SETTLED * TU
    found = []
    for index, size in enumerate(SIZES, start=1):
        seen = result.state.filter(late & (pl.col("flow") == f"{index}"))
        rates = seen.filter(pl.col("name") == "service_rate")["value"].to_numpy()
        spacings = seen.filter(pl.col("name") == "spacing")["value"].to_numpy()
        served = rate_of(result, f"{index}", SETTLED, END)
        spread = float(spacings.std() / spacings.mean())
        found.append(Estimated(carried, size, float(np.mean(rates)), spread, served))
    return found


def rate_of(result: Result, flow: str, begin: float, end: float) -> float:
    """Bit/s that reached a receiver between two times in TU."""
    seconds = pl.col("time")
    got = result.series(flow=flow).filter((seconds > begin * TU) & (seconds <= end * TU))["received_bytes"].sum()
    return 8.0 * float(got) / ((end - begin) * TU)


def tree(loss: bool) -> Scenario:
    """One sender, three receivers behind lines that part at one switch, and company on the way to the first."""
    import tailback as tb

    fair = "weighted-fair-queueing"
    fast = {"rate": f"{UPSTREAM} bit/s", "delay": "10 ms", "queue": fair, "buffer": "1000 packets"}
    links: list[dict[str, Any]] = [{"from": host, "to": "switch", **fast} for host in ("s", "x")]
    for name, rate in BRANCHES.items():
        lossy = {"loss": {"name": "independent", "probability": LOSS}} if loss and name == LOSSY else {}
        links.append(
            {
                "from": "switch",
                "to": name,
                "rate": f"{rate} bit/s",
                "delay": "38 ms",
                "queue": fair,
                "buffer": "200 packets",
                "reverse": {"rate": f"{UPSTREAM} bit/s"},
                **lossy,
            }
        )
    own = {"transport": transport()}
    scheme = packet_pair(setpoint=fixed(20))
    flows = [
        # With losses to its end, so that whatever is lost has been retransmitted.
        tb.flows(1, scheme, bulk(SENT if loss else None), name="group", from_="s", receivers=list(BRANCHES), **own),
        tb.flows(1, scheme, bulk(None), name="company", from_="x", to="a", **own),
    ]
    return tb.graph(
        links=links,
        duration=f"{2 * END:g} ms",
        name="multicast",
        flows=flows,
        record={"bin": "10 ms", "flows": "all", "links": "none"},
    )


def multicast(loss: int) -> Shared:
    """What receivers get."""
    result = tree(bool(loss)).run()
    rates = {name: rate_of(result, f"group to {name}", SETTLED, 2 * END) for name in BRANCHES}
    flows = {row["flow"]: row for row in result.flows.iter_rows(named=True)}
    untouched = [flows[f"group to {name}"] for name in BRANCHES if name != LOSSY]
    return Shared(
        rates,
        int(result.links["dropped_packets"].sum()),
        int(flows["group"]["retransmitted_packets"]),
        sum(int(row["received_packets"]) - int(row["goodput_packets"]) for row in untouched),
    )
