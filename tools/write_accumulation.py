"""Runs the items of accumulation-based control and writes what they measured into docs/accumulation.md; `make accumulation`
does this."""

import argparse
import tempfile
from pathlib import Path

from tailback.papers.ledger import select
from tailback.papers.reproduce import Verdict, reproduce
from tools.pages import DOCS, replace

PAGE = DOCS / "accumulation.md"
ITEMS = ("<!-- items, written by make accumulation -->", "<!-- end of the items -->")


def rows(verdicts: list[Verdict]) -> str:
    """A table with one line per check."""
    lines = ["| item | claim | measured | allowed | holds |", "| --- | --- | --- | --- | --- |"]
    for verdict in verdicts:
        name = f"`{verdict.claim.id}`"
        if verdict.outcome is None:
            lines.append(f"| {name} | could not run: {verdict.error} | | | no |")
            continue
        for check in verdict.outcome.checks:
            cells = (name, check.claim, check.measured, check.allowed, "yes" if check.holds else "**no**")
            lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
            name = ""
    return "\n".join(lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="not the paper's own durations and seeds")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        verdicts = reproduce(select(["accumulation"]), "quick" if given.quick else "full", Path(folder))
    replace(PAGE, *ITEMS, rows(verdicts) + "\n")


if __name__ == "__main__":
    main()
