"""Parameters of queues for a scenario, as theory recommends them. The theory is in ``analysis/tdqm.py`` and
``analysis/tdqm_chance.py``; what runs show, and corrections by them, are in ``tuning_runs.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from tailback import units
from tailback.analysis import tdqm, tdqm_chance
from tailback.errors import ArgumentError, refused, unknown

if TYPE_CHECKING:
    from tailback.results import Result
    from tailback.scenario import Scenario

SETTLING, SMOOTH = 240, 8
"""Round trips that are looked at for settling, and over which means are taken for it."""
SHORTEST = 3
"""Packets: the least busy period whose burstiness says something (b of Li and Mills, §IV-B)."""
PRESSED = 0.5
"""The part of packets with an η mark where there are impulses: then ``T_c`` rests at what a user sends per round trip."""
LEAST_LIMIT = 8.0
"""Packets that ``T_c`` of users with endless files rests at, at least: at 1, which is three halvings away, η echoes act on
the window (§III-B)."""


@dataclass(frozen=True)
class Tuned:
    """Recommended parameters of a TDQM queue, and what is expected of them."""

    link: str
    queue: Mapping[str, Any]
    """The queue as a scenario says it."""
    scenario: Scenario
    """The scenario with it."""
    network: tdqm.Network
    rest: tdqm.Rest
    margins: tdqm.Margins
    target: float
    """The utilization to rest at."""
    rho: tdqm.Marking
    eta: tdqm.Marking

    @cached_property
    def settles(self) -> Mapping[str, float]:
        """Seconds, per metric, from the start until its mean over eight round trips stays within a tenth of what it comes to:
        predicted. Computed when first asked for, which takes a second; a search does not ask."""
        course = tdqm.solve(self.network, self.rho, self.eta, duration=SETTLING * self.network.round_trip)
        span = SMOOTH * self.network.round_trip
        return {
            "rho": tdqm.settling(course.times, course.average, span),
            "eta": tdqm.settling(course.times, course.eta, span),
        }


def tune_tdqm(
    scenario: Scenario,
    result: Result,
    *,
    link: str | None = None,
    utilization: float | None = None,
    delay: float | None = None,
) -> Tuned:
    """Recommends window, thresholds, probabilities and weights for one link.

    Args:
        scenario: link, users and round trips.
        result: a run of it, for what users with pauses send.
        link: its name; by default the bottleneck.
        utilization: to rest at, above 0.5, below 1; by default 0.95.
        delay: mean queueing in seconds that is not to be exceeded; the utilization is lowered where a queue of Poisson
            arrivals would have more.

    Raises:
        ArgumentError: for targets that are not allowed, and where no user has an endless file.
        NotFoundError: for a link that there is not.
    """
    row = _link(result, link)
    packet = row["transmitted_bytes"] / max(row["transmitted_packets"], 1)
    if not packet:
        raise ArgumentError(
            f"link: {row['link']} has carried nothing in this scenario; expected one that its flows cross"
        )
    service = 8.0 * packet / row["rate"]
    target = _target(utilization, delay, service)
    slower = _greedy(scenario, result)
    greedy = result.flows.filter(pl.col("group").is_in(list(slower)))
    if greedy.is_empty():
        raise ArgumentError("flows: none has an endless file (source bulk); there is no window for the ρ loop to steer")
    others = result.flows.filter(~pl.col("group").is_in(list(slower)))
    buffer = row["buffer_packets"] or (row["buffer_bytes"] or 0) / packet
    network = tdqm.Network(
        capacity=1.0 / service,
        buffer=float(buffer) if buffer else 4.0 * row["round_trip"] / service,
        round_trip=row["round_trip"] + service,
        users=greedy.height,
        impulse_load=float(others["throughput"].sum()) / (8.0 * packet) if others.height else 0.0,
        impulse_users=others.height,
        g=sum(slower[group] for group in greedy["group"]) / greedy.height,
    )
    rho = tdqm_chance.tuned(network, target)
    return _told(scenario, row["link"], network, (rho, _eta(network, rho, target)), target)


def with_max_p(tuned: Tuned, max_p: float) -> Tuned:
    """The same with another probability of a ρ mark at the upper threshold, and what theory expects of it."""
    marks = replace(tuned.rho, max_p=max_p)
    return _told(tuned.scenario, tuned.link, tuned.network, (marks, tuned.eta), tuned.target)


def _eta(network: tdqm.Network, rho: tdqm.Marking, target: float) -> tdqm.Marking:
    """Marks for burstiness: thresholds at half and at twice what smooth arrivals read. The mean of η hardly tells impulses
    from smooth arrivals, so it rests by the latter, and what decides is how many packets bear a mark there. Where chance
    took the average above the upper threshold, every packet would, and senders would starve."""
    smooth, _ = tdqm.burstiness(1.0, network, target)
    marks = tdqm.Marking(round(0.5 * smooth, 2), round(2.0 * smooth, 2), 0.02, 0.01)
    if not network.impulse_users:
        return marks
    window, wanted = tdqm_chance.rest(network, rho).window, PRESSED
    while tdqm.limit_at_rest(window / network.g, wanted) < LEAST_LIMIT and wanted > marks.max_p:
        wanted *= 0.9
    base = wanted / (2.0 - wanted)
    return replace(marks, max_p=min(1.0, base * (marks.high - marks.low) / (smooth - marks.low)))


def _told(
    scenario: Scenario, link: str, network: tdqm.Network, marks: tuple[tdqm.Marking, tdqm.Marking], target: float
) -> Tuned:
    """What theory expects of marks for ρ and for η."""
    rho, eta = marks
    shortest = max(0.025 * network.w, SHORTEST / network.capacity)
    queue = {
        "name": "tdqm",
        "window": units.time(network.w),
        "shortest_busy_period": units.time(shortest),
        "rho": _said(rho),
        "eta": _said(eta),
    }
    at = tdqm_chance.rest(network, rho)
    left = tdqm.margins(network, rho, at)
    return Tuned(link, queue, with_queue(scenario, link, queue), network, at, left, target, rho, eta)


def _said(marks: tdqm.Marking) -> dict[str, float]:
    return {
        "min": round(marks.low, 4),
        "max": round(marks.high, 4),
        "max_p": float(f"{marks.max_p:.3g}"),
        "weight": float(f"{marks.weight:.3g}"),
    }


def _target(utilization: float | None, delay: float | None, service: float) -> float:
    if utilization is not None and not (isinstance(utilization, int | float) and 0.5 < utilization < 1.0):
        hint = units.meant_by_percentage(utilization)
        raise refused("utilization", utilization, f"a number above 0.5, below 1{hint}")
    if delay is not None and not delay > 0.0:
        raise ArgumentError(f"delay: {delay} s is not allowed; expected above 0 s")
    target = 0.95 if utilization is None else utilization
    if delay is None:
        return target
    # The Pollaczek-Khinchine formula for fixed sizes, solved for the load: W = s u / (2 (1 - u)).
    return max(min(target, 2.0 * delay / (service + 2.0 * delay)), 0.51)


def _link(result: Result, name: str | None) -> dict[str, Any]:
    chosen = name or result.bottleneck
    found = result.links.filter(pl.col("link") == chosen)
    if found.is_empty():
        raise unknown("link", chosen, result.links["link"].to_list())
    return found.row(0, named=True)


def _greedy(scenario: Scenario, result: Result) -> dict[str, float]:
    """The names of groups of flows with endless files, each with the g of its scheme. Where a scenario leaves names out, the
    run has given them, in the same order."""
    found: dict[str, float] = {}
    names = result.flows["group"].unique(maintain_order=True)
    for name, group in zip(names, scenario.to_dict(full=True)["flows"], strict=True):
        source, scheme = group["source"], group["scheme"]
        endless = source == "bulk" or (
            isinstance(source, Mapping) and source["name"] == "bulk" and not source.get("size")
        )
        if endless:
            found[name] = float(scheme.get("g", 1.0)) if isinstance(scheme, Mapping) else 1.0
    return found


def with_queue(scenario: Scenario, link: str, queue: Mapping[str, Any]) -> Scenario:
    """The scenario with another queue on a link, and on no other link of a graph."""
    from tailback.scenario import Scenario

    data = scenario.to_dict()
    topology = data["topology"]
    if topology["template"] == "graph":
        for entry in topology["links"]:
            if link == f"{entry['from']}->{entry['to']}":
                entry["queue"] = dict(queue)
            elif link == f"{entry['to']}->{entry['from']}":
                entry["reverse"] = {**entry.get("reverse", {}), "queue": dict(queue)}
    else:
        topology["queue"] = dict(queue)
    return Scenario.of(data)
