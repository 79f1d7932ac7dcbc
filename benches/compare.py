"""Times Tailback beside ns-2 in one session and writes the ratios to docs/benchmarks.md; `make bench` runs this.

Absolute times move with the machine and its neighbours, so both programs run in turns on the same core and the ratio
of the two is what is kept. CPU time is that of the whole process, set-up included. The Tailback side is the release
build of crates/sim/examples/perf.rs, which prints one line of JSON: at least delivered (or acked) and dropped.
"""

import argparse
import os
import shutil
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benches import queues, schemes
from benches.machine import describe
from benches.process import Cost, run

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- written by make bench -->", "<!-- end of what make bench writes -->"


@dataclass(frozen=True)
class Case:
    """One scenario that both programs run."""

    name: str
    about: str
    seconds: float
    """Simulated seconds."""
    quick_seconds: float
    target: float
    """How many times less CPU per packet than ns-2 is asked for."""
    fastest_ns2: tuple[str, ...] = ("hdr=min",)


CASES = (
    Case("P1", "64 flows, 32 Mbit/s, 50 packets of buffer", 200, 20, 6),
    Case("P2", "1000 flows, 1 Gbit/s, 2000 packets", 20, 3, 11, ("hdr=min", "routing=manual")),
    Case("P3", "10 flows, 10 Gbit/s, 66 250 packets", 10, 1.5, 17),
    Case("P4", "parking lot, 5 × 100 Mbit/s, 18 flows", 50, 5, 5),
)
GROWTH_TARGET = 3.0
MEMORY_TARGET = 6 * 1024
START_UP = 0.001
"""A run of so many simulated seconds costs what setting up costs."""
LEAST_OURS, LEAST_THEIRS = 0.1, 0.5
"""CPU seconds beyond set-up below which a run says nothing: some ten times what clock and neighbours add."""


@dataclass(frozen=True)
class Options:
    """How to measure."""

    rounds: int
    quick: bool
    core: int | None
    perf: Path
    ns2: str | None


def middle(costs: list[Cost], figure: Callable[[Cost], float]) -> float:
    """The median of one figure over several runs."""
    return statistics.median(figure(cost) for cost in costs)


def tailback(options: Options, name: str, seconds: float, *flags: str) -> Cost:
    """One run of the Tailback side: a scenario, or a number of flows of the growth series."""
    return run([options.perf, name, "--seconds", f"{seconds:g}", *flags], options.core)


def ns2(options: Options, case: Case, seconds: float, scheme: str) -> Cost:
    """One run of the ns-2 side, with its fastest settings and the scheme that Tailback ran."""
    script = ROOT / "benches" / "ns2" / "perf.tcl"
    settings = [*case.fastest_ns2, f"proto={scheme}", f"seconds={seconds:g}"]
    return run([options.ns2 or "ns", script, case.name, *settings], options.core)


