"""What hosts of the laboratory take from a packet's arrival to what they send because of it, written into a scenario for the
simulator, whose hosts take no time. How it was measured is said in ``tools/host_times.py`` and on docs/parity.md."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tailback.units import number, time

_TEMPLATES: Final = frozenset({"dumbbell", "parking-lot"})
"""Templates in which each flow has hosts of its own, in the flows' order."""


@dataclass(frozen=True)
class HostTime:
    """What a flow's sender and receiver take together, in seconds."""

    constant: float
    jitter: float
    """Beyond that, at random: uniform, from zero up to this."""


@dataclass(frozen=True)
class Hosts:
    """The hosts of flows that the kernel carries, and of ours."""

    kernel: HostTime = HostTime(constant=35e-6, jitter=120e-6)
    ours: HostTime = HostTime(constant=90e-6, jitter=125e-6)


MEASURED: Final = Hosts()
IDEAL: Final = Hosts(HostTime(0.0, 0.0), HostTime(0.0, 0.0))
"""Hosts that take no time."""


def take_time(scenario: dict[str, Any], kernel: Collection[str], hosts: Hosts) -> None:
    """Writes into a checked scenario what hosts take; ``kernel`` are the groups of flows that the kernel carries.

    The constant is divided among the four links between a flow's hosts and their routers; templates other than dumbbells and
    parking lots stay as they are. The random part is added to ``send_jitter`` of the kernel's flows, and of ours that have any:
    others keep time by themselves, or send in pairs that must not be parted.
    """
    longer = []
    for flow in scenario["flows"]:
        is_kernel = flow["name"] in kernel
        took = hosts.kernel if is_kernel else hosts.ours
        longer += [took.constant / 4] * flow["count"]
        before = number(flow["transport"]["send_jitter"]) if "transport" in flow else 0.0
        if took.jitter > 0.0 and (is_kernel or before > 0.0):
            flow["transport"]["send_jitter"] = time(before + took.jitter)
    topology = scenario["topology"]
    if topology.get("template") not in _TEMPLATES:
        return
    for access in (topology.get("access"), topology.get("receiver_access")):
        if access:
            access["delay"] = _dealt_out(access["delay"], longer)


def _dealt_out(delay: str | Sequence[str] | dict[str, str], longer: Sequence[float]) -> list[str]:
    """The delay of each flow's link, longer by so much."""
    count = len(longer)
    if isinstance(delay, dict):
        first, last = number(delay["from"]), number(delay["to"])
        given = [first + (last - first) * index / max(count - 1, 1) for index in range(count)]
    else:
        several = [delay] if isinstance(delay, str) else delay
        given = [number(several[index % len(several)]) for index in range(count)]
    return [time(one + more) for one, more in zip(given, longer, strict=True)]
