"""What theory says a scenario's flows get at rest, beside what a run measured: the network of the scenario as a programme
of utility maximisation. The programme is solved in ``analysis/utility.py``."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from pydantic_core import from_json

from tailback import _core
from tailback.analysis.utility import Floats, alpha_fair, max_min
from tailback.errors import ArgumentError, PredictionError
from tailback.results.units import UNITS

if TYPE_CHECKING:
    from tailback.results.result import Result

Fairness = str | float
"""``"proportional"``, ``"max-min"``, or the alpha of alpha-fairness: 1 is proportional, 2 least potential delay."""


@dataclass(frozen=True)
class Prediction:
    """An allocation of a network's capacity; with columns of measurements where it belongs to a run."""

    flows: pl.DataFrame
    """One row per greedy flow, or aggregate of such: ``flow``, ``group``, ``links`` (how many its data passes), ``weight``,
    ``predicted`` (bit/s); of a run also ``goodput`` (bit/s) and ``difference`` (goodput over predicted, less 1)."""
    links: pl.DataFrame
    """One row per link that such a flow passes: ``link``, ``capacity`` (bit/s that these flows can have), ``load`` (the part
    of it that they are to use), and ``price``, the multiplier of the capacity (not a number with max-min fairness), or
    ``predicted_delay`` in its place: where fairness is proportional and weights are accumulations, prices are queueing
    delays in seconds (Xia et al., appendix, Proposition 1). Of a run also ``queueing_delay`` (s, mean, measured)."""
    fairness: str
    """What is maximised."""
    kkt_residual: float | None
    """How far the solution is from optimal, see ``tailback.analysis.utility.kkt_residual``; ``None`` with max-min."""

    def _repr_html_(self) -> str:
        """What a notebook shows: flows and links, in units that suit them."""
        from tailback.results.notebook import as_html

        units = {**UNITS, "predicted": "bit/s", "capacity": "bit/s", "predicted_delay": "s"}
        told = f"<p>Predicted, {html.escape(self.fairness)}</p>"
        return told + "".join(as_html(table, units) for table in (self.flows, self.links))


_FAIRNESS = "proportional, max-min, or the alpha of alpha-fairness"


def predict(
    scenario: str,
    fairness: Fairness = "proportional",
    weights: Mapping[str, float] | None = None,
    result: Result | None = None,
) -> Prediction:
    """The allocation of a scenario written as JSON, beside a result of it.

    Only greedy flows (source ``bulk``) take part; of a result, those that are there from ``warm_up`` to the end, and what
    others received is taken from the capacity of the links that they pass. A link with an adaptive virtual queue offers
    the part of its rate that it aims at. An aggregate with such flows is one of them, in place of its members: how these
    share it is decided in its queue.

    Args:
        scenario: as JSON.
        fairness: which utility.
        weights: by flow or group, relative to each other. By default a flow weighs what it holds in queues, in bytes,
            where all flows hold a target accumulation, and 1 otherwise.
        result: a run of the scenario.

    Raises:
        PredictionError: where there is nothing to predict.
    """
    if not isinstance(fairness, str | Real) or isinstance(fairness, bool):
        raise PredictionError(f"fairness: {fairness!r} is not allowed; expected {_FAIRNESS}")
    network = _core.network(scenario)
    present = _present(network, result)
    network, present = _with_loops(network, present)
    if not present:
        raise PredictionError("nothing to predict: expected a flow with source bulk that is there all the time")
    shares, held = _weights(network, present, weights)
    programme = _programme(network, present, _capacities(network, present, result))
    delays = held and fairness in {"proportional", 1.0}
    # Weights in bits and capacities in bit/s make prices seconds.
    rates, prices, residual = _solve(programme, np.array(shares) * (8.0 if delays else 1.0), fairness)
    flows = pl.DataFrame(
        {
            "flow": [network["flows"][flow] for flow in present],
            "group": [network["group_names"][network["groups"][flow]] for flow in present],
            "links": [len(route) for route in programme.routes],
            "weight": shares,
            "predicted": rates,
        }
    )
    links = _by_link(network, programme, rates, prices)
    if delays:
        links = links.rename({"price": "predicted_delay"})
    if result is not None:
        flows = flows.join(_got(result, "goodput"), on="flow", how="left", maintain_order="left")
        flows = flows.with_columns((pl.col("goodput") / pl.col("predicted") - 1.0).alias("difference"))
        links = links.join(result.links.select("link", "queueing_delay"), on="link", how="left", maintain_order="left")
    name = fairness if isinstance(fairness, str) else f"alpha {fairness:g}"
    return Prediction(flows, links, name, residual)


def _by_link(network: _core.Network, programme: _Programme, rates: Floats, prices: Floats) -> pl.DataFrame:
    """Each link that flows use: its capacity, the part of it that they take together, and its price."""
    loads = np.zeros(len(programme.used))
    for route, rate in zip(programme.routes, rates, strict=True):
        loads[route] += rate
    return pl.DataFrame(
        {
            "link": [network["links"][link] for link in programme.used],
            "capacity": programme.capacities,
            "load": loads / np.array(programme.capacities),
            "price": pl.Series(prices, dtype=pl.Float64),
        }
    )


def _got(result: Result, rate: str) -> pl.DataFrame:
    """Names and measured rates of flows and of aggregates, whose two rates are one."""
    flows = result.flows.select("flow", rate)
    if not result.aggregates.columns:
        return flows
    loops = result.aggregates.select(flow="aggregate", throughput="throughput").rename({"throughput": rate})
    return pl.concat([flows, loops])


