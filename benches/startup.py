"""How long a person waits for a command: CPU and wall time of short commands, medians of many, each in turn with the others.
On request the instructions of one, which no other work on the machine changes. What a packet costs is measured elsewhere.

    python -m benches.startup
    python -m benches.startup --instructions
"""

import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benches import process

ROUNDS = 11
SCENARIO = Path(__file__).parents[1] / "examples" / "dumbbell.toml"
ASKED = {"with the picture": 1.0, "without": 0.5, "--help": 0.15}
"""Seconds."""


def commands(folder: str) -> dict[str, list[str]]:
    """The commands, each with what it is called."""
    run = ["run", str(SCENARIO), "--out", f"{folder}/result"]
    return {"with the picture": run, "without": [*run, "--no-plot"], "--help": ["--help"]}


def instructions(words: list[str]) -> int:
    """Instructions of the process that `words` begin, without those of processes that it begins itself."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *words]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return collected(told)


def collected(told: str) -> int:
    """What callgrind says that it has counted."""
    found = re.search(r"Collected : (\d+)", told)
    if found is None:
        sys.exit("valgrind told no number of instructions")
    return int(found[1])


def main() -> None:
    """Prints a table."""
    counted = "--instructions" in sys.argv[1:]
    begin = [sys.executable, "-m", "tailback"]
    with tempfile.TemporaryDirectory() as folder:
        asked = commands(folder)
        costs: dict[str, list[process.Cost]] = {name: [] for name in asked}
        for turn in range(ROUNDS + 1):  # The first finds files in no cache.
            for name, words in asked.items():
                cost = process.run([*begin, *words], None)
                costs[name] += [cost] if turn else []
        print(
            "| tailback run examples/dumbbell.toml | CPU s: median (least) | wall s: median (least) | asked |", end=""
        )
        print(" instructions |" if counted else "")
        print("| --- | ---: | ---: | ---: |" + (" ---: |" if counted else ""))
        for name, words in asked.items():
            cpu, wall = ([getattr(cost, of) for cost in costs[name]] for of in ("cpu_s", "wall_s"))
            row = [f"{statistics.median(of):.2f} ({min(of):.2f})" for of in (cpu, wall)]
            row += [f"{ASKED[name]:g}"] + ([f"{instructions([*begin, *words]) / 1e6:.0f} million"] if counted else [])
            print(f"| {name} | {' | '.join(row)} |")


if __name__ == "__main__":
    main()
