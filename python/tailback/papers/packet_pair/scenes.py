"""The base scenario of Keshav 1994, §9: one bottleneck that serves a packet per time unit, fair queueing, a pipeline of
100 packets. What is measured in it is the items' business.

One time unit (TU) is a millisecond here; the results do not depend on that choice. All amounts are in packets of 500
bytes on the wire, 40 of them header, so that acknowledgements have the paper's 40 bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tailback.papers.item import Parameter

if TYPE_CHECKING:
    from tailback.scenario import Scenario

PACKET = 500
"""Bytes on the wire."""
HEADER = 40
"""Bytes of header, and of an acknowledgement."""
PAYLOAD = PACKET - HEADER
TU = 1e-3
"""Seconds."""
RATE = 4_000_000
"""Bit/s of the bottleneck: a packet per time unit."""
UPSTREAM = 40_000_000
"""Bit/s of all other links: ten times the bottleneck's."""
ONE_WAY = 49.392
"""Propagation in TU. With the transmission of a packet and of its acknowledgement over all links (1.216 TU) the first
probe returns after 100 TU."""
ACCESS = 4.392
BUFFER = 100
"""Packets at the bottleneck, shared."""
WINDOW = 1000
"""Packets of the receiver's window."""
BOTTLENECK = "r0->r1"


class Source(NamedTuple):
    """One source."""

    packets: int | None
    """How much it sends; ``None`` without end."""
    start: float
    """In TU."""


def packet_pair(**options: Any) -> dict[str, Any]:
    """The scheme, with Table 2's parameters and the memorandum's own rate timer unless said otherwise."""
    return {"name": "packet-pair", "rate_change": "at-tick", **options}


PROGRAM: Mapping[str, Any] = {
    "name": "fuzzy",
    "relative_to": "estimate",
    "carry_error": False,
    "overlap": "crossed",
    "limit_change": False,
    "first_ratio": 1.5,
}
"""The estimator of the appendix's program, where it differs from the text's."""


def fixed(packets: float) -> dict[str, Any]:
    """A setpoint that is not probed."""
    return {"name": "fixed", "packets": packets}


def transport(window: int = WINDOW) -> dict[str, Any]:
    """Both ends' sizes, and the receiver's window."""
    return {
        "segment_size": f"{PACKET} B",
        "header": f"{HEADER} B",
        "receive_window": f"{window} packets",
    }


def bulk(packets: int | None) -> dict[str, Any]:
    """A transfer of whole packets."""
    return {"name": "bulk"} if packets is None else {"name": "bulk", "size": f"{packets * PAYLOAD} B"}


def base(
    sources: Iterable[Source],
    duration: float,
    *,
    buffer: int = BUFFER,
    scheme: Mapping[str, Any] | None = None,
    record: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Scenario:
    """The abstracted scenario of Fig. 10 with any number of sources, each behind a link of its own.

    Args:
        sources: named ``1``, ``2``, … as in the paper.
        duration: in TU.
        buffer: packets at the bottleneck.
        scheme: packet-pair with Table 2's parameters where not given.
        record: beyond counters: nothing where not given.
        fields: further fields of the dumbbell.
    """
    import tailback as tb

    flows = [
        tb.flows(
            1,
            dict(scheme or packet_pair()),
            bulk(source.packets),
            name=f"{index}",
            start=f"{source.start:g} ms",
            transport=transport(),
        )
        for index, source in enumerate(sources, start=1)
    ]
    access = {"rate": f"{UPSTREAM} bit/s", "delay": f"{ACCESS} ms"}
    made = {
        "queue": "weighted-fair-queueing",
        "reverse": {"rate": f"{UPSTREAM} bit/s"},
        "access": access,
        "record": dict(record or {"flows": "none", "links": "none"}),
        **fields,
    }
    return tb.dumbbell(
        rate=f"{RATE} bit/s",
        delay=f"{ONE_WAY - 2 * ACCESS:g} ms",
        buffer=f"{buffer} packets",
        duration=f"{duration:g} ms",
        flows=flows,
        **made,
    )


def watched(bin_tu: float = 1.0, **more: Any) -> dict[str, Any]:
    """Recording of series and of the controllers' state."""
    return {"bin": f"{bin_tu:g} ms", "flows": "all", "links": [BOTTLENECK], "state": True, **more}


def base_parameters(buffer: Parameter | None = None) -> tuple[Parameter, ...]:
    """The base scenario's parameters and where they come from; the buffer's may be another."""
    return (
        Parameter("packet", f"{PACKET} B, acknowledgement {HEADER} B", "stated", "§9"),
        Parameter(
            "header",
            f"{HEADER} B, part of a packet",
            "inferred",
            "§9 counts 'at the transport layer', and the rest not",
        ),
        Parameter(
            "bottleneck", "a packet per time unit, fair queueing, drop from the longest queue", "stated", "§9, §9.1"
        ),
        Parameter("pipeline", "100 packets, 100 time units", "stated", "§9"),
        Parameter("upstream", "10 times the bottleneck's rate", "stated", "§9"),
        buffer or Parameter("buffer", f"{BUFFER} packets", "stated", "§9"),
        Parameter("time unit", "1 ms", "inferred", "Table 3 names several; the results do not depend on it"),
        Parameter(
            "receiver's window",
            f"{WINDOW} packets",
            "inferred",
            "not printed; larger than anything needed without losses",
        ),
        Parameter(
            "control",
            "Table 2",
            "stated",
            "ATTACK 1.5 / 0.8, INC_FACTOR 0.2, MS_ALPHA 0.75, time-out x 1.5, setpoint 5 + 2 every 2 round trips, x 0.75 at a loss",
        ),
        Parameter(
            "rate timer", "a new rate counts from the timer's next tick on", "stated", "§8, and the appendix's program"
        ),
        Parameter(
            "fuzzy estimator",
            "sets of the appendix, rules of §4.5",
            "stated",
            "middles 0.7 and 0.5; the smoothed error is carried on as the text says",
        ),
    )
