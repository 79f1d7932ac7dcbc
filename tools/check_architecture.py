"""Checks the house rules that no compiler checks: which way dependencies point, where clocks and unsafe code may be.

And that modules of a crate, or of the Python package, do not import each other around a circle, that no file of tests is
left out, that every source file begins by saying what it holds, and that files and Rust items named on the documentation's
pages exist. Licences and formatting are other tools' business.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from import_circles import import_circles  # type: ignore[import-not-found]
from module_circles import circles  # type: ignore[import-not-found]

ROOT = Path(__file__).resolve().parent.parent

# What each crate may depend on directly. `control`, `qdisc`, `link` and `transport` see neither simulator, sockets nor Python.
ALLOWED: dict[str, set[str]] = {
    "core": set(),
    "control": {"core"},
    "qdisc": {"core"},
    "link": {"core", "qdisc"},
    "transport": {"core", "control", "qdisc"},
    "sim": {"core", "control", "qdisc", "link", "transport"},
    "net": {"core", "control", "qdisc", "link", "transport"},
    "scenario": {"core", "control", "qdisc", "link", "transport", "sim", "net"},
    "python": {"core", "control", "qdisc", "link", "transport", "sim", "net", "scenario"},
}
# What tests may use beyond that: one algorithm in two worlds is compared where the sockets are; and a crate itself, with what
# it has for tests alone (its feature `for-tests`).
ALSO_IN_TESTS: dict[str, set[str]] = {
    "net": {"net", "sim"},
    "scenario": {"scenario"},
    "sim": {"sim"},
}
# Crates outside this workspace that only the named crates may use.
RESERVED: dict[str, set[str]] = {
    "pyo3": {"python"},
    "numpy": {"python"},
    "toml": {"scenario"},
    "rustix": {"net"},
    "nix": {"net"},
    "quinn-udp": {"net"},
    "ring": {"net"},
    "snow": {"net"},
    "libc": {"net"},
    "mimalloc": {"python"},
}
# Circles of modules that there are; a new one is a fault. Recursion of the matter are queues within queues (`bucket` and its
# circle) and schemes over schemes (`sac`); in `scenario`, parts of the schema use each other's types. In Python, a custom part
# can register itself, and the registry knows its base classes.
EXCUSED: dict[str, list[list[str]]] = {
    "control": [["scheme", "schemes::sac::config"]],
    "qdisc": [["bucket", "builtin", "config", "custom", "priority"]],
    "scenario": [["aggregate", "link", "scenario", "schedule", "template", "trace"]],
    "tailback": [["custom.parts", "custom.registry"]],
}
HOME_OF_CLOCKS = "net"
# Beside: a function that tells the processor what will be read, and two of the allocator's, of which there is no safe form.
ALSO_UNSAFE = ("crates/core/src/fetch.rs", "crates/python/src/memory.rs")
CLOCKS = re.compile(r"\b(?:Instant|SystemTime)\s*::\s*now\b|\bstd::time::(?:Instant|SystemTime)\b|\bthread::sleep\b")
UNSAFE = re.compile(r"\bunsafe\s*(?:\{|fn\b|impl\b|trait\b|extern\b)|allow\(\s*unsafe_code")
LONGEST_FILE = 400
# A file and a Rust item as pages name them, in backticks. On the walk through the code a line says `file` · `Owner::item`.
NAMED_FILE = re.compile(r"`((?:crates|python|docs|tools|tests|examples|benches|fuzz)/[\w/.-]+\.\w+)`")
NAMED_ITEM = re.compile(r"`([A-Z]\w+)::(\w+)`")
STOP = re.compile(r"(`[\w/.-]+\.rs`) · ([^;]*)")
NAMED_IN_HEAD = re.compile(r"`((?:\w+/)*\w+\.rs)`")


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
        features = package["features"]
        assert isinstance(features, dict)
        as_tested = features.get("as-tested", [])
        for dependency in dependencies:
            name = str(dependency["name"])
            in_tests = dependency["kind"] == "dev" or (dependency["optional"] and f"dep:{name}" in as_tested)
            if name.startswith("tailback-"):
                allowed = ALLOWED[crate] | (ALSO_IN_TESTS.get(crate, set()) if in_tests else set())
                if name.removeprefix("tailback-") not in allowed:
                    kind = "dev-dependency" if in_tests else "dependency"
                    shown = ", ".join(sorted(allowed)) or "nothing of this workspace"
                    yield f"crates/{crate}: {kind} on {name} points the wrong way; allowed: {shown}"
            elif name in RESERVED and crate not in RESERVED[name] and not in_tests:
                yield f"crates/{crate}: {name} is reserved for {', '.join(sorted(RESERVED[name]))}"


def circle_faults(where: Path, found: list[list[str]]) -> Iterator[str]:
    """Modules of a crate or of the package that import each other, and circles that are excused without being there."""
    excused, shown = EXCUSED.get(where.name, []), f"{where.parent.name}/{where.name}"
    for circle in found:
        if circle not in excused:
            yield f"{shown}: {', '.join(circle)} import each other; what they share belongs into a file of its own"
    for circle in excused:
        if circle not in found:
            yield f"{shown}: no circle {', '.join(circle)} any more; strike it from EXCUSED"


def test_faults(crate: Path) -> Iterator[str]:
    """Files of integration tests that the crate's one test program does not name, so that they would never run."""
    program = crate / "tests" / "all.rs"
    if not program.exists():
        return
    named = set(re.findall(r"^mod (\w+);", program.read_text(encoding="utf-8"), re.MULTILINE))
    for path in sorted(program.parent.glob("*.rs")):
        if path != program and path.stem not in named:
            yield f"{path.relative_to(ROOT)}: not named in {program.relative_to(ROOT)}, so it would not run"


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
        at_home = shown.parts[:2] == ("crates", HOME_OF_CLOCKS) or shown.as_posix() in ALSO_UNSAFE
        if not at_home and UNSAFE.search(line):
            yield f"{shown}:{number}: unsafe code; its only homes are crates/{HOME_OF_CLOCKS}, {', '.join(ALSO_UNSAFE)}"


