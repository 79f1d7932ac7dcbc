"""Runs items of a paper for the tools that write pages, and keeps their verdicts in out/items/, so that one item can be run
again without all others: --only. What a page says of an item is in ``pages.py``."""

import pickle
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tailback.papers.item import Fidelity
from tailback.papers.ledger import select
from tailback.papers.reproduce import Verdict, reproduce

KEPT = Path(__file__).resolve().parent.parent / "out" / "items"


def judged(paper: str, fidelity: Fidelity, only: Sequence[str] = ()) -> list[Verdict]:
    """The verdicts on all items of a paper; where some are named, the others' are those of the last time.

    A complete page is of one revision: ``only`` is for items that depend on the machine's rest, or while one works.
    """
    claims = select([paper])
    if unknown := sorted(set(only) - {claim.id for claim in claims}):
        sys.exit(f"--only {unknown[0]}: no item of {paper}; one of {', '.join(claim.id for claim in claims)}")
    with tempfile.TemporaryDirectory() as folder:
        fresh = reproduce([claim for claim in claims if not only or claim.id in only], fidelity, Path(folder))
    found = {verdict.claim.id: verdict for verdict in fresh}
    for verdict in fresh:
        verdict.drawn = verdict.figure = verdict.data = None
        file = _file(verdict.claim.id, fidelity)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps(verdict))
        print(f"{verdict.claim.id}: {verdict.word}, {verdict.wall_s:.0f} s", file=sys.stderr)
    for claim in claims:
        if claim.id not in found:
            found[claim.id] = _kept(claim.id, fidelity)
    return [found[claim.id] for claim in claims]


def _kept(item: str, fidelity: Fidelity) -> Verdict:
    file = _file(item, fidelity)
    if not file.exists():
        sys.exit(
            f"--only needs the other items from an earlier run, and {item} was not run here at {fidelity} fidelity"
        )
    kept: Verdict = pickle.loads(file.read_bytes())
    return kept


def _file(item: str, fidelity: Fidelity) -> Path:
    return KEPT / fidelity / f"{item.replace('/', ' ')}.pickle"
