"""Figure 4: traffic on the way back. Vegas counts queueing there as its own and gives up the way forth; Monaco measures
the way forth alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from tailback.papers.accumulation import network
from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

SCHEMES = ("vegas", "monaco")
RATE = 45e6
FLOWS = 7
REVERSE = {"quick": (5, 15, 25, 35, 45), "full": (5, 10, 15, 20, 25, 30, 35, 40, 45)}
WARM_UP = 10.0
SECONDS = {"quick": 20.0, "full": 50.0}
FORWARD = "r0->r1"
TOGETHER, SPREADS = 0.01, (1.0, 5.0)
"""Seconds within which flows start: the reading that is judged, and others beside it."""


class Run(NamedTuple):
    """One simulation."""

    scheme: str
    reverse: int
    """Mbit/s."""
    seconds: float
    spread: float = TOGETHER
    """Seconds within which all flows start."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *network.COMMON,
        Parameter("bottleneck forth", "45 Mbit/s", "stated", "§IV-C"),
        Parameter("bottleneck back", ", ".join(map(str, REVERSE[fidelity])) + " Mbit/s", "stated", "§IV-C: 5 to 45"),
        Parameter("flows", f"{FLOWS} forth, {FLOWS} back, of the same scheme", "stated", "§IV-C"),
        Parameter("delays", "bottleneck 10 ms, access 1 ms at 100 Mbit/s", "inferred", "not given"),
        Parameter("buffers", "1000 packets", "inferred", "“enough”"),
        Parameter("Vegas", "with its slow start", "inferred", "as in its paper"),
        Parameter(
            "starts",
            "all within 10 ms",
            "inferred",
            "not given; each flow then finds empty queues and knows its propagation delay, so that nothing but the way "
            "back misleads Vegas (equation 12). Vegas's verdict rests on this: starts within 1 and 5 s are run beside it",
        ),
        Parameter("duration", f"{SECONDS[fidelity]:g} s from {WARM_UP:g} s on", "inferred", "not given"),
    )


def measure(lab: Lab) -> Outcome:
    """Runs both schemes with every reverse bandwidth."""
    reverse, seconds = REVERSE[lab.fidelity], SECONDS[lab.fidelity]
    runs = [
        Run(scheme, back, seconds, spread) for spread in (TOGETHER, *SPREADS) for scheme in SCHEMES for back in reverse
    ]
    found = dict(zip(runs, lab.map(simulate, runs), strict=True))
    by = {
        spread: {scheme: _utilization(found, scheme, spread) for scheme in SCHEMES} for spread in (TOGETHER, *SPREADS)
    }
    judged = by.pop(TOGETHER)
    vegas, monaco = _checks(judged)
    return Outcome(
        measured={
            "utilization_vegas": judged["vegas"],
            "utilization_monaco": judged["monaco"],
            "spread_vegas": {f"{spread:g} s": max(used["vegas"].values()) for spread, used in by.items()},
            "spread_monaco": {f"{spread:g} s": min(used["monaco"].values()) for spread, used in by.items()},
        },
        checks=(vegas, monaco),
        data=pl.DataFrame(
            [
                {"scheme": run.scheme, "reverse_rate": run.reverse * 1e6, "utilization": used}
                for run, used in found.items()
                if run.spread == TOGETHER
            ]
        ),
        units={"reverse_rate": "bit/s", "utilization": "fraction"},
        why="" if vegas.holds else _why(judged["vegas"]),
        scenario=scenario(Run("monaco", 5, 20.0)).to_toml(),
        changed=ChangedTest(
            [check for spread, used in by.items() for check in _spread_out(spread, used)],
            "The paper does not say when flows start. Started within 10 ms each finds empty queues and knows its propagation "
            "delay. Later starters take a standing queue for propagation, hold more packets for it, and so use more of the way "
            "forth: Vegas's figures depend on the starts, Monaco's do not.",
        ),
    )


