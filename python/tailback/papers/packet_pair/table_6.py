"""Table 6: goodput of ten on-off sources whose nominal load grows beyond the bottleneck, open and closed. The base scenario
is in ``scenes.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from tailback import units
from tailback.analysis import columns
from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter
from tailback.papers.packet_pair.scenes import (
    ACCESS,
    BUFFER,
    ONE_WAY,
    PACKET,
    PAYLOAD,
    RATE,
    UPSTREAM,
    base_parameters,
    packet_pair,
    transport,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

LOADS = (0.5, 0.75, 0.9, 1.0, 1.5, 2.0, 5.0)
SYSTEMS = ("open", "closed")
PUBLISHED = {
    "open": (1.0, 1.0, 0.99, 0.97, 0.98, 0.98, 0.98),
    "closed": (1.0, 1.0, 0.99, 0.98, 0.96, 0.96, 0.99),
}
SOURCES, PACKETS = 10, 2000
ON, OFF = 500, 500
"""Mean TU of bursts and pauses."""
LEAST, PERFECT = 0.95, 0.75
"""The ledger's: goodput at every load, and the load up to which it is 1.0."""


class Run(NamedTuple):
    """One load of one system."""

    system: str
    load: float
    seed: int


class Counted(NamedTuple):
    """What is kept of it."""

    sent: int
    again: int
    lost: int
    finished: int
    timeouts: int


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *base_parameters(),
        Parameter("sources", f"{SOURCES}, on and off for exponential times, {PACKETS} packets each", "stated", "§9.3"),
        Parameter(
            "nominal load", "the sum of the sources' mean rates, 0.5 to 5 times the bottleneck", "stated", "§9.3"
        ),
        Parameter("mean on and off times", f"{ON} and {OFF} TU", "inferred", "not printed; five round trips each"),
        Parameter(
            "open and closed",
            "a pause begins at the burst's own end, or when the burst is acknowledged",
            "stated",
            "§9.3: when the transmission queue is empty; in the program that is when everything is acknowledged",
        ),
        Parameter("goodput", "1 - retransmissions / packets", "stated", "§9.3"),
        Parameter("seeds", str(_seeds(fidelity)), "inferred", "the paper prints one run"),
    )


def scenario(run: Run) -> Scenario:
    """Ten on-off sources."""
    import tailback as tb

    rate = run.load / SOURCES * RATE * PAYLOAD / PACKET * (ON + OFF) / ON
    source: dict[str, Any] = {
        "name": "on-off",
        "on": {"name": "exponential", "mean": f"{ON} ms"},
        "off": {"name": "exponential", "mean": f"{OFF} ms"},
        "rate": units.rate(rate),
        "chunk": f"{PAYLOAD} B",
        "closed": run.system == "closed",
        "pause_first": True,
        "total": f"{PACKETS * PAYLOAD} B",
    }
    return tb.dumbbell(
        rate=f"{RATE} bit/s",
        delay=f"{ONE_WAY - 2 * ACCESS:g} ms",
        buffer=f"{BUFFER} packets",
        duration=f"{250_000 / min(run.load, 1.0):g} ms",
        name=f"{run.system} system at load {run.load:g}",
        queue="weighted-fair-queueing",
        reverse={"rate": f"{UPSTREAM} bit/s"},
        access={"rate": f"{UPSTREAM} bit/s", "delay": f"{ACCESS} ms"},
        flows=[tb.flows(SOURCES, packet_pair(), source, name="source", transport=transport())],
        record={"flows": "none", "links": "none"},
    )


def simulate(run: Run) -> Counted:
    """One run."""
    result = scenario(run).run(seed=run.seed)
    flows = result.flows
    return Counted(
        int(flows["sent_packets"].sum()),
        int(flows["retransmitted_packets"].sum()),
        int(result.links["dropped_packets"].sum()),
        int(flows["finished"].is_not_null().sum()),
        int(flows["timeouts"].sum()),
    )


