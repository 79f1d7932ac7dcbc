"""Which difference of mechanism makes which difference between the worlds: standard dumbbells simulated with one thing changed,
each beside the same runs with real packets. The page is ``write_parity.py``'s, and so are these runs."""

import json
import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from tailback.lab import timing
from tailback.lab.hosts import IDEAL, MEASURED, Hosts, HostTimes, take_time
from tailback.lab.parity import Figure, Row, figures, of_figures
from tailback.lab.run import Setup
from tailback.run import run_text
from tools.pages import table
from tools.parity_cells import CELLS, PAIRS, Cell

Data = dict[str, Any]
SEEDS = 40


@dataclass(frozen=True)
class Arm:
    """A simulation in which something is as nowhere else."""

    words: str
    hosts: Callable[[Hosts], Hosts] | None
    """What is made of what hosts take; nothing where they take no time."""
    kernel: Mapping[str, Data] = field(default_factory=dict)
    """Fields of the kernel's counterparts, table by table, in the place of their own."""
    is_plain: bool = False
    """Counterparts do as any flow of ours, with jitter of a packet."""
    is_fractional: bool = False
    """Counterparts count in parts of segments, like flows of ours."""

    def change(self, scenario: Data, kernel: Collection[str], jitter: str, hosts: Sequence[Hosts] = MEASURED) -> None:
        """Makes a scenario like this; ``kernel`` are the groups of flows that are the kernel's, ``jitter`` is the cell's, and
        ``hosts`` is what hosts take."""
        for flow in scenario["flows"]:
            if flow["name"] in kernel:
                if self.is_plain:
                    flow["scheme"] = flow["scheme"]["name"]
                    flow["receiver"] = {}
                    flow["transport"] |= PLAIN | {"send_jitter": jitter}
                _put(flow, self.kernel)
                if self.is_fractional:
                    flow["scheme"] |= dict.fromkeys(WHOLE & set(flow["scheme"]), False)
        take_time(scenario, kernel, [self.hosts(one) for one in hosts] if self.hosts else IDEAL)


def _put(flow: Data, fields: Mapping[str, Data]) -> None:
    for name, values in fields.items():
        flow[name] |= values


DUP_ACKS = {"name": "dup-acks"}
PLAIN: Data = {
    "handshake": False,
    "segmentation_offload": False,
    "proportional_rate_reduction": False,
    "loss_detection": DUP_ACKS,
}
BY_COUNT: Mapping[str, Data] = {"transport": {"loss_detection": DUP_ACKS}}
AT_ONCE: Mapping[str, Data] = {"transport": {"proportional_rate_reduction": False}}
NO_TRAINS: Mapping[str, Data] = {"transport": {"segmentation_offload": False}}
WHOLE = {"whole_packets", "whole_segments"}
"""What makes schemes count in whole segments."""
SINGLE: Mapping[str, Data] = {"transport": {"segmentation_offload": False}, "receiver": {"ack_every": 1}}
NO_COMPRESSION: Mapping[str, Data] = {"receiver": {"sack_compression": None}}


def _as_they_are(hosts: Hosts) -> Hosts:
    return hosts


def _uniform_times(times: tuple[float, ...]) -> tuple[float, ...]:
    middles = [(2 * place + 1) / len(times) - 1 for place in range(len(times))]
    return tuple(max(fmean(times) + math.sqrt(3) * pstdev(times) * middle, 1e-9) for middle in middles)


def _alike(hosts: Hosts) -> Hosts:
    """A receiver that reads takes as long beside a hole as for what is read first."""

    def alike(times: HostTimes) -> HostTimes:
        read = tuple(fmean(times.receiver) + more for more in times.reading)
        return replace(times, receiver=read, reading=()) if read else times

    groups = {name: alike(times) for name, times in hosts.groups.items()}
    return replace(hosts, kernel=alike(hosts.kernel), ours=alike(hosts.ours), groups=groups)


def _uniform(hosts: Hosts) -> Hosts:
    return hosts.each(_uniform_times)


def _mean(hosts: Hosts) -> Hosts:
    return hosts.each(lambda times: (fmean(times),))


def _twice(hosts: Hosts) -> Hosts:
    return hosts.each(lambda times: tuple(2 * value for value in times))


