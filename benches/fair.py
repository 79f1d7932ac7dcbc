"""What a packet costs end to end behind a fair queue, beside drop-tail: in instructions, which are the same each time, whatever
else the machine does, or in CPU time. A queue's own cost, without network, is measured in `queues.py`.

    cargo build --release -p tailback-scenario --example cost
    python -m benches.fair target/release/examples/cost [--time ROUNDS]

A thousand flows over 1 Gbit/s and 2000 packets, in both directions under the queue. Counted is the second second: a run of two
less one of one. Timed are the second to the fifth second, the queues in turns; a ratio is the median of those of each round.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

import tailback as tb
from benches.process import run
from benches.startup import collected

ASKED = {"drop-tail": 1.0, "deficit-round-robin": 1.25, "weighted-fair-queueing": 1.4}
"""Times the cost of drop-tail, at most."""


def written(folder: str, queue: str, seconds: int) -> str:
    """A file with the scenario."""
    base = tb.dumbbell(
        rate="1 Gbit/s", delay="20 ms", buffer="2000 packets", queue=queue, duration=f"{seconds} s"
    ).with_flows(tb.flows(1000, "sack"))
    file = Path(folder) / f"{queue}-{seconds}.json"
    file.write_text(base.to_json(), encoding="utf-8")
    return str(file)


def counted(program: str, queue: str, seconds: int) -> tuple[int, int]:
    """Instructions of a run, and the packets that arrived in it."""
    with tempfile.TemporaryDirectory() as folder:
        file = written(folder, queue, seconds)
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, file]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return collected(done.stderr), int(json.loads(done.stdout)["delivered"])


def count(program: str) -> None:
    """Prints a table of instructions."""
    print("| queue | instructions per packet | times drop-tail | asked |")
    print("| --- | ---: | ---: | ---: |")
    plain = 0.0
    for queue, asked in ASKED.items():
        (first, few), (both, many) = (counted(program, queue, seconds) for seconds in (1, 2))
        cost = (both - first) / (many - few)
        plain = plain or cost
        print(f"| {queue} | {cost:.0f} | {cost / plain:.2f} | {asked:g} |")


def take_time(program: str, rounds: int) -> None:
    """Prints a table of CPU time."""
    costs: dict[str, list[float]] = {queue: [] for queue in ASKED}
    with tempfile.TemporaryDirectory() as folder:
        files = {queue: [written(folder, queue, seconds) for seconds in (1, 5)] for queue in ASKED}
        for _ in range(rounds):
            for queue, pair in files.items():
                short, long = (run([program, file], None) for file in pair)
                costs[queue].append((long.cpu_s - short.cpu_s) / (long.delivered - short.delivered) * 1e9)
    print("| queue | ns per packet | times drop-tail: median (range) | asked |")
    print("| --- | ---: | ---: | ---: |")
    for queue, asked in ASKED.items():
        ratios = [cost / plain for cost, plain in zip(costs[queue], costs["drop-tail"], strict=True)]
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"| {queue} | {statistics.median(costs[queue]):.0f} | {spread} | {asked:g} |")


def main() -> None:
    """Prints one of the tables."""
    parser = argparse.ArgumentParser(description="What a packet costs behind fair queues, beside drop-tail.")
    parser.add_argument("program", help="the example `cost`, built in its release form")
    parser.add_argument(
        "--time", type=int, metavar="ROUNDS", help="CPU time of so many rounds in place of instructions"
    )
    options = parser.parse_args()
    if options.time:
        take_time(options.program, options.time)
    else:
        count(options.program)


if __name__ == "__main__":
    main()
