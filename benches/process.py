"""Runs one program to its end and says what it cost: CPU seconds, peak memory, and the figures it printed."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """What one run of a program cost, and what it said about itself."""

    cpu_s: float
    """User and system CPU seconds of the whole process, set-up included."""
    system_s: float
    """The system's part of it: mostly memory handed out at its first touch."""
    wall_s: float
    peak_bytes: int
    """Largest resident set."""
    said: dict[str, str]
    """The figures of its last line: JSON or key=value pairs."""

    @property
    def delivered(self) -> int:
        """Data packets delivered in order: acknowledged, where the program tells that from received."""
        return int(self.said.get("acked", self.said["delivered"]))

    @property
    def ns_per_packet(self) -> float:
        """CPU nanoseconds per delivered data packet, set-up included."""
        return self.cpu_s * 1e9 / self.delivered

    def beyond(self, start_up: float) -> float:
        """CPU nanoseconds per delivered data packet beyond so many seconds of set-up."""
        return max(self.cpu_s - start_up, 0.0) * 1e9 / self.delivered

    @property
    def loss(self) -> float:
        """Packets dropped per packet delivered or dropped."""
        dropped = int(self.said["dropped"])
        return dropped / (self.delivered + dropped)


def run(command: Sequence[str | Path], core: int | None) -> Cost:
    """Runs `command` (on one core, if given) and waits for it; a failure ends the benchmark with its words."""

    def pin() -> None:
        if core is not None and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {core})

    words = [str(word) for word in command]
    began = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=pin)  # noqa: PLW1509 (one thread)
    peak = 0
    # The programs print one short line, so their pipe never fills while nobody reads it.
    while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
        peak = max(peak, resident_peak(process.pid))
        time.sleep(0.01)
    wall = time.monotonic() - began
    _, status, used = ended
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.stdout is not None
    lines = process.stdout.read().strip().splitlines()
    process.stdout.close()
    if process.returncode or not lines:
        said = " ".join(lines) or "it printed nothing"
        sys.exit(f"{' '.join(words)} failed with status {process.returncode}: {said}")
    return Cost(
        cpu_s=used.ru_utime + used.ru_stime,
        system_s=used.ru_stime,
        wall_s=wall,
        peak_bytes=peak,
        said=figures(lines[-1]),
    )


def resident_peak(process: int) -> int:
    """The largest resident set of a running process so far, in bytes; 0 where the system does not say.

    Not `ru_maxrss`: that one starts at the size of the process that forked, which here is larger than small runs.
    """
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def figures(line: str) -> dict[str, str]:
    """The figures of a line of JSON or of key=value pairs."""
    if line.startswith("{"):
        return {key: str(value) for key, value in json.loads(line).items()}
    return dict(pair.split("=", 1) for pair in line.split() if "=" in pair)
