"""Runs the items of a paper whose page is one table of checks, and writes what they measured into that page; `make
accumulation` and `make probabilistic` do this."""

import argparse

from tailback.papers.lab import Lab
from tailback.papers.pcc import choices, today
from tailback.pool import Pool
from tailback.progress import Bar
from tools import item_table
from tools.pages import DOCS, replace
from tools.verdicts import judged

PAPERS = {"accumulation": "accumulation", "probabilistic": "pcc"}
"""Pages, and what the ledger calls their papers."""


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", choices=PAPERS)
    parser.add_argument("--quick", action="store_true", help="not the paper's own durations and seeds")
    parser.add_argument(
        "--only", metavar="ID", nargs="+", default=[], help="run these items anew and keep the others' lines"
    )
    given = parser.parse_args()
    if given.quick and given.only:
        parser.error("--only: the page keeps the others' lines, which are not --quick")
    verdicts = judged(PAPERS[given.page], "quick" if given.quick else "full", given.only)
    marks = (f"<!-- items, written by make {given.page} -->", "<!-- end of the items -->")
    item_table.write(DOCS / f"{given.page}.md", marks, PAPERS[given.page], verdicts)
    if given.page == "probabilistic" and not given.only:
        with Pool() as pool, Bar("beside CUBIC, over managed queues, with other choices", 0) as bar:
            lab = Lab("quick" if given.quick else "full", pool, bar)
            tables = {"today": today.table(today.measure(lab)), "choices": choices.table(choices.measure(lab))}
        for name, table in tables.items():
            marks = (f"<!-- {name}, written by make probabilistic -->", f"<!-- end of {name} -->")
            replace(DOCS / "probabilistic.md", *marks, table)


if __name__ == "__main__":
    main()
