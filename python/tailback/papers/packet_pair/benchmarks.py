"""The file transfer benchmarks of Keshav 1994, §9.4: their networks, and the optimal transfer times, which pin down the
figures that the paper's text lost (Figs. 22 to 28). The benchmarks themselves are the items ``table_7`` and on.

Every optimum is what an infinite bottleneck queue would give: all data is offered at once, and a link of 40 Mbit/s passes
ten packets of 500 bytes in a millisecond. The constants here give every printed optimum to its last digit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tailback.papers.item import Check, Parameter
from tailback.papers.packet_pair.scenes import WINDOW, bulk, packet_pair, transport

if TYPE_CHECKING:
    from tailback.results import Result
    from tailback.scenario import Scenario

ACCESS = {"rate": "200 Mbit/s", "delay": "1 ms", "buffer": "unlimited"}
"""Link A of Figs. 22 and 23."""
RATE = 40_000_000
"""Bit/s of link B."""
DELAY = 20
"""Milliseconds of link B."""
ROUND_TRIP = 44
"""Milliseconds of propagation: twice A, B and A."""
PER_MS = 10
"""Packets that link B passes in a millisecond."""
BDP = 440
"""Packets in a round trip time."""
PRIMARY = 4000
"""Packets: 2 Megabytes."""
CROSS = 1000
"""Packets of each cross stream: 500 Kilobytes."""
CROSS_FROM = 100
"""Milliseconds: when the first cross stream starts."""
QUEUE = "weighted-fair-queueing"


def optimal(packets: float, round_trip: float = ROUND_TRIP) -> float:
    """Milliseconds until so many packets have passed the bottleneck and the last one's acknowledgement is back."""
    return round_trip + packets / PER_MS


def transfer(
    name: str, packets: int, start: float = 0.0, scheme: Mapping[str, Any] | None = None, **fields: Any
) -> Any:
    """One file."""
    import tailback as tb

    return tb.flows(
        1,
        dict(scheme or packet_pair()),
        bulk(packets),
        name=name,
        start=f"{start:g} ms",
        **{"transport": transport(), **fields},
    )


def cross_streams(spacing: float, packets: int = CROSS, **fields: Any) -> list[Any]:
    """The ten cross streams, connections 2 to 11, whose starts are so many milliseconds apart."""
    return [transfer(f"{2 + index}", packets, CROSS_FROM + spacing * index, **fields) for index in range(10)]


def shared(flows: Iterable[Any], *, buffer: int = BDP, duration: float = 4000.0, **fields: Any) -> Scenario:
    """Fig. 22: hosts behind links A on both sides of one link B."""
    import tailback as tb

    made: dict[str, Any] = {
        "queue": QUEUE,
        "access": ACCESS,
        "record": {"flows": "none", "links": "none"},
        **fields,
    }
    return tb.dumbbell(
        rate=f"{RATE} bit/s",
        delay=f"{DELAY} ms",
        buffer=f"{buffer} packets",
        duration=f"{duration:g} ms",
        flows=list(flows),
        **made,
    )


def completion(result: Result, flow: str = "1") -> float:
    """Milliseconds from a flow's start to the acknowledgement of its last byte; not a number where that never came."""
    import polars as pl

    row = result.flows.filter(pl.col("flow") == flow).row(0, named=True)
    return float("nan") if row["finished"] is None else 1e3 * (row["finished"] - row["start"])


def losses(result: Result) -> int:
    """Packets dropped at any link."""
    return int(result.links["dropped_packets"].sum())


def slowdown(found: float, best: float) -> float:
    """What a transfer took beyond the optimum, as a part of it."""
    return found / best - 1.0


def flooded(scenario: Scenario) -> Scenario:
    """What an optimum is about: the same network with endless buffers, into which every connection puts all it has at once."""
    from tailback.scenario import Scenario

    data = scenario.model_dump(by_alias=True, exclude_none=True)
    topology = data["topology"]
    for link in [topology, *topology.get("links", [])]:
        if link.get("queue") == QUEUE:
            link["buffer"] = "unlimited"
    for flow in data["flows"]:
        if flow["scheme"]["name"] == "packet-pair":
            flow["scheme"] = {"name": "fixed-window", "window": "100000 packets"}
            flow["transport"].pop("receive_window", None)
    return Scenario.model_validate(data)


def optimum_check(found: Sequence[float], printed: Sequence[float], tolerance: float = 1.0) -> Check:
    """Whether the simulated optimum, that of :func:`flooded`, is the paper's: what the network of the lost figure was."""
    met = all(abs(mine - paper) <= tolerance for mine, paper in zip(found, printed, strict=True))
    return Check(
        "the optimum, simulated: everything at once into an endless queue",
        ", ".join(f"{value:.2f}" for value in found) + " ms",
        f"{', '.join(f'{value:g}' for value in printed)} ± {tolerance:g} ms",
        met,
    )


def slowdown_check(what: str, found: float, limit: float) -> Check:
    """Whether a slowdown is within the ledger's limit."""
    return Check(what, f"{100 * found:.1f} %", f"at most {100 * limit:.0f} %", found <= limit)


def parameters(*more: Parameter, buffer: str = "440 packets: one round trip's worth") -> tuple[Parameter, ...]:
    """What all benchmarks have in common, and what one of them adds."""
    return (
        Parameter("links A", "200 Mbit/s, 1 ms", "stated", "the caption of Fig. 23, benchmark 3's"),
        Parameter(
            "link B, the bottleneck", "40 Mbit/s, 20 ms, fair queueing", "stated", "the caption of Fig. 23, and §9"
        ),
        Parameter(
            "topology",
            "host - A - switch - B - switch - A - host",
            "inferred",
            "the figure is lost; this one gives the printed optima to the last digit",
        ),
        Parameter(
            "packet",
            "500 B on the wire, so that 2 Megabytes are 4000 packets",
            "inferred",
            "as §9; gives the printed optima",
        ),
        Parameter("buffer", buffer, "stated", "§9.4.1, §9.4.8"),
        Parameter(
            "receiver's window",
            f"{WINDOW} packets",
            "inferred",
            "not printed; the base scenario's. It matters in table 14 only",
        ),
        Parameter("control", "Table 2", "stated", "setpoint probed from 5 packets"),
        *more,
    )
