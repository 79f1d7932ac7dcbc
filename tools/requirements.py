"""What make hands to pip: the pinned packages of constraints.txt, with their hashes, that groups need. A group is run, build,
or the name of an extra in pyproject.toml. Writing constraints.txt is done by lock.py.

    tools/requirements.py GROUP...
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "constraints.txt"


def groups() -> dict[str, list[str]]:
    """The requirements of each group, as pyproject.toml has them."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {
        "build": data["build-system"]["requires"],
        "run": data["project"]["dependencies"],
        **data["project"]["optional-dependencies"],
    }


def wanted(names: list[str]) -> list[str]:
    """The requirements of the named groups, in order."""
    known = groups()
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"unknown group {', '.join(unknown)}; known: {', '.join(known)}")
    return [requirement for name in names for requirement in known[name]]


def name_of(line: str) -> str:
    """The package that a requirement is about."""
    return re.split(r"[^\w.-]", line, maxsplit=1)[0].lower().replace("_", "-")


def locked(names: list[str]) -> str:
    """The lines of constraints.txt that the named groups need."""
    wanted(names)
    text = LOCK.read_text(encoding="utf-8")
    needed = re.findall(r"^# ([\w ]+)\n(\S+==.*\n(?:    .*\n)*)", text, re.MULTILINE)
    return "".join(block for group, block in needed if set(group.split()) & set(names))


if __name__ == "__main__":
    print(locked(sys.argv[1:]), end="")
