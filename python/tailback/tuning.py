"""Parameters of queues for a scenario: what theory recommends, and what becomes of it in runs. The theory is in
``analysis/tdqm.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tailback import units
from tailback.analysis import tdqm
from tailback.errors import ArgumentError, NotFoundError, nearest

if TYPE_CHECKING:
    from tailback.results import Result
    from tailback.scenario import Scenario

SETTLING, SMOOTH = 240, 8
"""Round trips that are looked at for settling, and over which means are taken for it."""
SHORTEST = 3
"""Packets: the least busy period whose burstiness says something (b of Li and Mills, §IV-B)."""


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
    settles: Mapping[str, float]
    """Seconds, per metric, from the start until its mean over eight round trips stays within a tenth of what it comes to:
    predicted."""


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
    greedy = result.flows.filter(pl.col("flow").is_in(_greedy(scenario)))["flow"].to_list()
    if not greedy:
        raise ArgumentError("flows: none has an endless file (source bulk); there is no window for the ρ loop to steer")
    others = result.flows.filter(~pl.col("flow").is_in(greedy))
    buffer = row["buffer_packets"] or (row["buffer_bytes"] or 0) / packet
    network = tdqm.Network(
        capacity=1.0 / service,
        buffer=float(buffer) if buffer else 4.0 * row["round_trip"] / service,
        round_trip=row["round_trip"] + service,
        users=len(greedy),
        impulse_load=float(others["throughput"].sum()) / (8.0 * packet) if others.height else 0.0,
        impulse_users=others.height,
    )
    # The thresholds lie evenly around the target, as the paper's around 0.95.
    low, high = 2.0 * target - 1.0, 1.0
    rho = tdqm.tuned(network, tdqm.Marking(low, high, 0.02, 0.25), target)
    smooth, _ = tdqm.burstiness(1.0, network, target)
    eta = tdqm.Marking(round(0.55 * smooth, 2), round(1.1 * smooth, 2), 0.02, 0.01)
    shortest = max(0.025 * network.w, SHORTEST * service)
    queue = {
        "name": "tdqm",
        "window": units.time(network.w),
        "shortest_busy_period": units.time(shortest),
        "rho": _said(rho),
        "eta": _said(eta),
    }
    course = tdqm.solve(network, rho, eta, duration=SETTLING * network.round_trip)
    span = SMOOTH * network.round_trip
    settles = {"rho": tdqm.settling(course.times, course.average, span)}
    settles["eta"] = tdqm.settling(course.times, course.eta, span)
    name = row["link"]
    at, left = tdqm.rest(network, rho), tdqm.margins(network, rho)
    return Tuned(name, queue, with_queue(scenario, name, queue), network, at, left, target, settles)


def _said(marks: tdqm.Marking) -> dict[str, float]:
    return {
        "min": round(marks.low, 4),
        "max": round(marks.high, 4),
        "max_p": float(f"{marks.max_p:.3g}"),
        "weight": float(f"{marks.weight:.3g}"),
    }


def _target(utilization: float | None, delay: float | None, service: float) -> float:
    if utilization is not None and not 0.5 < utilization < 1.0:
        raise ArgumentError(f"utilization: {utilization} is not allowed; expected above 0.5, below 1")
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
        known = result.links["link"].to_list()
        close = nearest(chosen, known)
        raise NotFoundError(f"link {chosen!r} is not there{f'; did you mean {close}?' if close else ''}")
    return found.row(0, named=True)


def _greedy(scenario: Scenario) -> list[str]:
    """The names of flows with endless files."""
    found = []
    for group in scenario.to_dict(full=True)["flows"]:
        source = group["source"]
        endless = source == "bulk" or (
            isinstance(source, Mapping) and source["name"] == "bulk" and not source.get("size")
        )
        if endless:
            count, name = group["count"], group["name"]
            found += [name] if count == 1 else [f"{name}-{index}" for index in range(count)]
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


def measured(tuned: Tuned, seeds: Sequence[int]) -> dict[str, float]:
    """What runs of the tuned scenario show, in the mean over seeds: seconds until each metric settles, and
    utilization, queueing and loss after the warm-up."""
    from tailback.scenario import Scenario

    data = tuned.scenario.to_dict()
    width = tuned.network.round_trip / 4
    data["record"] = {"bin": units.time(width), "links": [tuned.link], "flows": "none", "queue_state": True}
    scenario = Scenario.of(data)
    rows, courses = [], []
    for seed in seeds:
        result = scenario.run(seed=seed)
        row = result.links.filter(pl.col("link") == tuned.link).row(0, named=True)
        rows.append((row["utilization"], row["queueing_delay"] or 0.0, row["loss_rate"]))
        courses.append(result.series(link=tuned.link).select("time", "rho", "eta").to_numpy())
    mean = np.mean(courses, axis=0)
    found = dict(zip(("utilization", "queueing_delay", "loss_rate"), np.mean(rows, axis=0).tolist(), strict=True))
    for index, name in ((1, "rho"), (2, "eta")):
        span = SMOOTH * tuned.network.round_trip
        found[f"settles_{name}"] = tdqm.settling(mean[:, 0], mean[:, index], span)
    return found
