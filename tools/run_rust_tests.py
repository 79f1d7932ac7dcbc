"""Runs the Rust tests as ``cargo test --workspace`` does, but those of real sockets beside the others: these wait, the others
compute. A program that does not end, and one that is no program of tests, has failed. What is built and how is cargo's business;
examples that have no tests are not built.

    tools/run_rust_tests.py
"""

import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = ["cargo", "test", "--workspace", "--locked"]
LIMIT = 3600.0
"""Seconds that a program may take: many times what the slowest takes on two cores. Only one that hangs gets there."""
ENDED = b"\ntest result: "
"""What every program of tests says at its end, even where it has none."""
# Make's own jobs are none of cargo's business: their pipe is not handed on, and cargo would complain of each crate.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MFLAGS"}}


@dataclass(frozen=True)
class Program:
    """A program of tests, and the folder of its package, in which cargo runs it."""

    path: Path
    folder: Path
    source: Path
    waits: bool
    """It is about sockets and namespaces."""

    @property
    def title(self) -> str:
        """What cargo would call it."""
        return f"{self.source.relative_to(ROOT)} ({self.path.name})"


def programs() -> list[Program]:
    """Builds all programs of tests; ends where that fails, which cargo has told, or where there are none."""
    command = [*CARGO, "--tests", "--no-run", "--message-format=json-render-diagnostics"]
    built = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=False)
    if built.returncode:
        sys.exit(built.returncode)
    found = []
    for line in built.stdout.splitlines():
        told = json.loads(line)
        if told["reason"] != "compiler-artifact" or not told["executable"] or not told["profile"]["test"]:
            continue
        folder, source = Path(told["manifest_path"]).parent, Path(told["target"]["src_path"])
        waits = folder.name == "net" and told["target"]["kind"] == ["test"]
        found.append(Program(Path(told["executable"]), folder, source, waits))
    if not found:
        sys.exit("cargo has built no program of tests")
    return sorted(found, key=lambda program: program.title)


def succeeds(program: Program, told: threading.Lock, limit: float = LIMIT) -> bool:
    """Runs it for so many seconds at most, and prints what it said at its end: two at once do not talk into each other's
    sentences."""
    environment = {**ENVIRONMENT, "CARGO_MANIFEST_DIR": str(program.folder)}
    # Real time is kept better where what only computes steps back.
    command = [str(program.path)] if program.waits else ["nice", "-n", "19", str(program.path)]
    out = subprocess.PIPE
    try:
        ended = subprocess.run(
            command,
            cwd=program.folder,
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            timeout=limit,
            check=False,
        )
        said, failure = ended.stdout, f"exit status {ended.returncode}" if ended.returncode else ""
        if not failure and ENDED not in said:
            failure = "it ran no tests, and does not say that there are none"
    except subprocess.TimeoutExpired as hung:
        said, failure = hung.stdout or b"", f"still running after {limit:g} s, and stopped"
    with told:
        print(f"     Running {program.title}", flush=True)
        sys.stdout.buffer.write(said)
        if failure:
            print(f"{program.title}: failed, {failure}")
        sys.stdout.flush()
    return not failure


def all_succeed(wanted: list[Program], told: threading.Lock) -> bool:
    """Runs one after the other, each, whatever became of those before."""
    outcomes = [succeeds(program, told) for program in wanted]
    return all(outcomes)


def main() -> None:
    """Runs everything, the examples in the documentation last."""
    found, told = programs(), threading.Lock()
    waited: list[bool] = []
    waiting = threading.Thread(
        target=lambda: waited.append(all_succeed([program for program in found if program.waits], told))
    )
    waiting.start()
    computed = all_succeed([program for program in found if not program.waits], told)
    waiting.join()
    documented = subprocess.run([*CARGO, "--doc"], cwd=ROOT, env=ENVIRONMENT, check=False).returncode == 0
    sys.exit(not (computed and waited == [True] and documented))


if __name__ == "__main__":
    main()