def measure(lab: Lab) -> Outcome:
    """Every load of both systems, with several seeds."""
    runs = [
        Run(system, load, seed) for system in SYSTEMS for load in LOADS for seed in range(1, _seeds(lab.fidelity) + 1)
    ]
    found = dict(zip(runs, lab.map(simulate, runs), strict=True))
    data = _table(found)
    first = columns.least(data.filter(pl.col("load") <= PERFECT)["goodput"])
    few = _few(found)
    return Outcome(
        measured={
            f"goodput_{system}": {
                f"{row['load']:g}": round(row["goodput"], 4)
                for row in data.filter(pl.col("system") == system).iter_rows(named=True)
            }
            for system in SYSTEMS
        },
        checks=(
            _everywhere(data),
            Check(f"goodput up to load {PERFECT}", f"least {first:.4f}", "1.0", first >= 1.0),
            _all_sent(data),
        ),
        data=data,
        units={"goodput": "fraction", "published": "fraction", "losses": "packets", "retransmissions": "packets"},
        why="" if first >= 1.0 else few,
        changed=ChangedTest(
            [
                Check(
                    f"goodput up to load {PERFECT}, rounded as printed", f"{first:.2f}", "1.00", round(first, 2) >= 1.0
                )
            ],
            few,
        ),
        scenario=scenario(Run("open", 1.0, 1)).to_toml(),
        notes=(f"Mean timeouts per run: at most {max(data['timeouts'].to_list()):.1f}.",),
    )


def _table(found: Mapping[Run, Counted]) -> pl.DataFrame:
    """Each load of each system, over its runs, beside the paper's goodput."""
    return pl.DataFrame(
        [
            {
                "system": system,
                "load": load,
                **_over_runs([one for run, one in found.items() if run.system == system and run.load == load], paper),
            }
            for system in SYSTEMS
            for load, paper in zip(LOADS, PUBLISHED[system], strict=True)
        ]
    )


def _over_runs(these: Sequence[Counted], paper: float) -> dict[str, float]:
    goodput = [1.0 - one.again / (one.sent - one.again) for one in these]
    return {
        "goodput": float(np.mean(goodput)),
        "least": float(np.min(goodput)),
        "published": paper,
        "retransmissions": float(np.mean([one.again for one in these])),
        "losses": float(np.mean([one.lost for one in these])),
        "timeouts": float(np.mean([one.timeouts for one in these])),
        "finished": min(one.finished for one in these),
    }


def _everywhere(data: pl.DataFrame) -> Check:
    least = data.sort("goodput").row(0, named=True)
    return Check(
        "goodput everywhere",
        f"least {least['goodput']:.3f}, {least['system']} at {least['load']:g}",
        f"at least {LEAST}",
        least["goodput"] >= LEAST,
    )


def _all_sent(data: pl.DataFrame) -> Check:
    finished = int(columns.least(data["finished"]))
    return Check(
        "every source has sent all its packets",
        f"{finished} of {SOURCES} at least",
        f"{SOURCES}",
        finished == SOURCES,
    )


def _few(found: Mapping[Run, Counted]) -> str:
    """Why goodput at the load up to which it should be perfect is not."""
    open_at = [one for run, one in found.items() if run.system == "open" and run.load == PERFECT]
    again = sum(one.again for one in open_at)
    return (
        f"The paper prints two digits of one run and no retransmissions for it. Here {sum(one.again > 0 for one in open_at)} of "
        f"{len(open_at)} open runs at load {PERFECT} retransmit something, {again} of {sum(one.sent for one in open_at)} packets "
        "in all: bursts of ten sources sometimes meet. That is 1.00 to two digits, and not 1.0."
    )


def _seeds(fidelity: Fidelity) -> int:
    return 10 if fidelity == "full" else 5


def draw(outcome: Outcome) -> Figure:
    """Goodput over load, ours and the paper's, open and closed."""
    from tailback.plot.style import COLOURS, DASHES, MARKERS, figure, style

    with style():
        made, axes = figure(columns=2, width=7.2, height=3.2)
        for axis, system in zip(axes, SYSTEMS, strict=True):
            data = outcome.data.filter(pl.col("system") == system)
            for index, (column, label) in enumerate((("goodput", "here"), ("published", "published"))):
                axis.plot(
                    data["load"],
                    data[column],
                    color=COLOURS[index],
                    linestyle=DASHES[index],
                    marker=MARKERS[index],
                    label=label,
                )
            axis.axhline(LEAST, linewidth=0.8, color="0.5")
            axis.set_ylim(0.9, 1.005)
            axis.set_xlabel("nominal load")
            axis.set_title(f"{system} system")
        axes[0].set_ylabel("goodput")
        axes[0].legend(loc="lower right")
    return made
