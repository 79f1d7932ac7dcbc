"""How long the laboratory's hosts take from a packet's arrival to what they send because of it, by the router's packet log: of the
kernel's TCP and of ours, at the rates of the standard dumbbells. What is made of it is said in ``parity_cells.py``."""

import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tailback.lab.run import run
from tailback.results import Result
from tools.parity_cells import CELLS, Cell

SECONDS = 12.0
FULL = 1000
"""Larger packets are data, bytes."""
LONGEST = 200e-6
"""Seconds. What leaves later answers something else: an acknowledgement that was waited for, or a packet of before."""


def measure(known: dict[str, str | None]) -> dict[str, Any]:
    """By rate: a constant, and a uniform random time from zero to ``jitter`` on top of it, that have the mean and the standard
    deviation of what a sender and its receiver take together, in microseconds."""
    told = {}
    for rate, delay, _ in CELLS:
        cell = Cell(rate, delay, SECONDS, ("cubic", "kernel-cubic"), is_jittered=False)
        setup = cell.setup(known).checked()
        scenario = json.loads(setup.scenario)
        scenario["record"] |= {"packets": True}
        result = run(replace(setup, scenario=json.dumps(scenario)))
        ours, kernel = (both_ends(result, scenario, index) for index in range(2))
        told[rate] = {"ours": ours, "kernel": kernel, "valid": result.real["valid"]}
        print(rate, told[rate], file=sys.stderr, flush=True)
    return told


def both_ends(result: Result, scenario: dict[str, Any], index: int) -> dict[str, Any]:
    """What a flow's sender and its receiver take, in microseconds, by the packet log of a run."""
    flow = scenario["flows"][index]["name"]
    links = {"sender": (f"r0->s{index}", f"s{index}->r0"), "receiver": (f"r1->d{index}", f"d{index}->r1")}
    ends = {}
    for end, (before, after) in links.items():
        arrived = _offered(result, flow, before, is_data=end == "receiver", at_end=True)
        left = _offered(result, flow, after, is_data=end == "sender", at_end=False)
        ends[end] = 1e6 * _answers(arrived, left, LONGEST)
    mean = sum(float(times.mean()) for times in ends.values())
    width = math.sqrt(12 * sum(float(times.var()) for times in ends.values()))
    return {
        "constant": mean - width / 2,
        "jitter": width,
        "answers": {end: len(times) for end, times in ends.items()},
        "mean": {end: float(times.mean()) for end, times in ends.items()},
        "deviation": {end: float(times.std()) for end, times in ends.items()},
    }


def _offered(result: Result, flow: str, link: str, *, is_data: bool, at_end: bool) -> NDArray[np.float64]:
    """When a link was offered a flow's packets, or when they are at its end: no packet waits on links to hosts."""
    log = result.packets.filter(
        (pl.col("event").cast(pl.String) == "offered")
        & (pl.col("flow").cast(pl.String) == flow)
        & (pl.col("link").cast(pl.String) == link)
        & ((pl.col("size") > FULL) == is_data)
    )
    offered = log["time"].to_numpy()
    if not at_end:
        return offered
    described = result.links.row(by_predicate=pl.col("link") == link, named=True)
    taken: NDArray[np.float64] = log["size"].to_numpy() * 8 / described["rate"] + described["delay"]
    return offered + taken


def _answers(arrived: NDArray[np.float64], left: NDArray[np.float64], longest: float) -> NDArray[np.float64]:
    """The times from the last arrival before a departure to this departure, of those that are no longer than given."""
    place = np.searchsorted(arrived, left) - 1
    place, left = place[place >= 0], left[place >= 0]
    place, first = np.unique(place, return_index=True)
    times = left[first] - arrived[place]
    return times[times < longest]


if __name__ == "__main__":
    from tailback import _core

    Path(sys.argv[1]).write_text(json.dumps(measure(dict(_core.kernel_schemes())), indent=1) + "\n", "utf-8")
