"""What a packet costs end to end behind a fair queue, beside drop-tail, in instructions: they are the same each time, whatever
else the machine does. A queue's own cost, without network, is measured in `queues.py`.

    cargo build --release -p tailback-scenario --example cost
    python -m benches.fair target/release/examples/cost

A thousand flows over 1 Gbit/s and 2000 packets, in both directions under the queue. Counted is the second second: a run of two
less one of one.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import tailback as tb
from benches.startup import collected

ASKED = {"drop-tail": 1.0, "deficit-round-robin": 1.25, "weighted-fair-queueing": 1.4}
"""Times the cost of drop-tail, at most."""


def counted(program: str, queue: str, seconds: int) -> tuple[int, int]:
    """Instructions of a run, and the packets that arrived in it."""
    base = tb.dumbbell(
        rate="1 Gbit/s", delay="20 ms", buffer="2000 packets", queue=queue, duration=f"{seconds} s"
    ).with_flows(tb.flows(1000, "sack"))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.json"
        file.write_text(base.to_json(), encoding="utf-8")
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return collected(done.stderr), int(json.loads(done.stdout)["delivered"])


def main() -> None:
    """Prints a table."""
    print("| queue | instructions per packet | times drop-tail | asked |")
    print("| --- | ---: | ---: | ---: |")
    plain = 0.0
    for queue, asked in ASKED.items():
        (first, few), (both, many) = (counted(sys.argv[1], queue, seconds) for seconds in (1, 2))
        cost = (both - first) / (many - few)
        plain = plain or cost
        print(f"| {queue} | {cost:.0f} | {cost / plain:.2f} | {asked:g} |")


if __name__ == "__main__":
    main()
