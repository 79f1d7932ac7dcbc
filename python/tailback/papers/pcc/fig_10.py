"""Figure 10: four probabilistic flows that could fill the link alone, beside four of TCP."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tailback.analysis import Interval, mean_interval
from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.pcc import choices, scenes
from tailback.papers.pcc.scenes import Run, Seen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

FLOWS = 4
"""Of each kind."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *scenes.COMMON,
        Parameter("flows", "4 probabilistic of 500 kbit/s, 4 TCP, 2 Mbit/s", "stated", "§5.6"),
        Parameter("T", "60 s", "inferred", "not given"),
        Parameter(
            "duration", f"1000 s, the first 100 s not counted; {_seeds(fidelity)} seeds", "inferred", "not given"
        ),
    )


def run(seed: int, **fields: object) -> Run:
    """One run."""
    return Run(pcc=FLOWS, tcp=FLOWS, rate=500, capacity=2000, seed=seed, series=True)._replace(**fields)  # type: ignore[arg-type]  # Fields of Run, as callers name them.


@choices.judged_too
def measure(lab: Lab) -> Outcome:
    """Pools the seconds of all seeds by how many flows are on."""
    runs = [run(seed) for seed in range(1, _seeds(lab.fidelity) + 1)]
    seen = lab.once(scenes.simulate, runs)
    pcc = mean_interval([4 * scenes.mean(one.pcc) for one in seen])
    tcp = mean_interval([4 * scenes.mean(one.tcp) for one in seen])
    share, loss = by_flows_on(seen)
    apart = abs(pcc.mean - tcp.mean) / min(pcc.mean, tcp.mean)
    together, mixed = (mean_interval(shares) for shares in (_two_on(seen), _two_on(strangers(seen))))
    first = seen[0]
    return Outcome(
        measured={
            "pcc_total_kbps": pcc.mean,
            "tcp_total_kbps": tcp.mean,
            "fraction_time": {str(count): value for count, value in share.items()},
            "loss": {str(count): value for count, value in loss.items()},
        },
        checks=(
            Check("totals", f"PCC {pcc}, TCP {tcp} kbit/s", "within 20 % of each other", apart <= 0.2),
            Check("two flows are on", f"{100 * share[2]:.0f} % of the time", "35 to 65 %", 0.35 <= share[2] <= 0.65),
            Check(
                "loss rises with every further flow on",
                ", ".join(f"{count}: {100 * value:.1f} %" for count, value in loss.items()),
                f"at every step from 0 to {FLOWS}",
                rises(loss),
            ),
        ),
        data=pl.DataFrame(
            {
                "time": first.time,
                "pcc": [4 * value for value in first.pcc_series],
                "tcp": [4 * value for value in first.tcp_series],
                "loss": first.drops,
            }
        ),
        units={"time": "s", "pcc": "kbit/s", "tcp": "kbit/s", "loss": "fraction"},
        why=(
            f"Two flows are on for {100 * share[2]:.0f} % of the time, one for {100 * share[1]:.0f} %, three for "
            f"{100 * share[3]:.0f} %, none for {100 * share[0]:.0f} %. Two are on so often because each changes what the "
            f"others measure: in single runs it is {_percent(together)}, and for four flows that are each taken from "
            "another run, "
            f"so that none affects the others, {_percent(mixed)} (95 %, over runs). Independent flows that are each on for "
            "half of the time would have 38 %."
        ),
        scenario=scenes.scenario(runs[0]).to_toml(),
    )


def by_flows_on(seen: Sequence[Seen]) -> tuple[dict[int, float], dict[int, float]]:
    """The share of the time and the loss by how many flows are on, where these were for half a minute."""
    on = np.concatenate([one.on_flows[scenes.WARM_UP :] for one in seen])
    drops = np.concatenate([one.drops[scenes.WARM_UP :] for one in seen])
    share = {count: float((on == count).mean()) for count in range(FLOWS + 1)}
    loss = {count: float(drops[on == count].mean()) for count in range(FLOWS + 1) if (on == count).sum() >= 30}
    return share, loss


def rises(loss: Mapping[int, float]) -> bool | None:
    """Whether loss rises with every further flow on; not known where some number of flows was hardly ever on."""
    steps = itertools.pairwise(sorted(loss))
    if not all(loss[a] < loss[b] for a, b in steps):
        return False
    return True if len(loss) == FLOWS + 1 else None


def strangers(seen: Sequence[Seen]) -> list[Seen]:
    """As many made-up runs as there are runs, each with flows from different ones, while there are enough."""
    count = len(seen)
    mixed = [[seen[(first + flow) % count].on_each[flow] for flow in range(FLOWS)] for first in range(count)]
    return [one._replace(on_flows=np.sum(flows, axis=0).tolist()) for one, flows in zip(seen, mixed, strict=True)]


def _two_on(seen: Sequence[Seen]) -> list[float]:
    return [float(np.mean(np.array(one.on_flows[scenes.WARM_UP :]) == 2)) for one in seen]


def _percent(interval: Interval) -> str:
    return f"{100 * interval.mean:.0f} % ± {100 * interval.half_width:.0f}"


def draw(outcome: Outcome) -> Figure:
    """Totals and the loss rate against time."""
    from tailback.plot.style import COLOURS, figure, style

    data = outcome.data
    with style():
        made, (top, bottom) = figure(2, 1, height=4.2, sharex=True, height_ratios=[2, 1])
        top.plot(data["time"], data["pcc"], color=COLOURS[0], linewidth=1.2, label="PCC, all four")
        top.plot(data["time"], data["tcp"], color=COLOURS[1], linewidth=0.8, label="TCP, all four")
        top.set_ylim(0, 2200)
        top.set_ylabel("throughput (kbit/s)")
        top.legend()
        bottom.plot(data["time"], 100 * data["loss"], color=COLOURS[2], linewidth=0.8)
        bottom.set_ylim(bottom=0)
        bottom.set_ylabel("loss (%)")
        bottom.set_xlabel("time (s)")
    return made


def _seeds(fidelity: Fidelity) -> int:
    return 6 if fidelity == "full" else 3
