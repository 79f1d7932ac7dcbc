"""How long the laboratory's hosts take from a packet's arrival to what they send because of it, by the router's packet log: of the
kernel's TCP and of ours, at the rates of the standard dumbbells. `python -m tools.host_times` writes what the simulator has of
it, python/tailback/lab/hosts.json. What is made of it is said in ``tailback.lab.hosts``."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tailback.lab.run import LabError, run
from tailback.results import Result
from tailback.units import number
from tools.parity_cells import CELLS, Cell

FILE = Path(__file__).resolve().parents[1] / "python" / "tailback" / "lab" / "hosts.json"
PAIRS = (("kernel-reno", "kernel-cubic"), ("cubic", "kernel-cubic"))
SECONDS = 20.0
FULL = 1000
"""Larger packets are data, bytes."""
LONGEST = 200e-6
"""Seconds. What leaves later answers something else: an acknowledgement that was waited for, or a packet of before."""
KEPT = 20
"""So many times are kept of each end, all equally likely: the middles of so many equal parts of those that were measured."""
Times = dict[str, dict[str, list[NDArray[np.float64]]]]
"""Of the kernel's flows and of ours, by end."""


def measure(known: dict[str, str | None]) -> dict[str, dict[str, dict[str, list[float]]]]:
    """By rate in bit/s, by who carries the flow and by end, in microseconds."""
    told = {}
    for rate, delay, _ in CELLS:
        times: Times = {who: {"sender": [], "receiver": []} for who in ("kernel", "ours")}
        for pair in PAIRS:
            setup = Cell(rate, delay, SECONDS, pair, is_jittered=False).setup(known).checked()
            scenario = json.loads(setup.scenario)
            scenario["record"] |= {"packets": True}
            result = run(replace(setup, scenario=json.dumps(scenario)))
            if not result.real["valid"]:
                raise LabError(
                    f"{rate}, {pair}: packets were too late for this to count; once more on a quieter machine"
                )
            for index, flow in enumerate(scenario["flows"]):
                who = "kernel" if flow["name"] in setup.kernel else "ours"
                for end, found in both_ends(result, flow["name"], index).items():
                    times[who][end].append(found)
        told[str(round(number(rate)))] = {
            who: {end: kept(np.concatenate(found), f"{rate}, {who}, {end}") for end, found in ends.items()}
            for who, ends in times.items()
        }
    return told


def kept(times: NDArray[np.float64], name: str) -> list[float]:
    """Times that stand for all, in microseconds."""
    if not len(times):
        raise LabError(f"{name}: nothing was answered within {1e6 * LONGEST:g} µs")
    micros = 1e6 * times
    print(f"{name}: {len(micros)} times, {micros.mean():.1f} ± {micros.std():.1f} µs", file=sys.stderr, flush=True)
    return [round(float(value), 1) for value in np.quantile(micros, (np.arange(KEPT) + 0.5) / KEPT)]


def both_ends(result: Result, flow: str, index: int) -> dict[str, NDArray[np.float64]]:
    """What a flow's sender and its receiver take, in seconds, by the packet log of a run."""
    links = {"sender": (f"r0->s{index}", f"s{index}->r0"), "receiver": (f"r1->d{index}", f"d{index}->r1")}
    ends = {}
    for end, (before, after) in links.items():
        arrived = _offered(result, flow, before, is_data=end == "receiver", at_end=True)
        left = _offered(result, flow, after, is_data=end == "sender", at_end=False)
        ends[end] = _answers(arrived, left, LONGEST)
    return ends


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
    """The times from the last arrival before a departure to this departure, of those that are no longer than given.

    The simulator's batches last from their first arrival on. This is the same as long as a flow's packets come further apart than
    hosts take, as they do at the rates that are measured: a packet of 1500 bytes takes 240 µs at 50 Mbit/s.
    """
    place = np.searchsorted(arrived, left) - 1
    place, left = place[place >= 0], left[place >= 0]
    place, first = np.unique(place, return_index=True)
    times = left[first] - arrived[place]
    return times[times < longest]


def main(arguments: Sequence[str] = ()) -> None:
    """Writes the file, or another one that is named."""
    from tailback import _core

    told = measure(dict(_core.kernel_schemes()))
    lines = ",\n".join(f'  "{rate}": {json.dumps(one)}' for rate, one in told.items())
    Path(arguments[0] if arguments else FILE).write_text(f"{{\n{lines}\n}}\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
