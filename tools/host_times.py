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
ROUNDS = 2
"""What hosts take differs from one half hour to the next, by up to a fifth."""
FULL = 1000
"""Larger packets are data, bytes."""
LONGEST = 200e-6
"""Seconds. What leaves later answers something else: an acknowledgement that was waited for, or a packet of before."""
AT_ONCE = 3
"""So many segments beside a hole are acknowledged when they come; Linux holds further ones back."""
GROWING = 64
"""So many segments after a hole, and for so long from the beginning on, the kernel's receiver offers a window that grows. Then it
acknowledges what comes in order before its program has read it."""
BEGINNING = 3.0
"""Seconds."""
KEPT = 20
"""So many times are kept of each end, all equally likely: the middles of so many equal parts of those that were measured."""
Times = dict[str, dict[str, list[NDArray[np.float64]]]]
"""Of the kernel's flows and of ours, by end."""


def measure(known: dict[str, str | None]) -> dict[str, dict[str, dict[str, list[float]]]]:
    """By rate in bit/s, by who carries the flow and by end, in microseconds."""
    told = {}
    for rate, delay, _ in CELLS:
        times: Times = {
            "kernel": {end: [] for end in ("sender", "receiver", "reading")},
            "ours": {"sender": [], "receiver": []},
        }
        for pair in ROUNDS * PAIRS:
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
                for end, found in both_ends(result, flow["name"], index, is_read=who == "kernel").items():
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


def both_ends(result: Result, flow: str, index: int, *, is_read: bool) -> dict[str, NDArray[np.float64]]:
    """What a flow's sender and its receiver take, in seconds, by the packet log of a run; ``is_read`` says whether the receiver
    acknowledges what comes in order when its program has read it."""
    links = {"sender": (f"r0->s{index}", f"s{index}->r0"), "receiver": (f"r1->d{index}", f"d{index}->r1")}
    ends: dict[str, NDArray[np.float64]] = {}
    for end, (before, after) in links.items():
        arrived = _offered(result, flow, before, is_data=end == "receiver")
        left = _offered(result, flow, after, is_data=end == "sender")
        if end == "receiver" and is_read:
            ends |= _reader(_at_end(arrived, result, before), left)
        else:
            ends[end] = _answers(_at_end(arrived, result, before), left["time"].to_numpy(), LONGEST)
    return ends


def _reader(arrived: NDArray[np.float64], left: pl.DataFrame) -> dict[str, NDArray[np.float64]]:
    """What a receiver takes whose program reads: until it acknowledges at once, and how much longer until it has read.

    Acknowledgements that are larger than the smallest tell of a hole.
    """
    times, sizes = left["time"].to_numpy(), left["size"].to_numpy()
    place = np.searchsorted(arrived, times)
    new = np.diff(place, prepend=0)
    taken = times - arrived[np.maximum(place - 1, 0)]
    is_beside = sizes > sizes.min()
    in_row, since = _counted(is_beside), np.cumsum(new) - np.maximum.accumulate(np.where(is_beside, np.cumsum(new), 0))
    is_answer = (new > 0) & (taken < LONGEST)
    at_once = taken[is_answer & is_beside & (in_row <= AT_ONCE) & (new == 1)]
    is_steady = (since >= GROWING) & (times >= times[0] + BEGINNING)
    read = taken[is_answer & ~is_beside & is_steady]
    return {"receiver": at_once, "reading": np.maximum(read - (at_once.mean() if at_once.size else 0.0), 0.0)}


def _counted(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The number of each flag in a row of them; 0 where there is none."""
    total = np.cumsum(flags)
    before: NDArray[np.int64] = total - np.maximum.accumulate(np.where(flags, 0, total))
    return before


def _offered(result: Result, flow: str, link: str, *, is_data: bool) -> pl.DataFrame:
    """When a link was offered a flow's packets, with their sizes."""
    return result.packets.filter(
        (pl.col("event").cast(pl.String) == "offered")
        & (pl.col("flow").cast(pl.String) == flow)
        & (pl.col("link").cast(pl.String) == link)
        & ((pl.col("size") > FULL) == is_data)
    ).select("time", "size")


def _at_end(offered: pl.DataFrame, result: Result, link: str) -> NDArray[np.float64]:
    """When packets are at the end of a link on which none waits, as none does on links to hosts."""
    described = result.links.row(by_predicate=pl.col("link") == link, named=True)
    at_end: NDArray[np.float64] = (
        offered["time"].to_numpy() + offered["size"].to_numpy() * 8 / described["rate"] + described["delay"]
    )
    return at_end


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
