"""What hosts of the laboratory take from a packet's arrival to what they send because of it, written into a scenario for the
simulator, whose hosts take no time. Times that were measured once for all are in ``hosts.json``; how a run's own are measured is
said in ``timing.py``, and what they are on docs/parity.md."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from statistics import fmean, pstdev
from typing import Any, Final

from tailback.units import number, time

TEMPLATES: Final = frozenset({"dumbbell", "parking-lot"})
"""Templates in which each flow has hosts of its own, in the flows' order."""
ENDS: Final = ("sender", "receiver", "reading")
"""What is measured of a flow."""
_TIMED: Final = frozenset({"packet-pair"})
"""Schemes that measure the time between packets: our endpoints have the kernel's stamps of them, so that batches do not disturb
what is measured."""
_AT_ONCE: Final = 1e-9
"""Seconds: the shortest time of a batch. A list of hosts has a table for each, so one that takes each packet at once has this."""


@dataclass(frozen=True)
class HostTimes:
    """What the two ends of a flow take, in seconds: times that are equally likely."""

    sender: tuple[float, ...]
    receiver: tuple[float, ...]
    reading: tuple[float, ...] = ()
    """How much longer the receiver takes for what comes in order, which it acknowledges when its program has read it; empty where
    it makes no difference."""

    def each(self, change: Callable[[tuple[float, ...]], tuple[float, ...]]) -> HostTimes:
        """All times, changed."""
        return HostTimes(change(self.sender), change(self.receiver), change(self.reading) if self.reading else ())

    @property
    def mean(self) -> float:
        """The mean of both together, in seconds, of what comes in order."""
        return fmean(self.sender) + fmean(self.receiver) + fmean(self.reading or (0.0,))

    @property
    def deviation(self) -> float:
        """The standard deviation of both together, in seconds, of what comes in order."""
        return math.hypot(pstdev(self.sender), pstdev(self.receiver), pstdev(self.reading or (0.0,)))


@dataclass(frozen=True)
class Hosts:
    """The hosts of flows that the kernel carries, and of ours, beside a bottleneck of some rate."""

    rate: float
    """In bit/s. The longer a host sleeps between two packets, the longer it takes to wake up."""
    kernel: HostTimes
    ours: HostTimes
    groups: Mapping[str, HostTimes] = field(default_factory=dict)
    """Those of groups of flows that were measured by themselves."""

    def of(self, group: str, kernel: Collection[str]) -> HostTimes:
        """Those of a group of flows; ``kernel`` are the groups that the kernel carries."""
        return self.groups.get(group, self.kernel if group in kernel else self.ours)

    def each(self, change: Callable[[tuple[float, ...]], tuple[float, ...]]) -> Hosts:
        """The times of all ends, changed."""
        groups = {name: times.each(change) for name, times in self.groups.items()}
        return replace(self, kernel=self.kernel.each(change), ours=self.ours.each(change), groups=groups)


def measured() -> tuple[Hosts, ...]:
    """What was measured, by rate."""
    told = json.loads((files("tailback.lab") / "hosts.json").read_text("utf-8"))

    def ends(times: Mapping[str, Sequence[float]]) -> HostTimes:
        return HostTimes(**{end: tuple(round(micros * 1e-6, 9) for micros in values) for end, values in times.items()})

    return tuple(Hosts(float(rate), ends(one["kernel"]), ends(one["ours"])) for rate, one in told.items())


MEASURED: Final = measured()
IDEAL: Final[tuple[Hosts, ...]] = ()
"""Hosts that take no time."""


def nearest(hosts: Sequence[Hosts], rate: float) -> Hosts:
    """Those of the rate that is nearest, as a ratio."""
    return min(hosts, key=lambda one: abs(math.log(one.rate / rate)))


def rate_of(scenario: Mapping[str, Any]) -> float:
    """The rate of a scenario's link between routers, in bit/s; of several, of the slowest. Traces and schedules are not looked
    at."""
    topology = scenario["topology"]
    return number(topology["rate"]) if "rate" in topology else min(number(link["rate"]) for link in topology["links"])


def take_time(scenario: dict[str, Any], kernel: Collection[str], hosts: Sequence[Hosts]) -> None:
    """Writes into a checked scenario what hosts take; ``kernel`` are the groups of flows that the kernel carries.

    In dumbbells and parking lots, where flows have hosts of their own, hosts take packets in batches (``coalescing`` of their
    access links), and programs of the kernel's flows take time to read (``receiver.reading``), unless the scenario says so itself;
    of schemes that measure the time between packets each packet takes the mean. A host is as its own flow's end, also for flows
    that name it as theirs. Other topologies stay as they are; there ``send_jitter`` of the kernel's flows, and of ours that have
    any, is longer by a random time of the same deviation.
    """
    if not hosts:
        return
    beside = nearest(hosts, rate_of(scenario))
    topology = scenario["topology"]
    if topology.get("template") not in TEMPLATES:
        _jitter(scenario, kernel, beside)
        return
    near = topology["access"]
    far = topology.get("receiver_access") or copy.deepcopy(near)
    topology["receiver_access"] = far
    if "coalescing" not in far:
        _read(scenario, kernel, beside)
    for access, end in ((near, "sender"), (far, "receiver")):
        if "coalescing" not in access:
            ends = [
                _End(getattr(beside.of(flow["name"], kernel), end), _is_timed(flow))
                for flow in scenario["flows"]
                for _ in range(flow["count"])
            ]
            _write(access, ends)


def _read(scenario: dict[str, Any], kernel: Collection[str], hosts: Hosts) -> None:
    for flow in scenario["flows"]:
        times = hosts.of(flow["name"], kernel).reading
        if times and "receiver" in flow and "reading" not in flow["receiver"]:
            flow["receiver"]["reading"] = _empirical(times)


def _empirical(values: Sequence[float]) -> dict[str, Any]:
    """Times in seconds, all equally likely."""
    return {"name": "empirical", "values": [time(value) for value in values]}


@dataclass(frozen=True)
class _End:
    """A host of a flow."""

    times: tuple[float, ...]
    is_timed: bool

    @property
    def later(self) -> float:
        """What each way of its link is longer by, in seconds: a packet passes it there and back."""
        return fmean(self.times) / 2 if self.is_timed else 0.0

    def table(self) -> dict[str, Any]:
        """Its batches."""
        values = (_AT_ONCE,) if self.is_timed else self.times
        return {"time": _empirical(values)}


def _write(access: dict[str, Any], ends: Sequence[_End]) -> None:
    later, tables = [end.later for end in ends], [end.table() for end in ends]
    if any(later):
        access["delay"] = _dealt_out(access["delay"], later)
    access["coalescing"] = tables[0] if all(table == tables[0] for table in tables) else tables


def _is_timed(flow: Mapping[str, Any]) -> bool:
    scheme = flow.get("scheme")
    return (scheme["name"] if isinstance(scheme, dict) else scheme) in _TIMED


def _jitter(scenario: dict[str, Any], kernel: Collection[str], hosts: Hosts) -> None:
    for flow in scenario["flows"]:
        is_kernel = flow["name"] in kernel
        width = math.sqrt(12) * hosts.of(flow["name"], kernel).deviation
        before = number(flow["transport"]["send_jitter"]) if "transport" in flow else 0.0
        if "transport" in flow and (is_kernel or before > 0.0):
            flow["transport"]["send_jitter"] = time(before + width)


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
