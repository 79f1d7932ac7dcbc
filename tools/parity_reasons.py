"""Which difference of mechanism makes which difference between the worlds: standard dumbbells simulated with one thing changed,
each beside the same runs with real packets. The page is ``write_parity.py``'s, and so are these runs."""

import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.lab.parity import Figure, Row, figures, of_figures
from tailback.lab.run import Setup
from tailback.run import run_text
from tools.pages import table
from tools.parity_cells import CELLS, KERNEL_JITTER, Cell

Data = dict[str, Any]
SEEDS = 10
CELL = CELLS[1]
"""Where the worlds differed most."""


@dataclass(frozen=True)
class Arm:
    """A simulation in which something is as nowhere else."""

    words: str
    change: Callable[[Data, list[Data], str], None]
    """Does it to a scenario; to the flows of it that are counterparts of the kernel's; with the jitter of the cell."""


def _nothing(scenario: Data, kernel: list[Data], jitter: str) -> None:
    del scenario, kernel, jitter


def _plain(scenario: Data, kernel: list[Data], jitter: str) -> None:
    """Counterparts as any flow of ours."""
    del scenario
    for flow in kernel:
        flow["scheme"] = flow["scheme"]["name"]
        flow["receiver"] = {}
        flow["transport"] |= {"handshake": False, "send_jitter": jitter}


def _also(first: Callable[[Data, list[Data], str], None], **fields: Data) -> Callable[[Data, list[Data], str], None]:
    """One change, and then these fields of the counterparts, table by table; of the schemes, those that have them."""

    def change(scenario: Data, kernel: list[Data], jitter: str) -> None:
        first(scenario, kernel, jitter)
        for flow in kernel:
            for name, values in fields.items():
                before = {"name": flow[name]} if isinstance(flow[name], str) else flow[name]
                is_other = before.get("name") == "bbr1"  # It has no settings.
                flow[name] = before if is_other else before | values

    return change


def _nearer(microseconds: int) -> Callable[[Data, list[Data], str], None]:
    """The first flow's way is so much longer."""

    def change(scenario: Data, kernel: list[Data], jitter: str) -> None:
        del kernel, jitter
        scenario["topology"]["access"]["delay"][0] = f"{100 + microseconds} us"

    return change


def _everybody(**fields: Data) -> Callable[[Data, list[Data], str], None]:
    """These fields of every flow, table by table."""

    def change(scenario: Data, kernel: list[Data], jitter: str) -> None:
        del kernel, jitter
        for flow in scenario["flows"]:
            for name, values in fields.items():
                flow[name] |= values

    return change


DELAYED: Data = {"ack_every": 2, "ack_delay": "40 ms"}
BYTES: Data = {"counting": "bytes", "halve": "window"}
BEFORE = Arm("does as any flow of ours, with jitter of a packet", _plain)
ACKS = Arm("also acknowledges every second segment", _also(_plain, receiver=DELAYED))
QUIET = Arm("also has no jitter", _also(_plain, transport={"send_jitter": "0 s"}))
COUNTS = Arm("also counts bytes, and shrinks from its window", _also(_plain, scheme=BYTES))
NOW = tuple(
    Arm(f"does as the kernel, with jitter of {words}", _also(_nothing, transport={"send_jitter": jitter}))
    for words, jitter in (("a packet", "600 us"), ("nothing", "0 s"), ("60 µs", KERNEL_JITTER))
)
OLDER = Arm(
    "the same, but CUBIC by RFC 8312",
    _also(_nothing, transport={"send_jitter": KERNEL_JITTER}, scheme={"reno_slope": False}),
)
RENO = (BEFORE, ACKS, QUIET, COUNTS, *NOW)
CUBIC = (*RENO, OLDER)
PHASE = (
    Arm("the two as they are", _nothing),
    *(Arm(f"a's way {us} µs longer", _nearer(us)) for us in (50, 200)),
    *(
        Arm(f"both with jitter of {jitter}", _everybody(transport={"send_jitter": jitter}))
        for jitter in ("60 us", "200 us")
    ),
    Arm("both acknowledge every second segment", _everybody(receiver=DELAYED)),
)
SUSPECTS = (
    (Cell(*CELL, ("sack", "kernel-reno")), RENO),
    (Cell(*CELL, ("cubic", "kernel-cubic")), CUBIC),
    (Cell(*CELL, ("kernel-cubic", "kernel-cubic")), CUBIC),
    (Cell(*CELL, ("kernel-bbr", "kernel-cubic")), CUBIC),
    (Cell(*CELL, ("cubic", "cubic"), is_jittered=False), PHASE),
)
"""Dumbbells, and what is changed in the simulator for each."""
ALONE = Arm(
    "the same, but every segment is acknowledged",
    _also(_nothing, transport={"send_jitter": KERNEL_JITTER}, receiver={"ack_every": 1}),
)
OFTEN = (NOW[-1], ALONE)
AT_FIVE = tuple(
    (Cell(*CELLS[0], pair), OFTEN)
    for pair in (
        ("kernel-cubic", "kernel-cubic"),
        ("cubic", "kernel-cubic"),
        ("kernel-reno", "kernel-cubic"),
        ("kernel-reno", "kernel-reno"),
        ("sack", "kernel-reno"),
    )
)
"""The same for the lowest rate, of which runs on virtual time are kept."""


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
            lines.append([", ".join(cell.pair), arm.words, *_shares(simulated(setup, arm, cell.jitter), real)])
            print(lines[-1], file=sys.stderr, flush=True)
    head = [
        "flows a, b",
        "simulated: the kernel's counterpart",
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
    kernel = [flow for flow in scenario["flows"] if flow["name"] in setup.kernel]
    arm.change(scenario, kernel, jitter)
    text = json.dumps(scenario)
    return figures([run_text(text, seed) for seed in range(1, SEEDS + 1)])


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
