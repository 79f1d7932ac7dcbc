"""Hosts that are far away because a scenario says nothing of them: a warning of round trips that nobody meant. What is allowed is
decided in the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tailback.units import number, scaled

_HOSTS: Final = "5 ms"
_BETWEEN: Final = "20 ms"
_HOPS: Final = 3
"""What the core takes where a file says nothing: the delays of hosts' links and of those between routers, and how many of these a
parking lot has."""
_MANY: Final = 10.0
"""So many times the delay that was given, and hosts' links are most of what is simulated."""


def far_hosts(scenario: Mapping[str, Any]) -> list[str]:
    """The warning about a scenario, as plain data, whose links between routers are short while nothing is said of how far hosts
    are from them."""
    topology = scenario["topology"]
    if topology.get("template") not in {"dumbbell", "parking-lot"}:
        return []
    near = topology.get("access") or {}
    ends = [near.get("delay", _HOSTS), (topology.get("receiver_access") or near).get("delay", _HOSTS)]
    unsaid = sum(number(_HOSTS) for delay in ends if delay == _HOSTS)
    hops = topology.get("hops", _HOPS) if topology["template"] == "parking-lot" else 1
    there = topology.get("delay", _BETWEEN)
    back = (topology.get("reverse") or {}).get("delay", there)
    between = hops * number(there)
    if unsaid <= _MANY * between or any(not isinstance(delay, str) for delay in ends):
        return []
    trip = hops * (number(there) + number(back)) + 2.0 * sum(number(delay) for delay in ends)
    return [
        f"the round trip is {_told(trip)}, of which hosts' links are {_told(2.0 * unsaid)}: nothing is said of their delay, "
        f"{_HOSTS} each way by default, and that between routers is {_told(between)}; see `access.delay`"
    ]


def _told(seconds: float) -> str:
    value, unit = scaled(seconds, "s")
    return f"{value:.4g} {unit}"
