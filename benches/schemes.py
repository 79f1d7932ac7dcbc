"""What a packet costs under each scheme, beside CUBIC or beside a fixed rate. Part of `make bench`; alone:
`python -m benches.schemes`; `--write` puts the table on docs/benchmarks.md, `--rounds` and `--seconds` say how long to measure.

Every run is a whole simulation in this process: four flows on a dumbbell of 100 Mbit/s, 20 ms and one bandwidth-delay product
of buffer, nothing recorded. Runs of a scheme and of what it is compared with alternate, and the median of the pairs' ratios is
kept, since a shared machine's speed drifts. Time is the process's own (user and system), without what the same scenario costs
that lasts a thousandth of a second.

`--instructions PROGRAM` measures no times, but counts instructions, by `valgrind --tool=cachegrind`, of runs of 6 s: they are the
same each time and on every machine with the same compiler, whatever else runs. PROGRAM is `crates/scenario/examples/cost.rs`, built
(`cargo build --release -p tailback-scenario --example cost`); the page says with which switches its table was.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import tailback as tb
from benches.machine import describe

RELIABLE = (
    "reno", "sack", "bbr1", "bbr3", "copa", "prague", "dctcp", "highspeed", "westwood-plus", "illinois", "compound", "ledbat",
    "ledbat-plus-plus", "vivace", "vegas", "monaco", "packet-pair", "newark",
)  # fmt: skip
DATAGRAMS = ("tfrc", "probabilistic", "lied", "nada", "gcc", "scream2")
LIMITS = {"reliable": 1.5, "datagram": 2.0}
"""How many times the cost of CUBIC, or of a fixed rate, is asked for at most."""
RATE = "20 Mbit/s"
"""What a flow of datagrams sends or may send at most."""
QUEUES = {"dctcp": "red", "prague": "dualpi2", "newark": "tdqm"}
"""Where a scheme lives on marks: both that it is compared with and it cross the same queue."""
SECONDS, QUICK_SECONDS = 60.0, 6.0


def flows(scheme: Any) -> Any:
    """Four flows of a scheme; where the application sets the rate, it is that of the fixed one."""
    name = scheme if isinstance(scheme, str) else scheme["name"]
    if name == "fixed-rate":
        return tb.flows(4, {"name": name, "rate": RATE})
    if name == "probabilistic":
        return tb.flows(4, name, {"name": "datagrams", "rate": RATE})
    if name in {"nada", "gcc", "scream2"}:
        scheme = {"name": name, "max_rate": RATE}
    return tb.flows(4, scheme)


def scenario(scheme: Any, seconds: float, queue: str) -> tb.Scenario:
    """The network."""
    base = tb.dumbbell(rate="100 Mbit/s", delay="8 ms", buffer="1 BDP", queue=queue, duration=f"{seconds:g} s")
    return base.with_flows(flows(scheme)).replace(record={"flows": "none", "links": "none"})


class Timed:
    """A scheme's runs."""

    def __init__(self, scheme: Any, seconds: float, queue: str) -> None:
        self.scenario = scenario(scheme, seconds, queue)
        short = scenario(scheme, seconds / 1000, queue)
        self.cost(short)  # What is loaded once is no scheme's.
        self.start = self.cost(short)[0]

    @staticmethod
    def cost(one: tb.Scenario) -> tuple[float, int]:
        """CPU seconds of a run, and how many packets arrived."""
        began = time.process_time()
        result = one.run(seed=1)
        spent = time.process_time() - began
        return spent, int(result.flows["received_packets"].sum())

    def per_packet(self) -> float:
        """Nanoseconds per packet that arrived, beyond set-up."""
        spent, packets = self.cost(self.scenario)
        return max(spent - self.start, 0.0) * 1e9 / packets


def ratio(scheme: str, base: str, rounds: int, seconds: float) -> tuple[float, float]:
    """The median ratio of a scheme's cost per packet to another's, in turns, and the scheme's own median in nanoseconds."""
    queue = QUEUES.get(scheme, "drop-tail")
    ours, theirs = Timed(scheme, seconds, queue), Timed(base, seconds, queue)
    pairs = [(ours.per_packet(), theirs.per_packet()) for _ in range(rounds)]
    return statistics.median(a / b for a, b in pairs), statistics.median(a for a, _ in pairs)


class Count(NamedTuple):
    """What a run took, set-up included."""

    instructions: int
    arrived: int
    sent: int


