"""Runs items of a paper for the tools that write pages. What a page says of an item is in ``item_table.py``."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tailback.papers.item import Fidelity
from tailback.papers.ledger import select
from tailback.papers.reproduce import Verdict, reproduce


def judged(paper: str, fidelity: Fidelity, only: Sequence[str] = ()) -> list[Verdict]:
    """The verdicts on all items of a paper, or on those that are named.

    A complete page is of one revision: ``only`` is for items that depend on the machine's rest, or while one works.
    """
    claims = select([paper])
    if unknown := sorted(set(only) - {claim.id for claim in claims}):
        sys.exit(f"--only {unknown[0]}: no item of {paper}; one of {', '.join(claim.id for claim in claims)}")
    with tempfile.TemporaryDirectory() as folder:
        verdicts = reproduce([claim for claim in claims if not only or claim.id in only], fidelity, Path(folder))
    for verdict in verdicts:
        print(f"{verdict.claim.id}: {verdict.word}, {verdict.wall_s:.0f} s", file=sys.stderr)
    return verdicts
