"""Table 15, benchmark 9, the torture test: two connections whose round trips differ by a hundred, beside sources that come
and go faster than the longer round trip. Networks are in ``benchmarks.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailback import units
from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.packet_pair import transfers
from tailback.papers.packet_pair.benchmarks import ACCESS, PER_MS, PRIMARY, QUEUE, RATE, transfer
from tailback.papers.packet_pair.scenes import HEADER, PACKET, PAYLOAD

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

ROUND_TRIPS = (0.2, 20.2)
"""Milliseconds."""
BUFFER = 202
"""Packets: the longer round trip's worth."""
PART, ON, OFF = 0.25, 2.5, 1.5
"""Of each on-off source: its rate as a part of the bottleneck, and milliseconds on and off."""
STARTS = (1.5, 3.0)
PUBLISHED = (1113.0, 1188.0)
TOLERANCE = 0.10
"""The ledger's."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return (
        Parameter("round trips", "0.2 ms and 20.2 ms of propagation", "stated", "§9.4.9"),
        Parameter(
            "bottleneck",
            "40 Mbit/s, 0.05 ms, fair queueing",
            "inferred",
            "link B's rate; 2 × 2 MB and the on-off sources take about the printed time at it",
        ),
        Parameter("transfers", "2 MB each, from 0", "inferred", "as in the other benchmarks"),
        Parameter(
            "on-off sources",
            "two, from 1.5 and 3 ms, 25 % of the bottleneck for 2.5 ms, idle for 1.5 ms",
            "stated",
            "§9.4.9",
        ),
        Parameter(
            "buffer",
            f"{BUFFER} packets",
            "inferred",
            "a round trip's worth of the longer connection, as in benchmark 1",
        ),
        Parameter("control", "Table 2", "stated", "setpoint probed from 5 packets"),
    )


def scenario() -> Scenario:
    """Two connections and two on-off sources over one link."""
    import tailback as tb

    # One way: the connection's own link, the bottleneck's 0.05 ms, the common link's 0.025 ms.
    own = [0.5 * round_trip - 0.075 for round_trip in ROUND_TRIPS]
    on_off = {
        "name": "on-off",
        "on": {"name": "constant", "value": f"{ON} ms"},
        "off": {"name": "constant", "value": f"{OFF} ms"},
        "rate": units.rate(PART * RATE * PAYLOAD / PACKET),
        "chunk": f"{PAYLOAD} B",
    }
    # Unresponsive: a rate and a bucket so large that they never hold a datagram back.
    scheme = {"name": "fixed-rate", "rate": "1000 Gbit/s", "burst": "1000 packets"}
    datagram = {"segment_size": f"{PACKET} B", "header": f"{HEADER} B"}
    flows = [
        *(transfer(f"{index}", PRIMARY, from_=f"h{index}", to="d") for index in (1, 2)),
        *(
            tb.flows(
                1,
                scheme,
                on_off,
                name=f"on-off {index}",
                from_=f"h{2 + index}",
                to="d",
                start=f"{start} ms",
                datagram=datagram,
            )
            for index, start in enumerate(STARTS, start=1)
        ),
    ]
    delays = [*own, 0.025, 0.025]
    links = [
        {**ACCESS, "from": f"h{index}", "to": "s1", "delay": f"{delay:g} ms"}
        for index, delay in enumerate(delays, start=1)
    ]
    bottleneck = {
        "from": "s1", "to": "s2", "rate": f"{RATE} bit/s", "delay": "0.05 ms", "buffer": f"{BUFFER} packets", "queue": QUEUE,
    }  # fmt: skip
    return tb.graph(
        *links,
        bottleneck,
        {**ACCESS, "from": "s2", "to": "d", "delay": "0.025 ms"},
        name="torture test for rate-based schemes",
        duration="3 s",
        flows=flows,
        record={"flows": "none", "links": "none"},
    )


def best() -> float:
    """Milliseconds that both transfers need together with the on-off sources, were the bottleneck never idle."""
    cross = len(STARTS) * PART * ON / (ON + OFF)
    return 2 * PRIMARY / PER_MS / (1.0 - cross)


def simulate(_: int) -> list[transfers.Row]:
    """The run."""
    result = scenario().run()
    labels = ("connection 1, 0.2 ms", "connection 2, 20.2 ms")
    return [
        transfers.row(result, label, best() + round_trip, published, published, flow=f"{index}")
        for index, (label, round_trip, published) in enumerate(
            zip(labels, ROUND_TRIPS, PUBLISHED, strict=True), start=1
        )
    ]


def measure(lab: Lab) -> Outcome:
    """Runs it once: nothing in it is random."""
    rows = lab.map(simulate, [0])[0]
    times = [row.completion for row in rows]
    apart = max(times) / min(times) - 1.0
    checks = [
        Check(
            "the two completions are near each other", f"{100 * apart:.1f} % apart", "within 10 %", apart <= TOLERANCE
        )
    ]
    for row in rows:
        gap = row.completion / row.published - 1.0
        checks.append(
            Check(
                f"{row.label}: the paper's time",
                f"{row.completion:.0f} ms ({100 * gap:+.1f} %)",
                f"{row.published:g} ms ± 10 %",
                abs(gap) <= TOLERANCE,
            )
        )
    found = {"completion_ms": [round(time, 2) for time in times], "discrepancy": round(apart, 4)}
    notes = (
        f"A bottleneck that never rested would pass both transfers beside the on-off sources in {best():.0f} ms. Losses: "
        f"{rows[0].losses} packets; connections 1 and 2 sent {rows[0].retransmissions} and {rows[1].retransmissions} again.",
    )
    return transfers.outcome(rows, checks, found, scenario=scenario().to_toml(), notes=notes)


def draw(outcome: Outcome) -> Figure:
    """Ours and the paper's."""
    return transfers.bars(outcome, "both alike, never resting")
