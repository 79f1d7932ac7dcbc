"""Figures 15 and 16: four sources probe their setpoints over a buffer of 100 packets. The base scenario is in
``scenes.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.packet_pair.scenes import BOTTLENECK, Source, base, base_parameters, packet_pair, watched
from tailback.papers.packet_pair.traces import jain, published

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

SOURCES = 4
END = 7000.0
"""TU."""
GENTLER = 1.0
"""Packets: §9.1's other increase of the setpoint, with which each source is said to lose one packet."""
SETTLED = 1500.0
"""TU: setpoints have reached their share of the buffer."""


class Counted(NamedTuple):
    """What is kept of the run."""

    setpoints: list[list[float]]
    """Per source, at every TU."""
    losses: list[int]
    retransmissions: list[int]
    goodput: list[float]


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return (
        *base_parameters(),
        Parameter("sources", f"{SOURCES}, from 0, without end", "stated", "§9.1"),
        Parameter("setpoint probing", "+2 every 2 round trips, × 0.75 at a loss", "stated", "§9.1"),
        Parameter(
            "duration",
            f"{END:g} TU",
            "inferred",
            "not printed: the paper's 3 to 6 losses per source are those of 5000 to 8000 TU, and its one loss with +1 "
            "is that of 6400 to 9000 TU",
        ),
    )


def scenario(increase: float | None = None) -> Scenario:
    """The base scenario with four sources, with Table 2's increase of the setpoint or another."""
    record = watched(packets=True)
    probed = {} if increase is None else {"setpoint": {"name": "probed", "increase": increase}}
    return base(
        [Source(None, 0)] * SOURCES,
        END,
        scheme=packet_pair(**probed),
        record=record,
        name="four sources probe their setpoints",
    )


def simulate(increase: float | None) -> Counted:
    """One run."""
    result = scenario(increase).run()
    grid = np.arange(1.0, END, 1.0)
    names = [f"{index + 1}" for index in range(SOURCES)]
    drops = result.packets.filter((pl.col("event") == "dropped") & (pl.col("link") == BOTTLENECK))
    late = result.flow_series.filter(pl.col("time") > SETTLED * 1e-3)
    flows = result.flows
    return Counted(
        setpoints=[published(result, "setpoint", index + 1).at(grid).tolist() for index in range(SOURCES)],
        losses=[drops.filter(pl.col("flow") == name).height for name in names],
        retransmissions=[int(flows.filter(pl.col("flow") == name)["retransmitted_packets"][0]) for name in names],
        goodput=[float(late.filter(pl.col("flow") == name)["received_bytes"].sum()) for name in names],
    )


def measure(lab: Lab) -> Outcome:
    """Runs it once, and once with the gentler increase: sources differ by the order of their packets at the bottleneck only."""
    run, gentle = lab.map(simulate, [None, GENTLER])
    time = np.arange(1.0, END, 1.0)
    settled = time >= SETTLED
    setpoints = [np.array(values) for values in run.setpoints]
    means = [float(values[settled].mean()) for values in setpoints]
    least = min(float(values[settled].min()) for values in setpoints)
    most = max(float(values[settled].max()) for values in setpoints)
    overall = float(np.mean(means))
    fairness = jain(np.array(run.goodput))
    frame = {"time": time} | {f"setpoint_{index + 1}": values for index, values in enumerate(setpoints)}
    return Outcome(
        measured={
            "setpoint_mean": [round(mean, 2) for mean in means],
            "losses": run.losses,
            "retransmissions": run.retransmissions,
            "rate_jain": round(fairness, 5),
        },
        checks=(
            Check(
                "setpoints oscillate around the fair share of 25",
                f"from {least:.1f} to {most:.1f}, means {', '.join(f'{mean:.1f}' for mean in means)}",
                "means within 15 to 30, above and below 25 in turn",
                all(15 <= mean <= 30 for mean in means) and least < 25 < most,
            ),
            Check(
                "few losses", f"{run.losses} packets per source", "1 to 8", all(1 <= lost <= 8 for lost in run.losses)
            ),
            Check(
                "each loss is repaired by a single retransmission",
                f"{run.retransmissions} per source",
                "as many as losses",
                run.retransmissions == run.losses,
            ),
            Check("rates are fair", f"Jain {fairness:.4f}", "at least 0.99", fairness >= 0.99),
        ),
        data=pl.DataFrame(frame),
        units={"time": "TU"} | {f"setpoint_{index + 1}": "packets" for index in range(SOURCES)},
        why="",
        scenario=scenario().to_toml(),
        notes=(
            f"The mean of all setpoints from {SETTLED:g} TU on is {overall:.1f} packets: additive increase up to the "
            "share and a fall to three quarters of it keep the mean below 25.",
            f"With +{GENTLER:g} every 2 round trips the sources lose {gentle.losses} packets by then; the paper says one each. The "
            "climb to 25 alone takes 6400 TU at that pace, since the round trip grows with the queue, so the paper's run must "
            "have been longer than that.",
        ),
    )


def draw(outcome: Outcome) -> Figure:
    """Fig. 15: the setpoints over time."""
    from tailback.plot.style import COLOURS, DASHES, figure, style

    data = outcome.data
    with style():
        made, (axis,) = figure(height=3.4)
        for index in range(SOURCES):
            label = f"source {index + 1}"
            axis.plot(
                data["time"] / 100,
                data[f"setpoint_{index + 1}"],
                color=COLOURS[index],
                linestyle=DASHES[index],
                label=label,
            )
        axis.axhline(25, linewidth=0.8, color="0.5")
        axis.set_xlabel("time (round trips of 100 TU)")
        axis.set_ylabel("setpoint (packets)")
        axis.set_ylim(0, None)
        axis.legend(loc="lower right", ncols=2)
    return made
