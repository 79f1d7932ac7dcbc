"""What the page on this paper measures beyond the ledger's items: how far the two loops are decoupled, what networks with
ECN alone lose, what a receiver gains that hides marks, phase effects, and the fluid model beside packets. ``make tdqm`` runs
it and writes the tables; nothing is judged here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from tailback.analysis import mean_interval, tdqm, tdqm_chance
from tailback.papers.tdqm import fig_6, network

if TYPE_CHECKING:
    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

SECONDS, WARM_UP = 60.0, 20.0


class Run(NamedTuple):
    """One simulation: a name, fields of the queue and of the scheme, and a seed."""

    name: str
    queue: tuple[tuple[str, Any], ...]
    scheme: tuple[tuple[str, Any], ...]
    seed: int


class Seen(NamedTuple):
    """What is kept of it."""

    utilization: float
    eta: float
    queue: float
    jitter: float
    """Milliseconds."""
    loss: float


def simulate(run: Run) -> Seen:
    """The network of Figure 5 with a ping agent."""
    result = network.scenario(
        network.tdqm(**dict(run.queue)),
        scheme={"name": "newark", **dict(run.scheme)},
        seconds=SECONDS,
        warm_up=WARM_UP,
        others=[network.ping()],
        record={"flows": ["ping"]},
    ).run(seed=run.seed)
    link = result.links.filter(pl.col("link") == network.LINK).row(0, named=True)
    eta = result.series(link=network.LINK, after_warm_up=True)["eta"]
    return Seen(
        link["utilization"],
        float(eta.mean()),  # type: ignore[arg-type]  # A number: the column is.
        link["mean_queue"],
        network.jitter(result),
        link["loss_rate"],
    )


def _table(lab: Lab, cases: Sequence[tuple[str, Mapping[str, Any], Mapping[str, Any]]], seeds: int) -> list[list[str]]:
    """A line per case: utilization, η, queue, jitter and loss, means with intervals over seeds."""
    runs = [
        Run(name, tuple(queue.items()), tuple(scheme.items()), seed)
        for name, queue, scheme in cases
        for seed in range(1, seeds + 1)
    ]
    seen = lab.map(simulate, runs)
    lines = []
    for index, (name, _, _) in enumerate(cases):
        found = seen[index * seeds : (index + 1) * seeds]
        columns = [mean_interval([getattr(one, field) for one in found]) for field in Seen._fields]
        lines.append([name, *(str(column) for column in columns[:4]), f"{100 * columns[4].mean:.2f} %"])
    return lines


def decoupling(lab: Lab, seeds: int) -> list[list[str]]:
    """Each loop's target moved alone."""
    cases: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = [
        *((f"ρ from {low}", {"rho": {"min": low}}, {}) for low in (0.7, 0.8, 0.9, 0.95)),
        *(
            (f"η {low} to {high}", {"eta": {"min": low, "max": high}}, {})
            for low, high in ((0.14, 0.18), (0.1, 0.2), (0.15, 0.25), (0.2, 0.4))
        ),
    ]
    return _table(lab, cases, seeds)


def sensitivity(lab: Lab, seeds: int) -> list[list[str]]:
    """Figure 6 where a parameter that the paper does not print is another."""
    lines = []
    for variant, (name, _, _) in enumerate(fig_6.SENSITIVITY):
        runs = [fig_6.Run(loop, variant, seed) for loop in (True, False) for seed in range(1, seeds + 1)]
        seen = lab.map(fig_6.simulate, runs)
        cells = []
        for column in ("rho", "queue", "jitter"):
            on, off = (np.mean([getattr(one, column) for one in half]) for half in (seen[:seeds], seen[seeds:]))
            cells.append(f"{on:.3g} against {off:.3g}")
        lines.append([name, *cells])
    return lines


def mappings(lab: Lab, seeds: int) -> list[list[str]]:
    """Both metrics by two bits, in the ECN field, by one bit; and the ρ loop alone."""
    return _table(
        lab,
        [
            ("two bits", {}, {}),
            ("codepoints", {"marks": "codepoints"}, {"signals": "codepoints"}),
            ("one bit for both", {"marks": "one-bit"}, {"signals": "one-bit"}),
            ("one bit for ρ alone", {"eta": False}, {}),
        ],
        seeds,
    )


def hidden(seed: int) -> tuple[float, float, float, float]:
    """Mbit/s of a user with an endless file whose receiver hides marks, and of the honest ones; the same with all honest."""
    found = []
    for liars in (1, 0):
        scenario = network.scenario(network.tdqm(), seconds=SECONDS, warm_up=WARM_UP).to_dict()
        for group in scenario["flows"][:liars]:
            group["receiver"] = {**group.get("receiver", {}), "ecn_echo": "hidden"}
        goodputs = _of(scenario).run(seed=seed).flows.filter(pl.col("flow").str.starts_with("ftp"))["goodput"] / 1e6
        found += [float(goodputs[0]), float(goodputs[1:].mean())]  # type: ignore[arg-type]  # A number: the column is.
    return found[0], found[1], found[2], found[3]


def _of(data: Mapping[str, Any]) -> Scenario:
    from tailback.scenario import Scenario

    return Scenario.of(data)


