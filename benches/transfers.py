"""Times `tailback send` and `tailback recv` beside quinn over loopback, both encrypting and both comparing the file's SHA-256.

    cargo build --release --manifest-path benches/quinn/Cargo.toml
    python -m benches.transfers [--bytes 1000000000] [--rounds 5]

Both programs run in turns. What counts is bytes per second of both processes' CPU time, user and system, beyond what a file of
one byte costs: starting Python or QUIC is no part of moving bytes. Wall time is printed beside it. Files lie in memory
(/dev/shm), so that no disk is measured.
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUINN = ROOT / "benches" / "quinn" / "target" / "release" / "quinn-file"
PORT = 4990


def children() -> float:
    """CPU seconds of all processes that ended, so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(receiver: list[str], sender: Callable[[str], list[str]]) -> tuple[float, float]:
    """CPU seconds of both processes and wall seconds of the sender; the receiver's word that it waits goes to the sender."""
    before = children()
    with subprocess.Popen(receiver, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as waiting:
        assert waiting.stdout is not None
        line = next(line for line in waiting.stdout if "--key" in line or line == "waiting\n")
        began = time.monotonic()
        subprocess.run(sender(line), check=True, stdout=subprocess.DEVNULL)
        wall = time.monotonic() - began
        waiting.stdout.read()
    if waiting.returncode:
        sys.exit(f"{' '.join(receiver)} failed with status {waiting.returncode}")
    return children() - before, wall


def ours(folder: Path, file: Path) -> tuple[float, float]:
    """One transfer by Tailback under CUBIC."""
    target = folder / "in"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    program = str(Path(sys.executable).with_name("tailback"))

    def sender(line: str) -> list[str]:
        key = line.split("--key ", 1)[1].split(maxsplit=1)[0]
        return [program, "send", str(file), f"127.0.0.1:{PORT}", "--key", key, "--json"]

    return timed([program, "recv", str(target), "--port", str(PORT)], sender)


def theirs(folder: Path, file: Path) -> tuple[float, float]:
    """One transfer by quinn under its CUBIC."""
    return timed(
        [str(QUINN), "recv", str(folder / "quinn.bin"), str(PORT)], lambda _: [str(QUINN), "send", str(file), str(PORT)]
    )


def main() -> None:
    """Measures in turns and prints medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=int, default=1_000_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    if not os.access(QUINN, os.X_OK):
        parser.error(f"{QUINN} is not there: cargo build --release --manifest-path benches/quinn/Cargo.toml")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        large, small = folder / "large.bin", folder / "small.bin"
        large.write_bytes(os.urandom(given.bytes))
        small.write_bytes(b"1")
        starts = {one: statistics.median(one(folder, small)[0] for _ in range(3)) for one in (ours, theirs)}
        rates: dict[Callable[[Path, Path], tuple[float, float]], list[float]] = {ours: [], theirs: []}
        walls: dict[Callable[[Path, Path], tuple[float, float]], list[float]] = {ours: [], theirs: []}
        for turn in range(given.rounds):
            for one in (ours, theirs) if turn % 2 == 0 else (theirs, ours):
                cpu, wall = one(folder, large)
                rates[one].append(given.bytes / 1e6 / (cpu - starts[one]))
                walls[one].append(given.bytes / 1e6 / wall)
    ratios = sorted(a / b for a, b in zip(rates[ours], rates[theirs], strict=True))
    print("| | MB per CPU second of both ends | MB per second |\n| --- | ---: | ---: |")
    for label, one in (("tailback", ours), ("quinn", theirs)):
        print(f"| {label} | {statistics.median(rates[one]):.0f} | {statistics.median(walls[one]):.0f} |")
    print(f"\ntailback / quinn: {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")


if __name__ == "__main__":
    main()
