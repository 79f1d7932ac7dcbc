"""What the simulated items of this paper share: the network of Figure 5, its users and its ping agent, and averages over
intervals of a run. What an item sets up and judges is in its own file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tailback import units
from tailback.papers.item import Parameter

if TYPE_CHECKING:
    from tailback.results import Result
    from tailback.scenario import Scenario
    from tailback.scenario._models import Flow

RATE = 45e6
"""Bit/s of link A."""
PACKET = 1000
"""Bytes on the wire."""
SERVICE = 8.0 * PACKET / RATE
BUFFER = 240
"""Packets; also the largest window and the deepest bucket."""
DELAY, ACCESS_DELAY = 40e-3, 1e-3
"""Seconds: of link A, and of every other link."""
ROUND_TRIP = 2 * (DELAY + ACCESS_DELAY)
"""Seconds, without queueing and transmission."""
DRAIN = BUFFER * SERVICE
LINK = "1->0"
"""Link A by name."""
USERS = 15
"""Of each kind."""
IMPULSE, PAUSE = 60.0, 1.0
"""Packets of a mean impulse, and seconds of a mean pause between two."""
RHO_MAX_P = 0.003
"""The probability of a ρ mark at the upper threshold, which the paper does not print: an estimate by hand, made before the
fluid model of ``analysis/tdqm.py``. The model supported it later: it rests at 0.94, and is unstable with RED's 0.02."""

COMMON = (
    Parameter("link A", "45 Mbit/s, 40 ms, 240 packets of 1000 B", "stated", "§IV-A"),
    Parameter("other links", "1 Gbit/s, 1 ms", "stated", "§IV-A"),
    Parameter("users", f"{USERS} with endless files, {USERS} with impulses", "stated", "§IV-A, §IV-B"),
    Parameter("W_b, W_p, T_c", "at most 240 packets", "stated", "§IV-A"),
    Parameter("w", "half the time in which a full buffer drains, 21.3 ms", "stated", "§IV-B"),
    Parameter("b", "0.025 w, three packets", "stated", "§IV-B"),
    Parameter("ρ thresholds", "0.9 and 1.0", "stated", "§IV-B"),
    Parameter(
        "impulses",
        f"exponential with a mean of {IMPULSE:g} packets at 100 Mbit/s, pauses exponential with a mean of {PAUSE:g} s",
        "inferred",
        "§IV-A: “a very short On period but a relatively long Off period”",
    ),
    Parameter(
        "ρ marks",
        f"probability {RHO_MAX_P} at the upper threshold, an average of weight 0.25 per window",
        "inferred",
        "§II-C: “very similar to that used in RED”; estimated by hand, and chosen while Figure 6's figures were watched; the "
        "fluid model supported it later",
    ),
    Parameter(
        "η marks",
        "probability 0.02 at the upper threshold, an average of weight 0.01 per busy period",
        "inferred",
        "as RED's own: Floyd and Jacobson 1993, §10 and §11",
    ),
    Parameter("starts", "spread evenly over the first second", "inferred", "not given"),
)
"""Parameters of every item on the network of Figure 5."""


def impulses(packets: float = IMPULSE) -> dict[str, Any]:
    """An impulse source: bursts of so many packets on average, exponential as the pauses between them."""
    rate = 100e6
    return {
        "name": "on-off",
        "on": {"name": "exponential", "mean": units.time(packets * 8 * (PACKET - 40) / rate)},
        "off": {"name": "exponential", "mean": units.time(PAUSE)},
        "rate": units.rate(rate),
        "pause_first": True,
    }


def ping() -> Flow:
    """A ping agent at node 2: 64 B forth, an acknowledgement back, at Poisson times, which see what is true on average."""
    import tailback as tb

    size, interval = 64, 0.05
    return tb.flows(
        1,
        {"name": "fixed-rate", "rate": "1 Gbit/s"},
        {
            "name": "datagrams",
            "arrivals": "poisson",
            "rate": units.rate(8 * (size - 28) / interval),
            "size": {"name": "constant", "value": units.size(size - 28)},
        },
        name="ping",
        from_="2",
        to="0",
        datagram={"segment_size": units.size(size), "header": "28 B", "acks": True},
    )


def tdqm(rho: Mapping[str, Any] | bool = True, eta: Mapping[str, Any] | bool = True, **fields: Any) -> dict[str, Any]:
    """A TDQM queue with the paper's thresholds; ``False`` switches a loop off as the paper does, with both at 1."""

    def marks(given: Mapping[str, Any] | bool, low: float, high: float) -> dict[str, Any]:
        if given is False:
            return {"min": 1.0, "max": 1.0}
        return {"min": low, "max": high, **(given if isinstance(given, Mapping) else {})}

    rho = {"max_p": RHO_MAX_P, **rho} if isinstance(rho, Mapping) else {"max_p": RHO_MAX_P} if rho else False
    return {"name": "tdqm", "rho": marks(rho, 0.9, 1.0), "eta": marks(eta, 0.1, 0.2), **fields}


def transport(**fields: Any) -> dict[str, Any]:
    """The users' transport: the receiver's buffer and the largest window are 240 packets."""
    room = f"{BUFFER} packets"
    return {"segment_size": units.size(PACKET), "receive_window": room, "window_limit": room, **fields}


def scenario(
    queue: Mapping[str, Any] | str,
    *,
    scheme: Mapping[str, Any] | str = "newark",
    seconds: float = 100.0,
    warm_up: float = 20.0,
    users: tuple[int, int] = (USERS, USERS),
    impulse: Mapping[str, Any] | None = None,
    with_transport: Mapping[str, Any] | None = None,
    record: Mapping[str, Any] | None = None,
    others: Sequence[Flow] = (),
    start: float = 1.0,
    **fields: Any,
) -> Scenario:
    """The network of Figure 5: users with endless files and users with impulses, one after the other, and others."""
    import tailback as tb

    quick = {"rate": "1 Gbit/s", "delay": units.time(ACCESS_DELAY), "buffer": "unlimited"}
    kinds = ["ftp"] * users[0] + ["impulse"] * users[1]
    link_a = {
        "from": "1",
        "to": "0",
        "rate": units.rate(RATE),
        "delay": units.time(DELAY),
        "buffer": f"{BUFFER} packets",
        "queue": queue,
        "reverse": {"queue": "drop-tail", "buffer": "unlimited"},
    }
    hosts = [{"from": f"u{index}", "to": "1", **quick} for index in range(len(kinds))]
    flows = [
        tb.flows(
            1,
            scheme,
            "bulk" if kind == "ftp" else (impulse or impulses()),
            name=f"{kind} {index}",
            from_=f"u{index}",
            to="0",
            start={"from": "0 s", "to": units.time(start)},
            transport=transport(**(with_transport or {})),
        )
        for index, kind in enumerate(kinds)
    ]
    return tb.graph(
        *([link_a] if not others else [link_a, {"from": "2", "to": "1", **quick}]),
        *hosts,
        duration=units.time(seconds),
        warm_up=units.time(warm_up),
        flows=[*flows, *others],
        record={"links": [LINK], "flows": "none", "queue_state": True, **(record or {})},
        **fields,
    )


def jitter(result: Result, *, after_warm_up: bool = True) -> float:
    """Milliseconds: the standard deviation of the ping agent's round trips."""
    pings = result.series(flow="ping", after_warm_up=after_warm_up)["rtt"].drop_nulls().drop_nans()
    return 1e3 * float(pings.std() or 0.0)  # type: ignore[arg-type]  # A number: the column is.
