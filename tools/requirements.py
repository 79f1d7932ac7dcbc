"""Prints the requirements of pyproject.toml by group, for pip: run, build, or the name of an extra. Pins nothing."""

import sys
import tomllib
from pathlib import Path


def requirements(groups: list[str]) -> list[str]:
    """Requirement strings of the named groups, in order."""
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    known: dict[str, list[str]] = {
        "build": data["build-system"]["requires"],
        "run": data["project"]["dependencies"],
        **data["project"]["optional-dependencies"],
    }
    unknown = [group for group in groups if group not in known]
    if unknown:
        sys.exit(f"unknown group {', '.join(unknown)}; known: {', '.join(known)}")
    return [requirement for group in groups for requirement in known[group]]


if __name__ == "__main__":
    print(" ".join(requirements(sys.argv[1:])))
