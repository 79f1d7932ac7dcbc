"""Which difference of mechanism makes which difference between the worlds: standard dumbbells simulated with one thing changed,
each beside the same runs with real packets. The page is ``write_parity.py``'s, and so are these runs."""

import json
import math
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from tailback.lab.hosts import IDEAL, MEASURED, Hosts, take_time
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
    hosts: Sequence[Hosts]
    """What hosts take."""
    kernel: Mapping[str, Data] = field(default_factory=dict)
    """Fields of the kernel's counterparts, table by table, in the place of their own."""
    is_plain: bool = False
    """Counterparts do as any flow of ours, with jitter of a packet."""
    is_fractional: bool = False
    """Counterparts count in parts of segments, like flows of ours."""

    def change(self, scenario: Data, kernel: Collection[str], jitter: str) -> None:
        """Makes a scenario like this; ``kernel`` are the groups of flows that are the kernel's, ``jitter`` is the cell's."""
        for flow in scenario["flows"]:
            if flow["name"] in kernel:
                if self.is_plain:
                    flow["scheme"] = flow["scheme"]["name"]
                    flow["receiver"] = {}
                    flow["transport"] |= {"handshake": False, "segmentation_offload": False, "send_jitter": jitter}
                _put(flow, self.kernel)
                if self.is_fractional:
                    flow["scheme"] |= dict.fromkeys(WHOLE & set(flow["scheme"]), False)
        take_time(scenario, kernel, self.hosts)


def _put(flow: Data, fields: Mapping[str, Data]) -> None:
    for name, values in fields.items():
        flow[name] |= values


NO_TRAINS: Mapping[str, Data] = {"transport": {"segmentation_offload": False}}
WHOLE = {"whole_packets", "whole_segments"}
"""What makes schemes count in whole segments."""
SINGLE: Mapping[str, Data] = {"transport": {"segmentation_offload": False}, "receiver": {"ack_every": 1}}
NO_COMPRESSION: Mapping[str, Data] = {"receiver": {"sack_compression": None}}


def _uniform(times: tuple[float, ...]) -> tuple[float, ...]:
    middles = [(2 * place + 1) / len(times) - 1 for place in range(len(times))]
    return tuple(max(fmean(times) + math.sqrt(3) * pstdev(times) * middle, 1e-9) for middle in middles)


def _alike(hosts: Hosts) -> Hosts:
    """The kernel's receiver takes as long beside a hole as for what is read first."""
    kernel = hosts.kernel
    read = tuple(fmean(kernel.receiver) + more for more in kernel.reading)
    return replace(hosts, kernel=replace(kernel, receiver=read, reading=()))


ALIKE = tuple(_alike(hosts) for hosts in MEASURED)
MEAN = tuple(hosts.each(lambda times: (fmean(times),)) for hosts in MEASURED)
UNIFORM = tuple(hosts.each(_uniform) for hosts in MEASURED)
TWICE = tuple(hosts.each(lambda times: tuple(2 * value for value in times)) for hosts in MEASURED)
HOW_LONG = (
    Arm("hosts take uniform times of the same mean and deviation", UNIFORM),
    Arm("hosts take their mean, and nothing at random", MEAN),
    Arm("hosts take twice as long", TWICE),
)
KERNEL = (
    Arm("the kernel's flows do as any of ours; hosts take no time", IDEAL, is_plain=True),
    Arm("they acknowledge, count and shrink as the kernel does", IDEAL, kernel=NO_TRAINS),
    Arm("and send in trains", IDEAL),
    Arm("**and hosts take time**", MEASURED),
    Arm("the same, but all is acknowledged when it has been read", ALIKE),
    Arm("the same without compression of selective acknowledgements", MEASURED, kernel=NO_COMPRESSION),
    Arm("the same without whole segments", MEASURED, is_fractional=True),
    Arm("the same without trains", MEASURED, kernel=NO_TRAINS),
    Arm("the same without trains and delayed acknowledgements", MEASURED, kernel=SINGLE),
    *HOW_LONG,
)
OURS = (Arm("hosts take no time", IDEAL), Arm("**hosts take time**", MEASURED), *HOW_LONG)


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
            lines.append([_named(cell), arm.words, *_shares(simulated(setup, arm, cell.jitter), real)])
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


def simulated(setup: Setup, arm: Arm, jitter: str) -> list[Figure]:
    """The figures of an arm's runs."""
    scenario = json.loads(setup.scenario)
    arm.change(scenario, setup.kernel, jitter)
    text = json.dumps(scenario)
    return figures([run_text(text, seed) for seed in range(1, SEEDS + 1)])


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
