"""What holds of every run, whatever its scenario: books that balance with the packet log, clocks that never go back, links
that do not transmit more than they can, and the same bits by one thread and by two, and by both event queues."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from tailback import _core
from tailback.units import number

SENT, OFFERED, DROPPED, DELIVERED = range(4)


def broken(scenario: str) -> str:
    """The first law that a run of this scenario breaks, in a sentence; empty where it keeps them all."""
    raw = _core.run(scenario)
    return _clock(raw) or _links(raw) or _flows(raw) or _use(raw, json.loads(scenario)) or _repeats(scenario, raw.hash)


def _clock(raw: Any) -> str:
    times = raw.packets["time_nanoseconds"]
    if times.size and np.any(times[1:] < times[:-1]):
        return "the log's clock goes back"
    return "" if np.all(np.diff(raw.times) > 0) else "the clock of the series goes back"


def _links(raw: Any) -> str:
    """Each link's counters are what the log says, and what leaves links arrives."""
    log, links = raw.packets, raw.links
    count = len(links["name"])
    at_links = log["link"] < count
    offered = np.bincount(log["link"][at_links & (log["kind"] == OFFERED)], minlength=count)
    dropped = np.bincount(log["link"][at_links & (log["kind"] == DROPPED)], minlength=count)
    for name, found in (("arrived_packets", offered), ("dropped_packets", dropped)):
        if np.any(links[name] != found):
            place = int(np.flatnonzero(links[name] != found)[0])
            return f"{links['name'][place]}: {name} is {links[name][place]}, the log has {found[place]}"
    sent, arrived = (int(np.sum(log["kind"] == kind)) for kind in (SENT, DELIVERED))
    # Everything that leaves a link enters another or reaches a host, where what is damaged ends; "delivered" is made of
    # the other counters, the log is not.
    out = int(links["delivered_packets"].sum())
    onward = int(offered.sum()) - sent + arrived + int(raw.flows["discarded_packets"].sum())
    return "" if out == onward else f"{out} packets left links, {onward} came to another or to a host"


def _flows(raw: Any) -> str:
    """Nobody receives what nobody sent, nor delivers more than was received."""
    flows = raw.flows
    if np.any(flows["goodput_bytes"] > flows["received_bytes"]):
        return "a flow delivers more than it receives"
    copies = int(raw.links["duplicated_packets"].sum())
    too_many = flows["received_packets"].astype(np.int64) - flows["sent_packets"].astype(np.int64) > copies
    return "a flow receives more than was sent" if np.any(too_many) else ""


def _use(raw: Any, scenario: Mapping[str, Any]) -> str:
    """No link is busy for longer than the run or its window lasts, nor transmits more than it can meanwhile."""
    duration = number(scenario["duration"])
    longest = int(raw.packets["size_bytes"].max(initial=0))  # May have begun before the window.
    for links, time in ((raw.links, duration), (raw.links_measured, duration - number(scenario["warm_up"]))):
        busiest = float(np.max(links["busy_seconds"])) / time
        if busiest > 1.0 + 1e-8:  # Whole nanoseconds.
            return f"a link is busy {busiest} of the time"
        if np.any(links["transmitted_bytes"] > links["capacity_bytes"] + longest):
            return "a link transmits more than it can"
    return ""


def _repeats(scenario: str, digest: str) -> str:
    """By two threads at once, the second of which uses the other event queue."""
    with ThreadPoolExecutor(2) as threads:
        alone, wheel = threads.map(lambda wheel: _core.run(scenario, wheel=wheel).hash, (False, True))
    if wheel != digest:
        return "the two event queues give different hashes"
    return "" if alone == digest else "two threads at once give another hash than one"
