"""Figures 11 to 14: one source, its setpoint fixed at 20 packets. Queue, estimate, packets outstanding and utilization.
The base scenario is in ``scenes.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tailback.analysis import columns
from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.packet_pair.scenes import (
    BOTTLENECK,
    PACKET,
    TU,
    Source,
    base,
    base_parameters,
    fixed,
    packet_pair,
    watched,
)  # fmt: skip
from tailback.papers.packet_pair.traces import Steps, logged, numbers, own_queue, published

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

SETPOINT = 20
END = 2000.0
"""TU."""
SETTLED, MEASURED = 1200.0, 1900.0
"""TU: the steady state is measured between these."""
ROUND_TRIP = 100.0
WINDOW = 25
"""TU over which utilization is measured (Fig. 13)."""


class Traced(NamedTuple):
    """What is kept of the run, at every TU and in bins of 25 TU."""

    time: list[float]
    queue: list[float]
    estimate: list[float]
    outstanding: list[float]
    sent: list[float]
    acked: list[float]
    utilization_time: list[float]
    utilization: list[float]
    steady_min: float
    steady_max: float
    steady_mean: float
    drops: int


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return (
        *base_parameters(),
        Parameter("setpoint", f"{SETPOINT} packets, not probed", "stated", "§9.1, Fig. 11"),
        Parameter("duration", f"{END:g} TU", "inferred", "steady long before"),
    )


def scenario() -> Scenario:
    """The base scenario with one source without end."""
    scheme = packet_pair(setpoint=fixed(SETPOINT))
    record = watched(packets=True, links=logged())
    return base([Source(None, 0)], END, scheme=scheme, record=record, name="one source, setpoint fixed")


def simulate(_: int) -> Traced:
    """The run."""
    result = scenario().run()
    grid = np.arange(1.0, MEASURED, 1.0)
    queue = own_queue(result)
    steady = queue.between(SETTLED, MEASURED).values
    flow = result.series(flow="1")
    link = result.series(link=BOTTLENECK)
    served = link["transmitted_packets"].to_numpy()
    bins = len(served) // WINDOW
    sent, acked = numbers(result)
    return Traced(
        time=grid.tolist(),
        sent=sent.at(grid).tolist(),
        acked=acked.at(grid).tolist(),
        queue=queue.at(grid).tolist(),
        estimate=published(result, "backlog").at(grid).tolist(),
        outstanding=(np.interp(grid, flow["time"].to_numpy() / TU, flow["in_flight"].to_numpy()) / PACKET).tolist(),
        utilization_time=[WINDOW * (index + 1.0) for index in range(bins)],
        utilization=(served[: bins * WINDOW].reshape(bins, WINDOW).sum(axis=1) / WINDOW).tolist(),
        steady_min=float(steady.min()),
        steady_max=float(steady.max()),
        steady_mean=queue.mean(SETTLED, MEASURED),
        drops=int(result.links["dropped_packets"].sum()),
    )


def measure(lab: Lab) -> Outcome:
    """Runs it once: nothing in it is random."""
    run = lab.map(simulate, [0])[0]
    data = _over_time(run)
    steady = data.filter(pl.col("time") >= SETTLED)
    error = (steady["estimate"] - steady["queue"]).to_numpy()
    rmse = float(np.sqrt(np.mean(error**2)))
    outstanding = columns.mean(steady["outstanding"])
    rtts, afterwards = _full(run)
    amplitude = run.steady_max - run.steady_min
    return Outcome(
        measured={
            "queue_mean": round(run.steady_mean, 3),
            "queue_amplitude": amplitude,
            "nbhat_rmse": round(rmse, 3),
            "outstanding_mean": round(outstanding, 2),
            "rtts_to_99pct_utilization": rtts,
        },
        checks=(
            _at_setpoint(run.steady_mean),
            Check("it swings with the pairs", f"{amplitude:.0f} packets", "2 ± 1", abs(amplitude - 2) <= 1),
            Check("packets outstanding", f"{outstanding:.1f}", "120 ± 2", abs(outstanding - 120) <= 2),
            Check("the estimate follows the queue", f"{rmse:.2f} packets rms", "within 2", rmse <= 2),
            Check("99 % utilization", f"after {rtts:.2f} round trips", "within 6", rtts <= 6),
            Check("and all of it from there on", f"least {100 * afterwards:.1f} %", "100 %", afterwards >= 1.0),
            Check("nothing is lost", f"{run.drops} packets", "0", run.drops == 0),
        ),
        data=data,
        units=UNITS,
        why="" if amplitude == 2 else _why(amplitude),
        scenario=scenario().to_toml(),
        notes=("The queue counts the packet in service; utilization is that of bins of 25 TU, as in Fig. 13.",),
    )


UNITS = {
    "time": "TU",
    "queue": "packets",
    "estimate": "packets",
    "outstanding": "packets",
    "utilization": "fraction",
    "sent": "packets",
    "acked": "packets",
}


def _over_time(run: Traced) -> pl.DataFrame:
    """The run at every TU; a bin's utilization from the bin's beginning on."""
    utilization = Steps(np.array(run.utilization_time) - WINDOW, np.array(run.utilization))
    return pl.DataFrame(
        {
            "time": run.time,
            "queue": run.queue,
            "estimate": run.estimate,
            "outstanding": run.outstanding,
            "utilization": utilization.at(np.array(run.time)),
            "sent": run.sent,
            "acked": run.acked,
        }
    )


def _full(run: Traced) -> tuple[float, float]:
    """After how many round trips utilization is 99 %, and the least of it from there on."""
    use = np.array(run.utilization)
    reached = int(np.argmax(use >= 0.99))
    # A bin's utilization is known at its end, and holds for the time since its beginning.
    begun = float(run.utilization_time[reached] - WINDOW)
    return begun / ROUND_TRIP, float(use[reached:].min())


def _at_setpoint(mean: float) -> Check:
    return Check("the queue stands at the setpoint", f"{mean:.2f} packets", "20 ± 2", abs(mean - 20) <= 2)


def _why(amplitude: float) -> str:
    return (
        f"The queue swings by {amplitude:.0f} packet and not by the published 2. A pair's packets arrive a tenth of a time "
        "unit apart, and acknowledgements lock this arrival to the server: one packet is always served between the two, so one "
        "comes where one has just gone. Counted just before and after every event, without the departure between, a pair adds 2."
    )


def draw(outcome: Outcome) -> Figure:
    """Fig. 11, Fig. 12's closer look at the steady state, Fig. 13's utilization and Fig. 14's numbers."""
    from tailback.plot.style import COLOURS, DASHES, figure, style

    data = outcome.data
    steady = data.filter(pl.col("time").is_between(1500.0, 1520.0))
    queue, estimate = ("queue", "queue"), ("estimate", "estimate $\\hat{n}_b$")
    panels = (
        ("packets", data, (queue, estimate, ("outstanding", "outstanding")), "default"),
        ("packets", steady, (queue, estimate), "steps-post"),
        ("utilization of the bottleneck", data, (("utilization", "in bins of 25 TU"),), "steps-post"),
        ("number (packets)", data, (("sent", "sent"), ("acked", "acknowledged")), "default"),
    )
    with style():
        made, axes = figure(rows=2, columns=2, width=7.6, height=5.2)
        for axis, (unit, part, lines, steps) in zip(axes, panels, strict=True):
            for index, (column, label) in enumerate(lines):
                axis.plot(
                    part["time"] / ROUND_TRIP,
                    part[column],
                    color=COLOURS[index],
                    linestyle=DASHES[index],
                    label=label,
                    drawstyle=steps,
                )
            axis.set_ylabel(unit)
        for axis in axes[:2]:
            axis.axhline(SETPOINT, linewidth=0.8, color="0.5", label="setpoint")
        axes[1].set_ylim(SETPOINT - 3, SETPOINT + 5)
        axes[2].set_ylim(0, 1.05)
        axes[0].legend(loc="center right")
        axes[1].legend(loc="upper right", ncols=2)
        axes[2].legend(loc="lower right")
        axes[3].legend(loc="upper left")
        for axis in axes[2:]:
            axis.set_xlabel("time (round trips of 100 TU)")
    return made
