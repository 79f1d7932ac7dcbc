"""How the instructions of a packet grow with the number of flows, feature by feature, and those of building with each flow. They
are the same each time, whatever else the machine does. The scenarios are in `feature_cases.py`.

    cargo build --release -p tailback-scenario --example cost
    python -m benches.features target/release/examples/cost [--parts links hosts] [--only WORD] [--flows 100 1000 10000]

Counted is a run less a shorter one, so that building is left out, per data packet that reached its receiver. What is recorded
is made into tables in the end; that is a part of it. Of building, the instructions of a process are counted whose flows begin
at the end of the run, less those with a tenth of the flows, per flow. Valgrind takes half a minute and more for each line; it
starts quicker where the program is built without debugging symbols (CARGO_PROFILE_RELEASE_STRIP=true).
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from benches.feature_cases import BUILDING, PARTS, Feature, Fields, merged, plain, trace

FLOWS = (100, 1000, 10_000)
SHORT_MS = 200
BEYOND_MS = {100: 1500, 1000: 300, 10_000: 100}
"""How much longer the second run is: whole bins of 100 ms, and some ten thousand packets."""
BUILDING_PART = "building"


def instructions(program: Path, scenario: Fields) -> tuple[int, int]:
    """Instructions of a run, and the packets that arrived in it."""
    with tempfile.TemporaryDirectory() as folder:
        flows = sum(group.get("count", 1) for group in scenario["flows"])
        (Path(folder) / "trace").write_text(trace(flows), encoding="utf-8")
        (Path(folder) / "scenario.json").write_text(json.dumps(scenario), encoding="utf-8")
        valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", "--vgdb=no"]
        command = [*valgrind, str(program.resolve()), "scenario.json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        sys.exit(f"{scenario['name']}: {done.stderr}")
    return counted(done.stderr), int(json.loads(done.stdout)["delivered"])


def counted(told: str) -> int:
    """What cachegrind says that it has counted."""
    found = re.search(r"I\s+refs:\s+([\d,]+)", told)
    if found is None:
        sys.exit("valgrind told no number of instructions")
    return int(found[1].replace(",", ""))


def scenario(name: str, feature: Feature, flows: int, millis: float) -> Fields:
    """A scenario of so many flows that takes so many milliseconds."""
    return {**merged(plain(flows), feature(flows)), "name": name, "duration": f"{millis:g} ms"}


def per_packet(program: Path, name: str, feature: Feature, flows: int) -> float:
    """Instructions of a packet that arrives."""
    beyond = BEYOND_MS.get(flows, 100)
    lengths = (SHORT_MS, SHORT_MS + beyond)
    (first, few), (both, many) = (instructions(program, scenario(name, feature, flows, ms)) for ms in lengths)
    return (both - first) / max(many - few, 1)


def per_flow(program: Path, name: str, feature: Feature, flows: int) -> float:
    """Instructions of building, and of the tables of nothing, for each flow beyond a tenth of them."""

    def built(count: int) -> int:
        late = scenario(name, feature, count, 1000)
        for group in late["flows"]:
            group["start"] = "999.999 ms"
        return instructions(program, late)[0]

    fewer = flows // 10
    return (built(flows) - built(fewer)) / (flows - fewer)


def row(name: str, costs: list[float]) -> str:
    """A row of the table: what it costs, and how many times the first the last is."""
    return f"| {name} | {' | '.join(f'{cost:.0f}' for cost in costs)} | {costs[-1] / costs[0]:.2f} |"


def main() -> None:
    """Prints a table for each part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, help="the example `cost`, built in its release form")
    parser.add_argument("--parts", nargs="+", choices=[*PARTS, BUILDING_PART], default=[*PARTS, BUILDING_PART])
    parser.add_argument("--only", default="", metavar="WORD", help="features whose name has this in it")
    parser.add_argument("--flows", type=int, nargs="+", default=list(FLOWS), help="how many flows")
    given = parser.parse_args()
    for part in given.parts:
        is_building = part == BUILDING_PART
        count = per_flow if is_building else per_packet
        print(f"| {part} | {' | '.join(f'{flows} flows' for flows in given.flows)} | times |")
        print("| --- |" + " ---: |" * (len(given.flows) + 1))
        for name, feature in (BUILDING if is_building else PARTS[part]).items():
            if given.only in name:
                costs = [count(given.program, name, feature, flows) for flows in given.flows]
                print(row(name, costs), flush=True)
        print()


if __name__ == "__main__":
    main()