HOW_LONG = (
    Arm("hosts take uniform times of the same mean and deviation", _uniform),
    Arm("hosts take their mean, and nothing at random", _mean),
    Arm("hosts take twice as long", _twice),
)
KERNEL = (
    Arm("the kernel's flows do as any of ours; hosts take no time", None, is_plain=True),
    Arm("they acknowledge, count and shrink as the kernel does", None, kernel=NO_TRAINS),
    Arm("and send in trains", None),
    Arm("**and hosts take time**", _as_they_are),
    Arm("the same, but all is acknowledged when it has been read", _alike),
    Arm("the same without compression of selective acknowledgements", _as_they_are, kernel=NO_COMPRESSION),
    Arm("the same with losses found by three duplicates, not by time", _as_they_are, kernel=BY_COUNT),
    Arm("the same without proportional rate reduction", _as_they_are, kernel=AT_ONCE),
    Arm("the same without whole segments", _as_they_are, is_fractional=True),
    Arm("the same without trains", _as_they_are, kernel=NO_TRAINS),
    Arm("the same without trains and delayed acknowledgements", _as_they_are, kernel=SINGLE),
    *HOW_LONG,
)
OURS = (Arm("hosts take no time", None), Arm("**hosts take time**", _as_they_are), *HOW_LONG)


def _arms(pair: tuple[str, str]) -> Sequence[Arm]:
    """What is changed for two flows: counting in whole segments where one of them does."""
    if not any(name.startswith("kernel-") for name in pair):
        return OURS
    return [arm for arm in KERNEL if not arm.is_fractional or {"kernel-cubic", "kernel-bbr"} & set(pair)]


SUSPECTS = (
    *(
        (Cell(*place, pair), _arms(pair))
        for pair in PAIRS
        if pair[0] not in {"vegas", "monaco", "packet-pair"}
        for place in CELLS
    ),
    (Cell(*CELLS[1], ("cubic", "cubic"), is_jittered=False), OURS),
)
"""Dumbbells, and what is changed in the simulator for each."""


def reasons(kept: Path, suspects: Sequence[tuple[Cell, Sequence[Arm]]] = SUSPECTS) -> str:
    """The table, for those dumbbells of which runs with real packets are kept."""
    from tailback import _core

    known, lines, late = dict(_core.kernel_schemes()), [], []
    for cell, arms in suspects:
        setup = cell.setup(known).checked()
        file = kept / cell.file(setup)
        if not file.exists():
            print(f"{file}: there is none; `--only matrix` makes it", file=sys.stderr)
            continue
        data = json.loads(file.read_text("utf-8"))
        real = [Figure(**figure) for figure in data["each"]]
        late += [one["p99_seconds"] * 1e3 for one in data["lateness"]]
        for arm in arms:
            found = simulated(
                setup, arm, cell.jitter, [timing.from_data(one, MEASURED) for one in data.get("hosts", [])]
            )
            lines.append([_named(cell), arm.words, *_shares(found, real)])
            print(lines[-1], file=sys.stderr, flush=True)
    head = [
        "flows a, b",
        "simulated",
        "share of a, %",
        "real",
        "real less simulated",
        "apart",
    ]
    if not lines:
        return "There are no runs with real packets to compare with.\n"
    within = sum(one <= 1.0 for one in late)
    said = f"Of {len(late)} runs with real packets, {within} were late by at most 1 ms at 99 %"
    said += "." if within == len(late) else f", the others by up to {max(late):.0f} ms."
    return f"{said}\n\n{table(head, lines)}\n"


def simulated(setup: Setup, arm: Arm, jitter: str, own: Sequence[Hosts]) -> list[Figure]:
    """The figures of an arm's runs; ``own`` is what hosts took in each of the runs with real packets, if that is known."""
    texts = []
    for hosts in [[one] for one in own] or [list(MEASURED)]:
        scenario = json.loads(setup.scenario)
        arm.change(scenario, setup.kernel, jitter, hosts)
        texts.append(json.dumps(scenario))
    return figures([run_text(texts[seed % len(texts)], seed) for seed in range(1, SEEDS + 1)])


def _named(cell: Cell) -> str:
    return ", ".join([*cell.pair, *([] if cell.is_jittered else ["no jitter"]), cell.rate])


def _shares(simulated: Sequence[Figure], real: Sequence[Figure]) -> list[str]:
    """What the first flow has in either world, and how far the worlds are apart."""
    shares = [row for row in of_figures(simulated, real) if row.metric == "share"]
    first = shares[0]

    def percent(value: float, width: float, sign: str = "") -> str:
        return f"{100 * value:{sign}.1f}" + ("" if math.isinf(width) else f" ± {100 * width:.1f}")

    def told(row: Row, name: str, sign: str = "") -> str:
        interval = getattr(row, name)
        return percent(interval.mean, interval.half_width, sign)

    apart = max(abs(row.relative) for row in shares)
    told_all = [told(first, "simulated"), told(first, "measured"), told(first, "difference", "+")]
    return [*told_all, f"{100 * apart:.0f} %"]
