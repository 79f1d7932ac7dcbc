"""Makes the figures of python/tailback/validation/reference/further.csv again, on ns-2 (Debian package `ns2`).

Each of its rows has a name, the options of benches/ns2/oracle.tcl and a number of seeds: to add a configuration, add such a
row with empty figures and run this with its name.
"""

import argparse
import csv
import os
import shutil
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tailback.progress import Bar
from tailback.validation.reference import OPTIONS

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "python" / "tailback" / "validation" / "reference" / "further.csv"
ORACLE = ROOT / "benches" / "ns2" / "oracle.tcl"
FIGURES = {
    "throughput": "thr",
    "utilization": "util",
    "loss": "lossrate",
    "mean_queue": "meanq",
    "goodput": "goodput",
    "tcp_goodput": "tcp_goodput",
    "crossing_goodput": "crossing_goodput",
    "reverse_goodput": "reverse_goodput",
    "completion": "completion",
    "timeouts": "timeouts",
}
"""Our names of figures, and those that the script prints."""


def run(job: tuple[str, int]) -> dict[str, float]:
    """One run of ns-2 with these options and this seed."""
    options, seed = job
    command = ["ns", str(ORACLE), *options.split(), f"seed={seed}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = dict(part.split("=", 1) for part in done.stdout.split() if "=" in part)
    if "goodput" not in found:
        sys.exit(f"{' '.join(command)} failed: {done.stderr.strip() or done.stdout.strip()}")
    return {ours: float(found[theirs]) for ours, theirs in FIGURES.items() if theirs in found}


def wanted(options: str) -> set[str]:
    """The figures that a configuration is compared by, and the time-outs as a hint."""
    given = {**OPTIONS, **dict(part.split("=", 1) for part in options.split())}
    if given["loss"] != "0":
        return {"goodput", "timeouts"}
    if given["size"] != "0":
        return {"completion", "timeouts"}
    plain = {"throughput", "utilization", "loss", "mean_queue", "timeouts"}
    plain |= {"tcp_goodput", "crossing_goodput"} if given["hops"] != "1" else set()
    return plain | ({"tcp_goodput", "reverse_goodput"} if given["reverse"] != "0" else set())


def main() -> None:
    """Runs every row whose name contains the given text, and writes the table anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", default="", help="part of the names of the rows to make (default: all)")
    parser.add_argument("--jobs", type=int, default=None, help="processes (default: all cores)")
    given = parser.parse_args()
    if shutil.which("ns") is None:
        sys.exit("ns-2 is not installed; on Debian: apt-get install ns2")
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    chosen = [row for row in rows if given.name in row["name"]]
    jobs = [(row["options"], seed) for row in chosen for seed in range(1, int(row["seeds"]) + 1)]
    results = []
    with ThreadPoolExecutor(given.jobs or os.cpu_count()) as pool, Bar("ns-2", len(jobs)) as bar:
        for found in pool.map(run, jobs):
            results.append(found)
            bar.advance()
    left = iter(results)
    for row in chosen:
        runs = [next(left) for _ in range(int(row["seeds"]))]
        for name in FIGURES:
            values = [one[name] for one in runs] if name in wanted(row["options"]) else []
            row[f"{name}_mean"] = f"{statistics.fmean(values):.6g}" if values else ""
            row[f"{name}_sd"] = f"{statistics.stdev(values):.3g}" if values else ""
    columns = ["name", "options", "seeds", *(f"{name}_{part}" for name in FIGURES for part in ("mean", "sd"))]
    beside = TABLE.with_suffix(".csv.new")
    with beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(rows)
    beside.replace(TABLE)


if __name__ == "__main__":
    main()
