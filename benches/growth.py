"""How a packet's cost grows with the number of flows, apart: set-up, the first part of a run, and what comes after it.

    python -m benches.growth [PERF] [--rounds 5] [--cases 1000=3:6 10000=1.5:3 100000=0.4:0.8] [--core N]

PERF is a build of crates/sim/examples/perf.rs. A case is a number of flows and two lengths of a run in simulated seconds.
Runs of the same scenario are alike to the packet, so the longer run less the shorter one is what lies between: no set-up,
and hardly a first touch of memory. Each round runs all cases in turn, as a shared machine's speed drifts; printed are
medians of the rounds, and of the ratios to the first case within a round. *From the start* counts the whole process up to
the first length; *later* is user time only.
"""

import argparse
import os
import statistics
from dataclasses import dataclass
from pathlib import Path

from benches.process import Cost, run

START_UP = 0.001
"""Simulated seconds in which next to nothing happens."""
DEFAULT = ("1000=3:6", "10000=1.5:3", "100000=0.4:0.8")
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Case:
    """A number of flows, and two lengths of a run."""

    flows: str
    short: float
    long: float


@dataclass(frozen=True)
class Round:
    """One round of one case."""

    start: Cost
    short: Cost
    long: Cost

    @property
    def from_start(self) -> float:
        """Nanoseconds per packet of the short run, set-up and all."""
        return self.short.ns_per_packet

    @property
    def later(self) -> float:
        """Nanoseconds of user time per packet between the two lengths."""
        user = [cost.cpu_s - cost.system_s for cost in (self.short, self.long)]
        return (user[1] - user[0]) * 1e9 / (self.long.delivered - self.short.delivered)


def case(text: str) -> Case:
    """`10000=1.5:3`."""
    flows, _, lengths = text.partition("=")
    try:
        short, long = (float(length) for length in lengths.split(":"))
        if int(flows) < 1 or not START_UP < short < long:
            raise ValueError
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not FLOWS=SHORT:LONG with {START_UP} < SHORT < LONG") from None
    return Case(flows, short, long)


def table(cases: list[Case], measured: list[list[Round]]) -> list[str]:
    """The table; `measured` has a list of rounds per case."""
    lines = [
        "| flows | set-up, user + system | from the start: ns per packet | times | later: ns per packet | times |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for what, rounds in zip(cases, measured, strict=True):
        start = statistics.median(each.start.cpu_s - each.start.system_s for each in rounds)
        system = statistics.median(each.start.system_s for each in rounds)
        cells = [f"{what.flows}, {what.short:g} and {what.long:g} s", f"{start:.2f} + {system:.2f} s"]
        for figure in ("from_start", "later"):
            cells.append(f"{statistics.median(getattr(each, figure) for each in rounds):.0f}")
            pairs = zip(rounds, measured[0], strict=True)
            times = [getattr(each, figure) / getattr(first, figure) for each, first in pairs]
            cells.append(f"{statistics.median(times):.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Measures all cases in turn, round by round, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    perf = ROOT / "target" / "release" / "examples" / "perf"
    parser.add_argument("perf", type=Path, nargs="?", default=perf, help="the build that is measured")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default 5)")
    parser.add_argument("--cases", type=case, nargs="+", default=[case(text) for text in DEFAULT])
    parser.add_argument("--core", type=int, default=None, help="pin to this core")
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error(f"--rounds is {given.rounds}; at least 1 is needed")
    if not os.access(given.perf, os.X_OK):
        parser.error(f"{given.perf} is not a program: cargo build --release -p tailback-sim --example perf")
    measured: list[list[Round]] = [[] for _ in given.cases]
    for _ in range(given.rounds):
        for what, rounds in zip(given.cases, measured, strict=True):
            lengths = (START_UP, what.short, what.long)
            costs = [run([given.perf.resolve(), what.flows, "--seconds", f"{s:g}"], given.core) for s in lengths]
            rounds.append(Round(*costs))
    print("\n".join(table(given.cases, measured)))


if __name__ == "__main__":
    main()