def speed(options: Options) -> list[str]:
    """The table of ratios, row by row, both programs in turns."""
    rows = [
        "| scenario | Tailback, ns per packet | ns-2, ns per packet | times faster: median (range) | asked | "
        "packets delivered, Tailback / ns-2 | loss, Tailback / ns-2 | start-up, Tailback / ns-2 |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for case in CASES:
        seconds = case.quick_seconds if options.quick else case.seconds
        ours: list[Cost] = []
        theirs: list[Cost] = []
        progress(f"{case.name}, start-up")
        starts = [tailback(options, case.name, START_UP)]
        if options.ns2:
            starts.append(ns2(options, case, START_UP, starts[0].said.get("scheme", "sack")))
        for number in range(1, options.rounds + 1):
            progress(f"{case.name}, round {number} of {options.rounds}")
            ours.append(tailback(options, case.name, seconds))
            scheme = ours[0].said.get("scheme", "sack")
            if options.ns2:
                theirs.append(ns2(options, case, seconds, scheme))
        title = f"**{case.name}** {case.about}, {scheme}"
        own = f"{statistics.median(cost.beyond(starts[0].cpu_s) for cost in ours):.0f}"
        delivered, loss = f"{ours[0].delivered:,}", f"{ours[0].loss:.2%}"
        before = " / ".join(f"{start.cpu_s:.2f} s" for start in starts)
        if theirs:
            ratio = times_faster(ours, theirs, (starts[0].cpu_s, starts[1].cpu_s))
            other = f"{statistics.median(cost.beyond(starts[1].cpu_s) for cost in theirs):.0f}"
            delivered += f" / {theirs[0].delivered:,}"
            loss += f" / {theirs[0].loss:.2%}"
        else:
            ratio, other = "not measured", "not installed"
        rows.append(f"| {title} | {own} | {other} | {ratio} | {case.target:g} | {delivered} | {loss} | {before} |")
    return rows


def times_faster(ours: list[Cost], theirs: list[Cost], starts: tuple[float, float]) -> str:
    """The ratio of what packets cost beyond set-up, or that the runs are too short to say: where set-up is a good part of a
    run, or a run hardly longer than the clock's grain, the ratio tells of that and not of packets."""
    for costs, start, least in zip((ours, theirs), starts, (LEAST_OURS, LEAST_THEIRS), strict=True):
        if any(cost.cpu_s - start < max(least, start) for cost in costs):
            return "too short to compare"
    ratios = sorted(b.beyond(starts[1]) / a.beyond(starts[0]) for a, b in zip(ours, theirs, strict=True))
    return f"**{statistics.median(ratios):.1f}** ({ratios[0]:.1f} to {ratios[-1]:.1f})"


def growth(options: Options) -> list[str]:
    """How cost and memory grow from 1000 flows to 10 000, at 1 Mbit/s and two packets of buffer per flow."""
    seconds = 5 if options.quick else 10
    sizes = ("1000", "10000")
    recorded: dict[str, list[Cost]] = {size: [] for size in sizes}
    bare: dict[str, list[Cost]] = {size: [] for size in sizes}
    for number in range(1, options.rounds + 1):
        progress(f"growth with flows, round {number} of {options.rounds}")
        for size in sizes:
            recorded[size].append(tailback(options, size, seconds))
            bare[size].append(tailback(options, size, seconds, "--off"))
    few, many = (recorded[size] for size in sizes)
    ratio = statistics.median(b.ns_per_packet / a.ns_per_packet for a, b in zip(few, many, strict=True))
    small, large = (middle(bare[size], lambda cost: cost.peak_bytes) for size in sizes)
    return [
        "| flows | ns per packet | peak memory without time series | with |",
        "| ---: | ---: | ---: | ---: |",
        *(
            f"| {size} | {middle(recorded[size], lambda cost: cost.ns_per_packet):.0f} "
            f"| {middle(bare[size], lambda cost: cost.peak_bytes) / 2**20:.1f} MiB "
            f"| {middle(recorded[size], lambda cost: cost.peak_bytes) / 2**20:.1f} MiB |"
            for size in sizes
        ),
        "",
        f"Ten times the flows cost **{ratio:.2f}** times as much per packet (asked: at most {GROWTH_TARGET:g}) and "
        f"**{(large - small) / 9000 / 1024:.1f} KiB** of memory each (asked: at most {MEMORY_TARGET / 1024:g}): the "
        "difference of the two peaks over 9000 flows, packets in flight and in queues included, time series apart: "
        f"those are results and grow with the simulated time, here {seconds} s.",
    ]


def progress(text: str) -> None:
    """Says what runs now, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def write(lines: list[str]) -> None:
    """Replaces the generated part of the page, keeping the text around it."""
    page = PAGE.read_text(encoding="utf-8")
    head, found, rest = page.partition(BEGIN)
    _, found_end, tail = rest.partition(END)
    if not found or not found_end:
        sys.exit(f"{PAGE}: the marks '{BEGIN}' and '{END}' are missing")
    beside = PAGE.with_suffix(".md.new")
    beside.write_text(head + "\n".join([BEGIN, "", *lines, "", END]) + tail, encoding="utf-8")
    beside.replace(PAGE)


def main() -> None:
    """Measures, prints the tables, and writes them to the page unless this was only a quick look."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one short round; prints, and leaves the page alone")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved runs per scenario (default 5)")
    parser.add_argument("--core", type=int, default=None, help="pin to this core (default: the last one; -1: none)")
    parser.add_argument("--perf", type=Path, default=target / "release" / "examples" / "perf", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error(f"--rounds is {given.rounds}; at least 1 is needed")
    last = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    core = last if given.core is None else (given.core if given.core >= 0 else None)
    found = shutil.which("ns")
    if not found:
        print("ns-2 is not installed (Debian: apt-get install ns2): Tailback is timed alone.", file=sys.stderr)
    options = Options(1 if given.quick else given.rounds, given.quick, core, given.perf, found)
    lines = [*speed(options), "", "## Growth with the number of flows", "", *growth(options)]
    progress("queue disciplines")
    lines += ["", "## Queue disciplines", "", *queues.table(queues.run(ROOT, given.quick))]
    progress("schemes")
    lines += ["", "## Schemes", "", *schemes.table(3 if given.quick else 9, given.quick)]
    lines += ["", describe(bool(found))]
    progress("")
    print("\n".join(lines))
    if not given.quick:
        write(lines)
        print(f"\nWritten to {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