def count(program: Path, one: tb.Scenario) -> Count:
    """Counts a run."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.json"
        file.write_text(one.to_json(), encoding="utf-8")
        command = [
            "valgrind",
            "--tool=cachegrind",
            "--cache-sim=no",
            "--cachegrind-out-file=/dev/null",
            str(program),
            str(file),
        ]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"I +refs: +([\d,]+)", run.stderr)
    if run.returncode or found is None:
        sys.exit(f"{' '.join(command)} failed with status {run.returncode}: {run.stderr}")
    told = json.loads(run.stdout)
    return Count(int(found[1].replace(",", "")), int(told["delivered"]), int(told["sent"]))


def per_packet(program: Path, scheme: str, queue: str) -> tuple[float, float]:
    """Instructions per packet that arrived, beyond set-up, and packets sent for each."""
    whole = count(program, scenario(scheme, QUICK_SECONDS, queue))
    start = count(program, scenario(scheme, QUICK_SECONDS / 1000, queue))
    return (whole.instructions - start.instructions) / whole.arrived, whole.sent / whole.arrived


def counts(program: Path) -> list[str]:
    """The table of instructions: the dearest first. Monaco stands beside SACK, too, as what it costs is asked of that."""
    lines = [
        "| scheme | instructions per packet that arrived | times | packets sent per packet that arrived |",
        "| --- | ---: | ---: | ---: |",
    ]
    costs: dict[tuple[str, str], tuple[float, float]] = {}

    def cost(name: str, queue: str) -> tuple[float, float]:
        if (name, queue) not in costs:
            costs[name, queue] = per_packet(program, name, queue)
        return costs[name, queue]

    for names, base in ((RELIABLE, "cubic"), (DATAGRAMS, "fixed-rate")):
        found = []
        for name in names:
            queue = QUEUES.get(name, "drop-tail")
            own, sent = cost(name, queue)
            found.append((own / cost(base, queue)[0], own, name, sent))
        lines += [
            f"| {name} | {own:.0f} | {times:.2f} of {base} | {sent:.2f} |"
            for times, own, name, sent in sorted(found, reverse=True)
        ]
        lines += [
            f"| {base}, {queue} | {own:.0f} | 1 | {sent:.2f} |"
            for (name, queue), (own, sent) in costs.items()
            if name == base
        ]
    monaco, sack = costs["monaco", "drop-tail"][0], costs["sack", "drop-tail"][0]
    return [*lines, "", f"Monaco costs {monaco / sack:.2f} times as much as SACK (asked: at most 1.6)."]


def table(rounds: int, quick: bool, seconds: float | None = None) -> list[str]:
    """The page's table: the dearest first."""
    seconds = seconds or (QUICK_SECONDS if quick else SECONDS)
    lines = [
        "Four flows on 100 Mbit/s, each a whole simulation, nothing recorded; reliable schemes beside CUBIC "
        f"(asked: at most {LIMITS['reliable']:g} times its cost), those of datagrams beside a fixed rate "
        f"(asked: at most {LIMITS['datagram']:g} times).",
        "",
        "| scheme | ns per packet | times |",
        "| --- | ---: | ---: |",
    ]
    for names, base in ((RELIABLE, "cubic"), (DATAGRAMS, "fixed-rate")):
        found = sorted(((*ratio(name, base, rounds, seconds), name) for name in names), reverse=True)
        lines += [f"| {name} | {own:.0f} | {times:.2f} of {base} |" for times, own, name in found]
    return lines


PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
HEADING = "## Schemes"
COUNTED = "## Instructions of schemes"
TABLE = "| scheme |"
"""How the table in that section begins; it ends with the sentence on Monaco."""
BEFORE = "Measured on "
"""How the sentence begins that ends what `make bench` writes."""


def written(page: str, lines: list[str]) -> str:
    """The page with this section of schemes in the place of the one that it has, or as the last of its tables."""
    at = page.rindex(f"\n{BEFORE}") + 1
    begins = page.find(f"{HEADING}\n")
    head = page[: begins if 0 <= begins < at else at]
    return "\n".join([head.rstrip("\n"), "", HEADING, "", *lines, "", page[at:]])


def recounted(page: str, lines: list[str]) -> str:
    """The page with this table of instructions in the place of the one that it has."""
    begins = page.index(TABLE, page.index(f"{COUNTED}\n"))
    ends = page.index("\n## ", begins)
    return "\n".join([page[:begins].rstrip("\n"), "", *lines, ""]) + page[ends:]


def main() -> None:
    """Measures or counts, prints, and writes where asked."""
    parser = argparse.ArgumentParser(description="What a packet costs under each scheme.")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of runs for each scheme (default 5)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"simulated (default {SECONDS:g})")
    parser.add_argument(
        "--write", action="store_true", help="put the table on docs/benchmarks.md, instead of the one there"
    )
    parser.add_argument(
        "--instructions", type=Path, metavar="PROGRAM", help="count instructions of this program, and measure no times"
    )
    given = parser.parse_args()
    if given.instructions is not None:
        lines, put = counts(given.instructions), recounted
    else:
        lines, put = table(given.rounds, quick=False, seconds=given.seconds), written
        lines += ["", f"Of schemes: {given.rounds} pairs of runs of {given.seconds:g} s each. {describe(ns2=False)}"]
    print("\n".join(lines))
    if given.write:
        PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), lines), encoding="utf-8")


if __name__ == "__main__":
    main()
