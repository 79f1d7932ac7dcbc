"""Writes constraints.txt: every Python package that make installs, pinned by version and by the hashes of its files, with the
groups of pyproject.toml that need it. Reading it is done by requirements.py.

    python -m tools.lock [--upgrade | --upgrade-package NAME]

The solver is uv. What is pinned stays as it is while it fits, unless a word says otherwise.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.requirements import LOCK, groups, name_of, wanted

HEAD = """\
# Every Python package that make installs, pinned by version and by the hashes of its files, each below the groups that need
# it. For every platform, and Python from {python} on. Made by `make lock`; do not edit by hand.
"""
PYTHON = "3.11.5"
"""The oldest that all packages admit; those of the documentation are the ones that want more than 3.11."""


def solved(asked: list[str], words: list[str]) -> str:
    """The pins that uv finds for all platforms, each with its hashes and what it is there for."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "-", "--quiet", "--no-header", "--generate-hashes"]
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder) / "pins.txt"
        pins.write_text(LOCK.read_text(encoding="utf-8"), encoding="utf-8")
        command += ["--universal", "--python-version", PYTHON, "--output-file", str(pins), *words]
        done = subprocess.run(command, input="\n".join(asked), capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        return pins.read_text(encoding="utf-8")


def main(words: list[str]) -> None:
    """Solves for all groups at once, and writes what each of them needs of that."""
    known = groups()
    # A pin, its hashes, and below them, as comments, the packages that want it.
    found = re.findall(r"^(\S+==.*\n(?:    --.*\n)*)((?:    #.*\n)*)", solved(wanted(list(known)), words), re.MULTILINE)
    parents = {name_of(block): re.findall(r"[\w.-]+", why.replace("# via", "")) for block, why in found}
    needed = {name: {group for group in known if name in map(name_of, known[group])} for name in parents}
    settled = False
    while not settled:
        settled = True
        for name, above in parents.items():
            more = set().union(*(needed.get(parent, set()) for parent in above)) - needed[name]
            needed[name] |= more
            settled &= not more
    parts = [
        f"# {' '.join(group for group in known if group in needed[name_of(block)])}\n{block}" for block, _ in found
    ]
    LOCK.write_text(HEAD.format(python=PYTHON) + "".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
