"""Table 9 and Figure 24, benchmark 3: short files without cross traffic, and the slowdown for every length. Networks are in
``benchmarks.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.packet_pair.benchmarks import (
    PER_MS,
    completion,
    flooded,
    optimal,
    optimum_check,
    shared,
    slowdown,
    transfer,
)  # fmt: skip
from tailback.papers.packet_pair.benchmarks import (
    parameters as common,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

PRINTED = {4: (44.4, 84.0), 20: (46.0, 92.0), 200: (64.0, 146.0), 2000: (244.0, 330.0)}
"""Packets: the paper's optimum and completion time in milliseconds."""
TOLERANCE = 0.10
"""The ledger's."""
LONGEST = max(PRINTED)
"""Packets of the transfer whose trace gives Fig. 24."""


class Transfer(NamedTuple):
    """One file."""

    packets: int
    completion: float
    """Milliseconds."""
    flooded: float
    """The same with everything offered at once."""
    acknowledged: list[float]
    """Milliseconds at which each number of packets was acknowledged."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return common(
        Parameter("files", "4, 20, 200 and 2000 packets", "stated", "Table 9"),
        Parameter("Fig. 24", "every length, read off the acknowledgements of the longest transfer", "stated", "§9.4.3"),
    )


def scenario(packets: int) -> Scenario:
    """One transfer with the network to itself."""
    record = {"flows": "none", "links": "none", "packets": True}
    return shared([transfer("1", packets)], duration=2000.0, name=f"a file of {packets} packets", record=record)


def simulate(packets: int) -> Transfer:
    """One run."""
    result = scenario(packets).run()
    # An acknowledgement's number is how many packets it acknowledges.
    acks = result.packets.filter((pl.col("event") == "delivered") & (pl.col("kind") == "ack"))
    first = np.searchsorted(acks["number"].to_numpy(), np.arange(1, packets + 1))
    simulated = completion(flooded(scenario(packets)).run())
    return Transfer(packets, completion(result), simulated, (1e3 * acks["time"].to_numpy()[first]).tolist())


def measure(lab: Lab) -> Outcome:
    """Every printed length once, and the curve from the longest."""
    found = lab.map(simulate, list(PRINTED))
    trace = found[-1].acknowledged
    packets = np.arange(1, LONGEST + 1)
    data = pl.DataFrame({"packets": packets, "completion": trace, "optimal": optimal(0) + packets / PER_MS})
    data = data.with_columns((pl.col("completion") / pl.col("optimal") - 1.0).alias("slowdown"))
    done = {one.packets: one.completion for one in found}
    best = [optimal(packets) for packets in PRINTED]
    slow = data["slowdown"].to_numpy()
    peak = int(np.argmax(slow))
    peak_at = int(data["packets"][peak])
    checks = [optimum_check([one.flooded for one in found], [value for value, _ in PRINTED.values()], tolerance=0.1)]
    for length, (_, paper) in PRINTED.items():
        checks.append(
            Check(
                f"{length} packets",
                f"{done[length]:.1f} ms ({100 * (done[length] / paper - 1):+.1f} %)",
                f"{paper:g} ms + 10 % or faster",
                done[length] <= (1 + TOLERANCE) * paper,
            )
        )
    last = float(slow[-1])
    checks.append(
        Check(
            "the slowdown rises and then falls toward 0",
            f"{100 * slow[0]:.0f} % at 1 packet, {100 * slow[peak]:.0f} % at {peak_at}, {100 * last:.0f} % at 2000",
            "a peak inside",
            bool(0 < peak < len(slow) - 1 and slow[peak] > slow[0] and last < 0.5 * slow[peak]),
        )
    )
    return Outcome(
        measured={
            "optimal_ms": dict(zip(map(str, PRINTED), best, strict=True)),
            "completion_ms": {str(length): round(done[length], 2) for length in PRINTED},
            "slowdown_peak": round(float(slow[peak]), 4),
            "slowdown_peak_at": peak_at,
        },
        checks=checks,
        data=data,
        units={"packets": "packets", "completion": "ms", "optimal": "ms", "slowdown": "fraction"},
        why="",
        scenario=scenario(200).to_toml(),
        notes=(
            "A transfer of four packets takes two round trips: one pair, a round trip of silence, another pair. With 44 ms of "
            "propagation that cannot be below 88 ms, so the published 84 ms is not from this network to the last digit. "
            f"The slowdown of 2000 packets is {100 * slowdown(done[2000], optimal(2000)):.1f} % here, 35 % in the paper.",
        ),
    )


def draw(outcome: Outcome) -> Figure:
    """Fig. 24 with the four published points."""
    from tailback.plot.style import COLOURS, figure, style

    data = outcome.data
    with style():
        made, (axis,) = figure(height=3.4)
        axis.plot(data["packets"], 100 * data["slowdown"], color=COLOURS[0], label="here")
        paper = [100 * slowdown(time, best) for best, time in PRINTED.values()]
        axis.plot(list(PRINTED), paper, color=COLOURS[1], linestyle="none", marker="s", label="Table 9")
        axis.set_xscale("log")
        axis.set_xlabel("packets transferred")
        axis.set_ylabel("slowdown (%)")
        axis.set_ylim(0, None)
        axis.legend(loc="upper right")
    return made