def python_faults(path: Path) -> Iterator[str]:
    """A Python file that does not begin by saying what it holds."""
    text = path.read_text(encoding="utf-8")
    first = next((line for line in text.splitlines() if not line.startswith("#!")), "")
    if not re.match(r'r?"""\S', first):
        yield f'{path.relative_to(ROOT)}:1: the first line must be a docstring """… that says what lives in this file'


def rust_items(text: str) -> set[tuple[str, str]]:
    """What a Rust file defines, as pairs of owner and item: functions and constants of types and traits, variants, fields."""
    items: set[tuple[str, str]] = set()
    # A body ends with a brace at the beginning of a line, or on the line where it began.
    block = re.compile(
        r"^(?:pub(?:\([^)]*\))? )?(impl|trait|enum|struct)\b([^{;]*)\{(?:[^\n]*\}$|(.*?)^\})", re.MULTILINE | re.DOTALL
    )
    for kind, head, body in block.findall(without_comments(text)):
        if kind == "enum":
            members = re.findall(r"^    (\w+)", body, re.MULTILINE)
        elif kind == "struct":
            members = re.findall(r"^    (?:pub(?:\([^)]*\))? )?(\w+):", body, re.MULTILINE)
        else:
            members = re.findall(r"^    (?:pub(?:\([^)]*\))? )?(?:const )?(?:fn |const )?(\w+)", body, re.MULTILINE)
        # Of `impl<R: Recorder> Simulator<R>`, `impl Codec for Wire` and `trait Codec: Send` it is the type or trait.
        named = re.sub(r"^<[^{]*?>+ ", " ", head) if kind == "impl" else head
        owner = re.match(r"\W*(\w+)", named.rsplit(" for ", 1)[-1])
        items.update((owner.group(1), member) for member in members if owner)
    return items


def page_faults(path: Path, known: dict[str, set[tuple[str, str]]]) -> Iterator[str]:
    """Files and Rust items that a page names and that are not there. `known` has what each Rust file defines."""
    shown = path.relative_to(ROOT)
    everywhere = set().union(*known.values())
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        for name in NAMED_FILE.findall(line):
            if not (ROOT / name).exists():
                yield f"{shown}:{number}: there is no {name}"
        for owner, item in NAMED_ITEM.findall(line):
            if (owner, item) not in everywhere:
                yield f"{shown}:{number}: there is no {owner}::{item}"
        for file, items in STOP.findall(line):
            for owner, item in NAMED_ITEM.findall(items):
                if (owner, item) not in known.get(file.strip("`"), everywhere):
                    yield f"{shown}:{number}: {file} does not define {owner}::{item}"


def head_faults(path: Path) -> Iterator[str]:
    """Rust files that the head of a Rust file names and that are not in its crate."""
    shown = path.relative_to(ROOT)
    crate = ROOT.joinpath(*shown.parts[:2])
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.startswith("//!"):
            break
        for name in NAMED_IN_HEAD.findall(line):
            if not any(crate.rglob(name)) and not (ROOT / name).exists():
                yield f"{shown}:{number}: there is no {name} in this crate"


def pages() -> list[Path]:
    """The pages that people write; what tools generate is left out."""
    written = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    return [page for page in written if not {"generated", "_build"} & set(page.relative_to(ROOT).parts)]


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
    for crate in sorted((ROOT / "crates").iterdir()):
        faults.extend(circle_faults(crate, circles(crate / "src")))
        faults.extend(test_faults(crate))
    package = ROOT / "python" / "tailback"
    faults.extend(circle_faults(package, import_circles(package)))
    rust, python = sources(".rs"), sources(".py")
    for path in rust:
        faults.extend(rust_faults(path))
        faults.extend(head_faults(path))
    known = {str(path.relative_to(ROOT)): rust_items(path.read_text(encoding="utf-8")) for path in rust}
    for path in pages():
        faults.extend(page_faults(path, known))
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
