"""Checks the house rules that no compiler checks: which way dependencies point, where clocks and unsafe code may be.

And that every source file begins by saying what it holds. Licences and formatting are other tools' business.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# What each crate may depend on directly. `control`, `qdisc` and `transport` see neither simulator, sockets nor Python.
ALLOWED: dict[str, set[str]] = {
    "core": set(),
    "control": {"core"},
    "qdisc": {"core"},
    "transport": {"core", "control", "qdisc"},
    "sim": {"core", "control", "qdisc", "transport"},
    "net": {"core", "control", "qdisc", "transport"},
    "scenario": {"core", "control", "qdisc", "transport", "sim", "net"},
    "python": {"core", "control", "qdisc", "transport", "sim", "net", "scenario"},
}
# What tests may use beyond that: one algorithm in two worlds is compared where the sockets are.
ALSO_IN_TESTS: dict[str, set[str]] = {
    "net": {"sim"},
}
# Crates outside this workspace that only the named crates may use.
RESERVED: dict[str, set[str]] = {
    "pyo3": {"python"},
    "numpy": {"python"},
    "toml": {"scenario"},
    "rustix": {"net"},
    "socket2": {"net"},
    "quinn-udp": {"net"},
    "tun-rs": {"net"},
    "libc": {"net"},
}
HOME_OF_CLOCKS = "net"
CLOCKS = re.compile(r"\b(?:Instant|SystemTime)\s*::\s*now\b|\bstd::time::(?:Instant|SystemTime)\b|\bthread::sleep\b")
UNSAFE = re.compile(r"\bunsafe\s*(?:\{|fn\b|impl\b|trait\b|extern\b)|allow\(\s*unsafe_code")
LONGEST_FILE = 400


def without_comments(text: str) -> str:
    """Rust source with `//` comments blanked, so that prose about clocks is not taken for their use."""
    return re.sub(r"//[^\n]*", "", text)


def metadata() -> dict[str, list[dict[str, object]]]:
    """The workspace as cargo sees it, without its outside dependencies."""
    command = ["cargo", "metadata", "--format-version=1", "--no-deps", "--locked", "--offline"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{result.stderr}")
    loaded: dict[str, list[dict[str, object]]] = json.loads(result.stdout)
    return loaded


def dependency_faults(packages: Iterable[dict[str, object]]) -> Iterator[str]:
    """One line per dependency that points the wrong way."""
    for package in packages:
        crate = str(package["name"]).removeprefix("tailback-")
        if crate not in ALLOWED:
            yield f"crates/{crate}: unknown crate; give it a place in ALLOWED of {Path(__file__).name}"
            continue
        dependencies = package["dependencies"]
        assert isinstance(dependencies, list)
        for dependency in dependencies:
            name = str(dependency["name"])
            in_tests = dependency["kind"] == "dev"
            if name.startswith("tailback-"):
                allowed = ALLOWED[crate] | (ALSO_IN_TESTS.get(crate, set()) if in_tests else set())
                if name.removeprefix("tailback-") not in allowed:
                    kind = "dev-dependency" if in_tests else "dependency"
                    shown = ", ".join(sorted(allowed)) or "nothing of this workspace"
                    yield f"crates/{crate}: {kind} on {name} points the wrong way; allowed: {shown}"
            elif name in RESERVED and crate not in RESERVED[name] and not in_tests:
                yield f"crates/{crate}: {name} is reserved for {', '.join(sorted(RESERVED[name]))}"


def rust_faults(path: Path) -> Iterator[str]:
    """Clocks, unsafe code and a missing or late first line in one Rust file."""
    text = path.read_text(encoding="utf-8")
    shown = path.relative_to(ROOT)
    if not re.match(r"//! \S", text):
        yield f"{shown}:1: the first line must be `//! …` and say what lives in this file"
    code = without_comments(text)
    for number, line in enumerate(code.splitlines(), start=1):
        if shown.parts[:2] != ("crates", HOME_OF_CLOCKS) and CLOCKS.search(line):
            yield f"{shown}:{number}: reads a clock; time is an argument everywhere but in crates/{HOME_OF_CLOCKS}"
        if shown.parts[:2] != ("crates", HOME_OF_CLOCKS) and UNSAFE.search(line):
            yield f"{shown}:{number}: unsafe code; its only home is crates/{HOME_OF_CLOCKS}"


def python_faults(path: Path) -> Iterator[str]:
    """A Python file that does not begin by saying what it holds."""
    text = path.read_text(encoding="utf-8")
    first = next((line for line in text.splitlines() if not line.startswith("#!")), "")
    if not re.match(r'r?"""\S', first):
        yield f'{path.relative_to(ROOT)}:1: the first line must be a docstring """… that says what lives in this file'


def sources(suffix: str) -> list[Path]:
    """Every file of the project with this suffix, outside of what tools generate."""
    skipped = {"target", ".venv", "_build", "out", "results", "node_modules"}
    return sorted(
        path
        for path in ROOT.rglob(f"*{suffix}")
        if not any(part in skipped or part.startswith(".") for part in path.relative_to(ROOT).parts)
    )


def main() -> None:
    """Prints every fault and exits with 1 if there is any."""
    faults = list(dependency_faults(metadata()["packages"]))
    rust, python = sources(".rs"), sources(".py")
    for path in rust:
        faults.extend(rust_faults(path))
    for path in python:
        faults.extend(python_faults(path))
    for path in rust + python:
        length = path.read_text(encoding="utf-8").count("\n")
        if length > LONGEST_FILE * 1.25:
            print(f"note: {path.relative_to(ROOT)} has {length} lines; one idea per file, about {LONGEST_FILE}")
    if faults:
        print("\n".join(faults), file=sys.stderr)
        sys.exit(f"architecture: {len(faults)} fault(s)")
    print(f"architecture: {len(ALLOWED)} crates, {len(rust)} Rust and {len(python)} Python files, no fault")


if __name__ == "__main__":
    main()