class Phase(NamedTuple):
    """Ten senders in step, whose round trips differ by parts of a packet's transmission."""

    scheme: str
    part: float
    """How far round trips are apart, in packets' transmissions."""
    seed: int


def phase(run: Phase) -> float:
    """The largest goodput over the smallest, of ten flows with equal rights."""
    import tailback as tb

    service = 1e-3
    hosts, count = [], 10
    for index in range(count):
        delay = f"{round((1e-3 + index * run.part * service) * 1e9)} ns"
        hosts += [{"from": f"s{index}", "to": "r0", "rate": "1 Gbit/s", "delay": delay, "buffer": "unlimited"}]
    bottleneck = {"from": "r0", "to": "r1", "rate": "8 Mbit/s", "delay": "40 ms", "buffer": "20 packets"}
    flows = [
        tb.flows(1, run.scheme, name=f"flow {index}", from_=f"s{index}", to="r1", start="0 s") for index in range(count)
    ]
    result = tb.graph(
        bottleneck, *hosts, duration="200 s", warm_up="20 s", flows=flows, record={"flows": "none", "links": "none"}
    ).run(seed=run.seed)
    goodputs = result.flows["goodput"].to_numpy()
    return float(goodputs.max() / goodputs.min())


def phases(lab: Lab, seeds: int) -> list[list[str]]:
    """Over all phases, the spread of goodputs with windows and with tokens."""
    parts = (0.0, 0.1, 0.25, 0.5, 0.75)
    lines = []
    for scheme in ("sack", "cubic", "newark"):
        runs = [Phase(scheme, part, seed) for part in parts for seed in range(1, seeds + 1)]
        found = np.array(lab.map(phase, runs)).reshape(len(parts), seeds)
        means = found.mean(axis=1)
        lines.append([scheme, *(f"{mean:.2f}" for mean in means), f"{found.max():.2f}"])
    return lines


def fluid(lab: Lab, seeds: int) -> list[list[str]]:
    """Where the ρ loop rests by theory, and where packets come to, with endless files alone."""
    lines = []
    for users, low, max_p in (
        (15, 0.9, 0.003),
        (15, 0.9, 0.02),
        (15, 0.9, 0.1),
        (5, 0.9, 0.001),
        (30, 0.9, 0.02),
        (15, 0.5, 0.003),
        (5, 0.5, 0.0004),
        (30, 0.5, 0.012),
    ):
        marks = tdqm.Marking(low, 1.0, max_p, 0.25)
        where = tdqm.Network(network.RATE / 8000, network.BUFFER, network.ROUND_TRIP + network.SERVICE, users)
        rest, left = tdqm.rest(where, marks), tdqm.margins(where, marks)
        seen = lab.map(alone, [(users, low, max_p, seed) for seed in range(1, seeds + 1)])
        carried, swing = (mean_interval([one[index] for one in seen]) for index in (0, 1))
        lines.append(
            [
                f"{users} users, from {low}, max_p {max_p}",
                f"{rest.utilization:.3f}",
                f"{tdqm_chance.rest(where, marks).utilization:.3f}",
                f"{left.phase:.0f}°",
                f"{left.gain:.2f}",
                str(carried),
                str(swing),
            ]
        )
    return lines


def alone(case: tuple[int, float, float, int]) -> tuple[float, float]:
    """Utilization, and the standard deviation of the router's average of it."""
    users, low, max_p, seed = case
    scenario = network.scenario(
        network.tdqm(rho={"min": low, "max_p": max_p, "weight": 0.25}, eta=False),
        users=(users, 0),
        seconds=SECONDS,
        warm_up=WARM_UP,
    )
    result = scenario.run(seed=seed)
    link = result.links.filter(pl.col("link") == network.LINK).row(0, named=True)
    rho = result.series(link=network.LINK, after_warm_up=True)["rho"]
    return link["utilization"], float(rho.std())  # type: ignore[arg-type]  # A number: the column is.


def told(lab: Lab, seeds: int) -> Iterable[tuple[str, list[str], list[list[str]]]]:
    """Every table: its mark on the page, its head, its lines."""
    metrics = ["", "utilization", "η", "queue, packets", "jitter, ms", "loss"]
    yield "decoupling", metrics, decoupling(lab, seeds)
    yield "mappings", metrics, mappings(lab, seeds)
    head = ["with the η loop against without", "ρ", "queue, packets", "jitter, ms"]
    yield "sensitivity", head, sensitivity(lab, seeds)
    lies = np.array(lab.map(hidden, range(1, seeds + 1)))
    liar, beside, honest, all_honest = (mean_interval(column) for column in lies.T)
    yield (
        "hidden",
        ["Mbit/s of a user with an endless file", "the first user", "the other fourteen"],
        [
            ["the first one's receiver hides marks", str(liar), str(beside)],
            ["all honest", str(honest), str(all_honest)],
        ],
    )
    head = ["largest goodput over smallest", *(f"apart by {part}" for part in (0, 0.1, 0.25, 0.5, 0.75)), "worst run"]
    yield "phases", head, phases(lab, seeds)
    head = [
        "",
        "rests at, predicted",
        "with chance",
        "phase margin",
        "gain margin",
        "utilization",
        "deviation of the average",
    ]
    yield "fluid", head, fluid(lab, seeds)
