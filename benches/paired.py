"""Compares two builds of crates/sim/examples/perf.rs by the CPU time of short runs in turns, and prints how much longer the
second takes.

    python -m benches.paired OLD NEW [--pairs 40] [--cases P1 P2=4 10000=3 S4:bbr1] [--core N]

A shared machine's speed drifts by half within minutes, so absolute times say nothing and minima of a few long runs differ
by a quarter. What holds is the ratio of two runs next to each other: each pair runs both programs on the same core, the
first of them alternately, and the median of the pairs' ratios is stable to about 1 % from forty pairs on. CPU time is
user and system time of the whole process, set-up included. Both programs must simulate the same: where their figures
differ (packets delivered, dropped, events), nothing is compared.

A case is P1 to P4, S4 (the network on which schemes are compared), or a number of flows (the growth series), with a scheme
behind `:` where that is not sack, and its simulated seconds behind `=`. Printed are the median
ratio NEW / OLD, an interval that holds the true median with 95 % (from the order of the ratios, no distribution assumed),
and each program's median CPU nanoseconds per packet.
"""

import argparse
import math
import os
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from benches.process import Cost, run

SECONDS = {"P1": 60.0, "P2": 4.0, "P3": 2.0, "P4": 8.0, "S4": 20.0}
"""Simulated seconds of the named scenarios: short enough that neighbours bother both runs of a pair alike."""
GROWTH_SECONDS = 3.0
DEFAULT = ("P1", "P2", "P3", "P4")
LEAST_PAIRS = 5


@dataclass(frozen=True)
class Case:
    """One scenario and how much of it is simulated."""

    name: str
    seconds: float
    scheme: str = "sack"


def case(text: str) -> Case:
    """`P1`, `P1=60`, `10000=3` or `S4:bbr1=20`."""
    what, _, seconds = text.partition("=")
    name, _, scheme = what.partition(":")
    if name not in SECONDS and not name.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r}: a case is one of {', '.join(SECONDS)} or a number of flows")
    try:
        lasts = float(seconds) if seconds else SECONDS.get(name, GROWTH_SECONDS)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: the seconds behind '=' must be a number") from None
    return Case(name, lasts, scheme or "sack")


def median_interval(ordered: list[float]) -> tuple[float, float]:
    """An interval that holds the true median with 95 %: by the binomial distribution of how many values lie below it."""
    count = len(ordered)
    below, rank = 0.0, 0
    while below + math.comb(count, rank) / 2**count <= 0.025:
        below += math.comb(count, rank) / 2**count
        rank += 1
    rank = max(rank - 1, 0)
    return ordered[rank], ordered[count - 1 - rank]


def pair(programs: tuple[Path, Path], what: Case, turn: int, core: int | None) -> tuple[Cost, Cost]:
    """Both programs once, the second first in every other turn."""
    costs: dict[Path, Cost] = {}
    options = ["--seconds", f"{what.seconds:g}", *(["--scheme", what.scheme] if what.scheme != "sack" else [])]
    for program in programs if turn % 2 == 0 else programs[::-1]:
        costs[program] = run([program, what.name, *options], core)
    old, new = (costs[program] for program in programs)
    if old.said != new.said:
        sys.exit(f"{what.name}: the programs simulate different things: {old.said} and {new.said}")
    return old, new


def compare(programs: tuple[Path, Path], what: Case, pairs: int, core: int | None) -> str:
    """One row of the table."""
    costs = [pair(programs, what, turn, core) for turn in range(pairs)]
    ratios = sorted(new.cpu_s / old.cpu_s for old, new in costs)
    low, high = median_interval(ratios)
    old, new = (statistics.median(side.ns_per_packet for side in sides) for sides in zip(*costs, strict=True))
    shown = f"{what.name}, {what.scheme}, {what.seconds:g} s"
    return f"| {shown} | {statistics.median(ratios):.3f} | {low:.3f} to {high:.3f} | {old:.0f} | {new:.0f} |"


def main() -> None:
    """Measures and prints one row per case as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="the build that is compared with")
    parser.add_argument("new", type=Path, help="the build that is judged")
    parser.add_argument("--pairs", type=int, default=40, help="pairs of runs per case (default 40)")
    parser.add_argument("--cases", type=case, nargs="+", default=[case(name) for name in DEFAULT])
    parser.add_argument("--core", type=int, default=None, help="pin to this core (default: the last one; -1: none)")
    given = parser.parse_args()
    if given.pairs < LEAST_PAIRS:
        parser.error(f"--pairs is {given.pairs}; at least {LEAST_PAIRS} are needed")
    programs = (given.old.resolve(), given.new.resolve())
    for program in programs:
        if not os.access(program, os.X_OK):
            parser.error(
                f"{program} is not a program: build it with cargo build --release -p tailback-sim --example perf"
            )
    last = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    core = last if given.core is None else (given.core if given.core >= 0 else None)
    print(f"| case | new / old, median of {given.pairs} pairs | with 95 % | old, ns per packet | new |")
    print("| --- | ---: | ---: | ---: | ---: |", flush=True)
    for what in given.cases:
        print(compare(programs, what, given.pairs, core), flush=True)


if __name__ == "__main__":
    main()
