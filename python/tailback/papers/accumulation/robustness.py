"""Section IV-B.1: lost control packets and lost data do not stall Monaco. The paper's mechanism is judged; that with what this
project adds to the repair of losses stands beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from tailback.analysis import mean_interval
from tailback.papers.accumulation import network
from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.analysis.confidence import Interval
    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

RATE = 20e6
FLOWS = 4
LOSSES = (0.01, 0.05)
KINDS = ("control", "data", "both")
WARM_UP = 10.0
SECONDS = {"quick": 30.0, "full": 120.0}
SEEDS = {"quick": 2, "full": 20}
BIN = 0.01
"""Seconds: a pause is known to two of these."""
LINK = "r0->r1"


class Run(NamedTuple):
    """One simulation."""

    kind: str
    loss: float
    seconds: float
    seed: int = 1
    ours: bool = False
    """Whether with this project's repair by byte counts and its early pairs of control packets."""

    @property
    def name(self) -> str:
        """How it is called in results."""
        return f"{self.kind} {100 * self.loss:g} %"


class Seen(NamedTuple):
    """What is kept of it."""

    utilization: float
    stalls: int
    """Times that a flow delivered nothing for more than a second."""
    longest: float
    """Seconds: the longest such time, whole bins."""
    short: int
    """Times of more than half a second."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *network.COMMON,
        Parameter("bottleneck", "20 Mbit/s, 15 ms, unlimited buffer", "inferred", "not given"),
        Parameter("flows", f"{FLOWS}, access 100 Mbit/s, 1 ms", "inferred", "not given"),
        Parameter(
            "loss",
            "independent, 1 % and 5 % in each direction: of control packets and reports, of data, of both",
            "inferred",
            "§IV-B.1 names both kinds, and no rates; those are the ledger's",
        ),
        Parameter(
            "repair",
            "duplicate and selective acknowledgements, and a timer as TCP's, for data; the timer alone for control packets",
            "inferred",
            "§IV-B.1 names 'a timer similar to that of TCP' and byte counts that halve the window. The transport's "
            "`counted_repair` and the scheme's `early_pairs`, both ours, are off; the runs beside have them on",
        ),
        Parameter(
            "a pause",
            f"no data delivered in bins of {1000 * BIN:g} ms in a row",
            "inferred",
            "shorter bins do not change the count",
        ),
        Parameter(
            "measured",
            f"{SECONDS[fidelity]:g} s from {WARM_UP:g} s on, with each of {SEEDS[fidelity]} seeds",
            "inferred",
            "at rest; a stall is rare, and one run says little about it",
        ),
    )


def measure(lab: Lab) -> Outcome:
    """Runs every kind and rate of loss with several seeds, by the paper's mechanism and by ours."""
    seconds, seeds = SECONDS[lab.fidelity], SEEDS[lab.fidelity]
    kinds = [("none", 0.0), *((kind, loss) for kind in KINDS for loss in LOSSES)]
    runs = [
        Run(kind, loss, seconds, seed, ours)
        for ours in (False, True)
        for kind, loss in kinds
        for seed in range(1, seeds + 1)
    ]
    found = dict(zip(runs, lab.map(simulate, runs), strict=True))
    minutes = len(kinds) * seeds * FLOWS * seconds / 60
    paper, ours = (_summed({run: each for run, each in found.items() if run.ours == which}) for which in (False, True))
    data = pl.concat([_frame("the paper's", paper, kinds), _frame("with ours", ours, kinds)])
    stalls = sum(each.stalls for each in paper.values())
    return Outcome(
        measured={
            "utilization": {name: each.used.mean for name, each in paper.items()},
            "stalls_over_1s": {name: each.stalls for name, each in paper.items()},
            "stalls_over_half_a_second": {name: each.short for name, each in paper.items()},
            "stalls_over_1s_ours": {name: each.stalls for name, each in ours.items()},
            "stalls_over_half_a_second_ours": {name: each.short for name, each in ours.items()},
        },
        checks=_checks(paper, minutes),
        data=data,
        units={"loss": "fraction", "utilization": "fraction", "half_width": "fraction", "longest_pause": "s"},
        why=_why(paper, ours, minutes) if stalls else "",
        scenario=scenario(runs[len(runs) // 2 - 1]).to_toml(),
        notes=("Every lost packet of data halves a window (§IV-B.2), as of TCP Reno; no claim is made for that case.",),
        changed=ChangedTest(
            _checks(ours, minutes),
            "With this project's addition, which the paper does not have: byte counts also tell what to retransmit "
            "(`counted_repair` of the transport), and a lost pair of control packets is given up as soon as later data is "
            "acknowledged (`early_pairs` of the scheme). Both are on by default.",
        ),
    )


class Summed(NamedTuple):
    """All seeds of one kind and rate of loss."""

    used: Interval
    stalls: int
    short: int
    longest: float


def _summed(found: Mapping[Run, Seen]) -> dict[str, Summed]:
    by_name: dict[str, list[Seen]] = {}
    for run, seen in found.items():
        by_name.setdefault(run.name, []).append(seen)
    return {
        name: Summed(
            mean_interval([each.utilization for each in seen]),
            sum(each.stalls for each in seen),
            sum(each.short for each in seen),
            max(each.longest for each in seen),
        )
        for name, seen in by_name.items()
    }


def _checks(by_name: Mapping[str, Summed], minutes: float) -> tuple[Check, ...]:
    stalls = sum(each.stalls for each in by_name.values())
    worst = max(by_name, key=lambda name: by_name[name].longest)
    control = [by_name[f"control {100 * loss:g} %"].used.mean for loss in LOSSES]
    return (
        Check(
            "nothing stalls for more than a second",
            f"{stalls} stalls in {minutes:.0f} minutes of flows; the longest pause is {by_name[worst].longest:.2f} s ({worst})",
            "no stall over one second in any run",
            not stalls,
        ),
        Check(
            "lost control packets do not cost throughput",
            "utilization " + ", ".join(f"{value:.3f}" for value in control),
            "at least 0.95 with loss of control packets only, mean over runs",
            min(control) >= 0.95,
        ),
    )


def _frame(mechanism: str, by_name: Mapping[str, Summed], kinds: Sequence[tuple[str, float]]) -> pl.DataFrame:
    named = [(kind, loss, by_name[Run(kind, loss, 0.0).name]) for kind, loss in kinds]
    return pl.DataFrame(
        [
            {
                "mechanism": mechanism,
                "kind": kind,
                "loss": loss,
                "utilization": each.used.mean,
                "half_width": each.used.half_width,
                "stalls_over_1s": each.stalls,
                "longest_pause": each.longest,
            }
            for kind, loss, each in named
        ]
    )


def _why(paper: Mapping[str, Summed], ours: Mapping[str, Summed], minutes: float) -> str:
    where = ", ".join(f"{each.stalls} with {name}" for name, each in paper.items() if each.stalls)
    return (
        f"In {minutes:.0f} minutes of flows, pauses over a second: {where}. A window of a packet or two gives no three "
        "duplicate acknowledgements, so its loss waits for the timer; where the retransmission is lost as well the timer backs "
        "off (RFC 6298 §5.5), 0.2 + 0.4 + 0.8 s. The paper has no remedy: its byte counts halve the window but repair "
        f"nothing. With our repair by counts there are {sum(each.stalls for each in ours.values())}, and over half a "
        "second "
        f"{sum(each.short for each in ours.values())} in place of {sum(each.short for each in paper.values())}."
    )


def simulate(run: Run) -> Seen:
    """One run."""
    result = scenario(run).run(seed=run.seed)
    pauses: list[int] = []
    for flow in range(FLOWS):
        rates = network.between(result.series(flow=f"flow-{flow}"), 1.0, WARM_UP + run.seconds)["goodput"]
        pauses += [len(list(bins)) for idle, bins in groupby(rate == 0.0 for rate in rates) if idle]
    used = network.utilization(result, LINK, WARM_UP, WARM_UP + run.seconds)
    return Seen(
        used,
        sum(pause * BIN > 1.0 for pause in pauses),
        max(pauses, default=0) * BIN,
        sum(pause * BIN > 0.5 for pause in pauses),
    )


def scenario(run: Run) -> Scenario:
    """A dumbbell whose bottleneck loses packets of one class, both ways."""

    def loss(kind: str) -> dict[str, object]:
        if run.kind in {kind, "both"}:
            return {"loss": {"name": "selective", "probability": run.loss, "class": kind}}
        return {}

    # Data and control packets are lost on different links, each with a loss model of its own.
    links = [
        network.link("r0", "r1", RATE, 10e-3, **loss("data"), reverse={}),
        network.link("r1", "r2", 1e9, 5e-3, **loss("control"), reverse=loss("control")),
    ]
    when: dict[str, Any] = {"start": {"from": "0 s", "to": "500 ms"}}
    scheme: dict[str, Any] = {"name": "monaco", "early_pairs": run.ours}
    when["transport"] = {**network.TRANSPORT, "counted_repair": run.ours}
    return network.scenario(
        f"Monaco with loss: {run.name}{', with repair by counts' if run.ours else ''}",
        links,
        [network.Ends(f"flow-{flow}", "r0", "r2", scheme, fields=when) for flow in range(FLOWS)],
        access=100e6,
        seconds=WARM_UP + run.seconds,
        record={"links": [LINK], "bin": f"{1000 * BIN:g} ms"},
    )


def draw(outcome: Outcome) -> Figure:
    """Utilization and longest pause by kind and rate of loss."""
    from tailback.plot.style import COLOURS, FAINT, figure, style

    with style():
        made, (top, bottom) = figure(2, 1, height=4.8, sharex=True)
        for index, mechanism in enumerate(("the paper's", "with ours")):
            data = outcome.data.filter(pl.col("mechanism") == mechanism)
            places = [place + 0.34 * (index - 0.5) for place in range(data.height)]
            colour = COLOURS[index]
            top.bar(
                places,
                data["utilization"],
                yerr=data["half_width"],
                color=colour,
                width=0.32,
                capsize=2,
                label=mechanism,
            )
            bottom.bar(places, data["longest_pause"], color=colour, width=0.32)
        top.axhline(0.95, color=FAINT, linewidth=0.8)
        bottom.axhline(1.0, color=FAINT, linewidth=0.8)
        names = [f"{kind}\n{100 * loss:g} %" for kind, loss in zip(data["kind"], data["loss"], strict=True)]
        bottom.set_xticks(range(len(names)), names)
        top.set_ylabel("utilization")
        bottom.set_ylabel("longest pause (s)")
        bottom.set_xlabel("packets lost")
        top.set_ylim(0, 1.05)
        top.legend(loc="lower left")
    return made
