"""Checks, offline, that every Rust and Python dependency states a licence the project may ship with."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Permissive licences, by SPDX identifier. A dependency passes if its expression can be met from these alone.
ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "HPND",
    "ISC",
    "MIT",
    "MIT-0",
    "MIT-CMU",
    "PSF-2.0",
    "Python-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}
# Tools that developers run and nobody ships; file-level copyleft is no obstacle there.
ALLOWED_FOR_TOOLS = ALLOWED | {"MPL-2.0"}
PYTHON_TOOLS = {"hypothesis", "pathspec", "certifi"}

# Python packages whose metadata says it in prose or not at all: what their licence file says, read by a person.
READ_BY_A_PERSON = {
    # COPYING.txt: public domain and BSD; the GPL covers an Emacs mode that is not in the wheel.
    "docutils": "BSD-2-Clause",
}

# Trove classifiers and the free-text habits seen in the field, as SPDX.
PROSE = {
    "apache": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "bsd-2": "BSD-2-Clause",
    "2-clause bsd": "BSD-2-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
    "the unlicense (unlicense)": "Unlicense",
    "zero-clause bsd (0bsd)": "0BSD",
}


def satisfied(expression: str, allowed: set[str]) -> bool:
    """Whether an SPDX expression can be met: any side of OR, every side of AND; `/` is cargo's old way to say OR."""
    tokens = re.findall(r"\(|\)|[^\s()/]+|/", expression.replace(" WITH ", "\0"))
    tokens = [token.replace("\0", " WITH ") for token in tokens]
    position = 0

    def any_of() -> bool:
        nonlocal position
        result = all_of()
        while position < len(tokens) and tokens[position] in ("OR", "/"):
            position += 1
            result = all_of() or result
        return result

    def all_of() -> bool:
        nonlocal position
        result = one()
        while position < len(tokens) and tokens[position] == "AND":
            position += 1
            result = one() and result
        return result

    def one() -> bool:
        nonlocal position
        if position >= len(tokens):
            return False
        token = tokens[position]
        position += 1
        if token == "(":
            result = any_of()
            position += 1
            return result
        return token in allowed

    return any_of() and position == len(tokens)


def rust_licences() -> Iterator[tuple[str, str]]:
    """Every crate that the lock file pins, with its licence expression."""
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--offline"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode:  # crates of other platforms may never have been downloaded: fetch them once
        command.remove("--offline")
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{result.stderr}")
    for package in json.loads(result.stdout)["packages"]:
        if package["source"] is not None:
            yield f"{package['name']} {package['version']}", package["license"] or ""


def python_licence(distribution: Distribution) -> str:
    """The licence of an installed package as SPDX: its expression, else its classifiers, else its free text."""
    meta = distribution.metadata
    name = meta["Name"]
    if name in READ_BY_A_PERSON:
        return READ_BY_A_PERSON[name]
    if "License-Expression" in meta:
        return meta["License-Expression"]
    classifiers = [
        text.rsplit(" :: ", 1)[1].lower()
        for text in meta.get_all("Classifier") or []
        if text.startswith("License ::") and text != "License :: OSI Approved"
    ]
    if classifiers:
        # Several classifiers may mean a choice or a mixture: all must be allowed.
        return " AND ".join(PROSE.get(text, text.replace(" ", "-")) for text in classifiers)
    texts: list[str] = meta.get_all("License") or [""]
    text = texts[0].strip().split("\n")[0]
    return PROSE.get(text.lower(), text)


def main() -> None:
    """Prints every dependency whose licence is not allowed and exits with 1 if there is any."""
    faults: list[str] = []
    rust = sorted(rust_licences())
    for name, expression in rust:
        if not satisfied(expression, ALLOWED):
            faults.append(f"crate {name}: licence '{expression or 'none stated'}'")
    python = sorted(distributions(), key=lambda found: found.metadata["Name"].lower())
    for distribution in python:
        name = distribution.metadata["Name"]
        allowed = ALLOWED_FOR_TOOLS if name.lower() in PYTHON_TOOLS else ALLOWED
        if not satisfied(python_licence(distribution), allowed):
            faults.append(f"Python package {name}: licence '{python_licence(distribution) or 'none stated'}'")
    if faults:
        print("\n".join(faults), file=sys.stderr)
        sys.exit(f"licences: {len(faults)} not in the list of allowed ones: {', '.join(sorted(ALLOWED))}")
    print(f"licences: {len(rust)} crates and {len(python)} Python packages, all permissive")


if __name__ == "__main__":
    main()
