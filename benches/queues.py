"""What a packet costs in each queue discipline, from the output of crates/qdisc/benches/per_packet.rs."""

import re
import subprocess
import sys
from pathlib import Path

BATCH = 1000
"""Packets per measured call."""
FLOWS = ("10", "1000", "100000")
# Nanoseconds per packet that the project asks for: of the decision alone, and of one enqueue and one dequeue.
ADMISSION_TARGETS = {"drop-tail": 15}
ACTIVE_TARGET = 40
FAIR_TARGET = 120

_UNITS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}
_ROW = re.compile(r"^(?P<depth>[│ ]*)[├╰]─ (?P<name>\S+)\s*(?P<rest>.*)$")
_TIME = re.compile(r"([\d.]+) (ns|µs|ms|s)")


def run(root: Path, quick: bool) -> str:
    """The benchmark's own output."""
    command = ["cargo", "bench", "--quiet", "-p", "tailback-qdisc", "--bench", "per_packet"]
    command += ["--", "--sample-count", "3"] if quick else []
    result = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(command)} failed with status {result.returncode}")
    return result.stdout


def medians(output: str) -> dict[str, dict[str, float]]:
    """Nanoseconds per packet, by group and by argument; a benchmark without arguments has the argument ''."""
    found: dict[str, dict[str, float]] = {}
    group = ""
    for line in output.splitlines():
        match = _ROW.match(line)
        if match is None:
            continue
        times = _TIME.findall(match["rest"])
        if not match["depth"].strip("│ ") and not match["depth"]:
            group = match["name"]
        if len(times) >= 3:
            value, unit = times[2]
            argument = match["name"] if match["depth"] else ""
            found.setdefault(group, {})[argument] = float(value) * _UNITS[unit] / BATCH
    return found


def table(output: str) -> list[str]:
    """The page's tables."""
    found = medians(output)
    lines = [
        "Nanoseconds per packet, medians of one core. *Decision*: admission alone, as a link takes it that computes "
        "departures at entry. *Through the queue*: one enqueue and one dequeue with 100 packets waiting, the general "
        f"form. Asked: drop-tail under {ADMISSION_TARGETS['drop-tail']}, active management under {ACTIVE_TARGET}.",
        "",
        "| discipline | decision | through the queue |",
        "| --- | ---: | ---: |",
    ]
    decision = found.pop("admission", {})
    through = {**found.pop("plain", {}), **found.pop("active", {})}
    for name in dict.fromkeys([*through, *decision]):
        lines.append(f"| {name} | {shown(decision.get(name))} | {shown(through.get(name))} |")
    lines += [
        "",
        f"Disciplines with a queue per flow, two packets waiting per flow; asked: under {FAIR_TARGET} at any number.",
        "",
        "| discipline | 10 flows | 1000 flows | 100 000 flows |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, values in found.items():
        if set(values) >= set(FLOWS):
            cells = " | ".join(shown(values[flows]) for flows in FLOWS)
            lines.append(f"| {name.replace('_', '-')} | {cells} |")
    if "nothing" in found:
        lines += ["", f"Of each, {shown(found['nothing'].get(''))} ns are the measuring itself."]
    return lines


def shown(value: float | None) -> str:
    """A time, or nothing where there is none."""
    return "" if value is None else f"{value:.1f}" if value < 100 else f"{value:.0f}"