def _utilization(found: Mapping[Run, float], scheme: str, spread: float) -> dict[int, float]:
    """A scheme's by the reverse bandwidth, with starts within so many seconds."""
    return {run.reverse: used for run, used in found.items() if (run.scheme, run.spread) == (scheme, spread)}


def _checks(by: Mapping[str, Mapping[int, float]]) -> tuple[Check, Check]:
    vegas, monaco = by["vegas"].values(), by["monaco"].values()
    return (
        Check(
            "Vegas leaves much of the way forth unused",
            f"utilization {min(vegas):.3f} to {max(vegas):.3f}",
            "at most 0.7 everywhere (published: 0.1 to 0.6)",
            max(vegas) <= 0.7,
        ),
        Check(
            "Monaco does not",
            f"utilization {min(monaco):.3f} to {max(monaco):.3f}",
            "at least 0.97 everywhere (published: around 1)",
            min(monaco) >= 0.97,
        ),
    )


def _spread_out(spread: float, used: Mapping[str, Mapping[int, float]]) -> tuple[Check, Check]:
    """The ledger's tests with starts within so many seconds."""
    vegas, monaco = used["vegas"].values(), used["monaco"].values()
    return (
        Check(
            f"Vegas, starts within {spread:g} s",
            f"utilization {min(vegas):.3f} to {max(vegas):.3f}",
            "at most 0.7 everywhere",
            max(vegas) <= 0.7,
        ),
        Check(
            f"Monaco, starts within {spread:g} s",
            f"utilization {min(monaco):.3f} to {max(monaco):.3f}",
            "at least 0.97 everywhere",
            min(monaco) >= 0.97,
        ),
    )


def _why(vegas: dict[int, float]) -> str:
    high = [reverse for reverse, used in vegas.items() if used > 0.7]
    return (
        f"With {', '.join(map(str, high))} Mbit/s back, Vegas gets more than 0.7. How much it loses depends on what the "
        "paper does not give: delays, buffers and what its flows take for the propagation delay when they start."
    )


def simulate(run: Run) -> float:
    """Utilization of the way forth."""
    return network.utilization(scenario(run).run(), FORWARD, WARM_UP, WARM_UP + run.seconds)


def scenario(run: Run) -> Scenario:
    """A dumbbell with flows in both directions."""
    start = network.SLOW_START if run.scheme == "vegas" else network.TRANSPORT
    together = {"start": {"from": "0 s", "to": f"{1000 * run.spread:g} ms"}, "transport": start}
    ends = [
        network.Ends(f"{way}-{index}", first, last, run.scheme, fields=together)
        for index in range(FLOWS)
        for way, first, last in (("forth", "r0", "r1"), ("back", "r1", "r0"))
    ]
    return network.scenario(
        f"{run.scheme} with {run.reverse} Mbit/s on the way back",
        [network.link("r0", "r1", RATE, 10e-3, buffer="1000 packets", reverse={"rate": f"{run.reverse} Mbit/s"})],
        ends,
        access=100e6,
        seconds=WARM_UP + run.seconds,
        record={"flows": "none", "links": [FORWARD], "bin": "1 s"},
    )


def draw(outcome: Outcome) -> Figure:
    """Utilization against the reverse bandwidth."""
    from tailback.plot.style import MARKERS, figure, line, style

    with style():
        made, (axis,) = figure(height=3.2)
        for index, scheme in enumerate(SCHEMES):
            rows = outcome.data.filter(pl.col("scheme") == scheme)
            axis.plot(
                rows["reverse_rate"] / 1e6, rows["utilization"], marker=MARKERS[index], label=scheme, **line(index)
            )
        axis.set_xlabel("reverse bandwidth [Mbit/s]")
        axis.set_ylabel("utilization of the way forth")
        axis.set_ylim(0, 1.05)
        axis.legend(loc="lower right")
    return made
