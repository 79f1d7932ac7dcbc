"""Runs the items of a paper whose page is one table of checks, and writes what they measured into that page; `make
accumulation` and `make probabilistic` do this."""

import argparse

from tailback.papers.lab import Lab
from tailback.papers.pcc import today
from tailback.papers.reproduce import Verdict, summary
from tailback.pool import Pool
from tailback.progress import Bar
from tools.pages import DOCS, explained, fared, replace
from tools.verdicts import judged

PAPERS = {"accumulation": "accumulation", "probabilistic": "pcc"}
"""Pages, and what the ledger calls their papers."""
ANSWERS = {True: "yes", False: "**no**", None: "not run"}


def rows(verdicts: list[Verdict]) -> str:
    """A table with one line per check."""
    lines = [summary(verdicts), "", "| item | claim | measured | allowed | holds |", "| --- | --- | --- | --- | --- |"]
    for verdict in verdicts:
        name = f"`{verdict.claim.id}` {fared(verdict)}"
        if verdict.outcome is None:
            lines.append(f"| {name} | could not run: {verdict.error} | | | no |")
            continue
        for title, checks in verdict.outcome.tests:
            for check in checks:
                claim = f"*{title}:* {check.claim}" if title else check.claim
                cells = (name, claim, check.measured, check.allowed, ANSWERS[check.holds])
                lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
                name = ""
    for verdict in verdicts:
        lines += explained(verdict)
    return "\n".join(lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", choices=PAPERS)
    parser.add_argument("--quick", action="store_true", help="not the paper's own durations and seeds")
    parser.add_argument("--only", metavar="ID", nargs="+", default=[], help="run these items anew and keep the others")
    given = parser.parse_args()
    verdicts = judged(PAPERS[given.page], "quick" if given.quick else "full", given.only)
    marks = (f"<!-- items, written by make {given.page} -->", "<!-- end of the items -->")
    replace(DOCS / f"{given.page}.md", *marks, rows(verdicts) + "\n")
    if given.page == "probabilistic" and not given.only:
        with Pool() as pool, Bar("beside CUBIC, over managed queues", 0) as bar:
            lab = Lab("quick" if given.quick else "full", pool, bar)
            beside = today.table(today.measure(lab))
        replace(
            DOCS / "probabilistic.md", "<!-- today, written by make probabilistic -->", "<!-- end of today -->", beside
        )


if __name__ == "__main__":
    main()