def _with_loops(network: _core.Network, present: list[int]) -> tuple[_core.Network, list[int]]:
    """The network with aggregates as flows in groups of their own, whose members pass only what is outside, and those of
    both that are to be predicted."""
    loops = range(len(network["aggregates"]))
    first, groups = len(network["flows"]), len(network["group_names"])
    routes = [list(route) for route in network["routes"]]
    for loop in loops:
        inside = {*network["aggregate_routes"][loop], network["aggregate_edges"][loop]}
        for member in network["aggregate_members"][loop]:
            routes[member] = [link for link in routes[member] if link not in inside]
    members = [set(network["aggregate_members"][loop]) for loop in loops]
    inside_any = set().union(*members)
    chosen = [flow for flow in present if flow not in inside_any]
    chosen += [first + loop for loop in loops if not members[loop].isdisjoint(present)]
    whole: _core.Network = {
        **network,
        "flows": network["flows"] + network["aggregates"],
        "groups": network["groups"] + [groups + loop for loop in loops],
        "routes": routes + network["aggregate_routes"],
        "group_names": network["group_names"] + network["aggregates"],
        "held_bytes": network["held_bytes"] + network["aggregate_held_bytes"],
    }
    return whole, chosen


class _Programme(NamedTuple):
    """The part of a network that predicted flows pass."""

    used: list[int]
    """Rows of its links in the network."""
    routes: list[list[int]]
    """Per flow, the places of its links among those."""
    capacities: list[float]


def _programme(network: _core.Network, present: Sequence[int], capacities: Sequence[float]) -> _Programme:
    used = sorted({link for flow in present for link in network["routes"][flow]})
    places = {link: place for place, link in enumerate(used)}
    for link in used:
        if capacities[link] <= 0.0:
            raise PredictionError(f"{network['links'][link]}: flows that are not predicted leave nothing of it")
    routes = [[places[link] for link in network["routes"][flow]] for flow in present]
    return _Programme(used, routes, [capacities[link] for link in used])


def _solve(programme: _Programme, weights: Floats, fairness: Fairness) -> tuple[Floats, Floats, float | None]:
    """Rates, prices and the residual."""
    if fairness == "max-min":
        return max_min(programme.routes, programme.capacities, weights), np.full(len(programme.used), np.nan), None
    try:
        alpha = 1.0 if fairness == "proportional" else float(fairness)
    except ValueError:
        raise PredictionError(f"fairness: {fairness} is not allowed; expected {_FAIRNESS}") from None
    if not 0.0 < alpha < np.inf:
        raise PredictionError(f"fairness: {alpha:g} is not allowed; expected an alpha above 0")
    try:
        solved = alpha_fair(programme.routes, programme.capacities, weights, alpha)
    except ArgumentError:  # Powers of so great an alpha are no numbers of a computer's.
        raise PredictionError(
            f"fairness: {alpha:g} is not allowed; expected a smaller alpha, or max-min, which it comes to, or weights nearer "
            "to each other"
        ) from None
    return solved.rates, solved.prices, solved.kkt_residual


def _present(network: _core.Network, result: Result | None) -> list[int]:
    """Rows of the greedy flows, and of a result of those only that are there all the time that it covers."""
    starts = dict(result.flows.select("flow", "start").iter_rows()) if result is not None else {}
    present = []
    for flow, group in enumerate(network["groups"]):
        if not network["greedy"][group]:
            continue
        if result is not None:
            stop = network["stop_seconds"][group]
            if starts[network["flows"][flow]] > result.warm_up or (stop is not None and stop < result.duration):
                continue
        present.append(flow)
    return present


_ROUNDED = 1e-3
"""A capacity that is counted in bytes differs from a rate by no more."""


def _capacities(network: _core.Network, present: Sequence[int], result: Result | None) -> list[float]:
    """Bit/s per link: what its discipline lets flows have of its rate, less what flows that are not predicted took."""
    read = {queue: from_json(queue) for queue in set(network["queues"])}
    queues = [read[queue] for queue in network["queues"]]
    aims = [queue.get("target", 1.0) if queue["name"] in {"avd", "avq"} else 1.0 for queue in queues]
    capacities = [rate * aim for rate, aim in zip(network["rate_bits"], aims, strict=True)]
    if result is not None:
        # What schedules and traces offered in the window of the run, not the rate that a link begins with.
        window = result.duration - result.warm_up
        offered = dict(result.links.select("link", pl.col("capacity_bytes") * 8.0 / window).iter_rows())
        for link, (name, aim) in enumerate(zip(network["links"], aims, strict=True)):
            if abs(offered[name] / network["rate_bits"][link] - 1.0) > _ROUNDED:
                capacities[link] = offered[name] * aim
        took = dict(_got(result, "throughput").iter_rows())
        for flow in set(range(len(network["flows"]))) - set(present):
            for link in network["routes"][flow]:
                capacities[link] -= took[network["flows"][flow]]
    return capacities


def _weights(
    network: _core.Network, present: Sequence[int], weights: Mapping[str, float] | None
) -> tuple[list[float], bool]:
    """What flows weigh, and whether that is what they hold in queues, in bytes."""
    groups = network["groups"]
    if weights is None:
        held = [network["held_bytes"][groups[flow]] for flow in present]
        sizes = [size for size in held if size is not None]
        return (sizes, True) if len(sizes) == len(held) else ([1.0] * len(held), False)
    names = [network["group_names"][group] for group in groups]
    unknown = sorted(set(weights) - {*network["flows"], *names})
    if unknown:
        raise PredictionError(f"weights: no flow or group is called {', '.join(unknown)}")
    bad = [f"{name}={weight}" for name, weight in weights.items() if not 0.0 < weight < np.inf]
    if bad:
        raise PredictionError(f"weights: {', '.join(bad)} is not allowed; expected finite numbers above 0")
    return [float(weights.get(network["flows"][flow], weights.get(names[flow], 1.0))) for flow in present], False
