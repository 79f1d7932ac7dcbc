"""What the tools that write pages of the documentation share: replacing text between two marks, and words for verdicts."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tailback.papers.reproduce import Verdict

DOCS = Path(__file__).resolve().parent.parent / "docs"
SHOWN = (
    "accumulation/fig-5",
    "mtsc/fig-10",
    "mtsc/fig-2",
    "mtsc/table-1",
    "pcc/fig-5",
    "pcc/fig-8",
    "pcc/fig-9",
    "tdqm/fig-6",
    "tdqm/settling",
    "tdqm/versus-red-ecn",
)
"""Items whose figures stand on the pages."""


def replace(page: Path, begin: str, end: str, text: str) -> None:
    """Writes ``text`` between the marks ``begin`` and ``end`` of ``page``, or stops where they are missing."""
    whole = page.read_text(encoding="utf-8")
    head, begun, rest = whole.partition(begin)
    _, ended, tail = rest.partition(end)
    if not begun or not ended:
        sys.exit(f"{page}: the marks '{begin}' and '{end}' are missing")
    beside = page.with_suffix(".md.new")
    beside.write_text(f"{head}{begin}\n\n{text}\n{end}{tail}", encoding="utf-8")
    beside.replace(page)


def keep_pictures(verdicts: Sequence[Verdict]) -> None:
    """Copies the figures that pages show beside them."""
    for verdict in verdicts:
        if verdict.claim.id in SHOWN and verdict.figure:
            shutil.copyfile(verdict.figure, DOCS / "_static" / f"{verdict.claim.id.replace('/', '-')}.svg")


def table(head: list[str], lines: list[list[str]]) -> str:
    """A table as Markdown."""
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *lines])


def fared(verdict: Verdict) -> str:
    """The verdict on an item, and that of a changed test beside it."""
    word = verdict.word if verdict.holds else f"**{verdict.word}**"
    changed = verdict.outcome.changed if verdict.outcome else None
    return f"{word}; test changed: {'holds' if changed.holds else '**fails**'}" if changed else word


def explained(verdict: Verdict) -> list[str]:
    """Paragraphs about an item whose verdict or published values need them."""
    name = verdict.claim.id
    outcome = verdict.outcome
    if outcome is None:
        return ["", f"**{name} could not run.** {verdict.error}"]
    paragraphs = []
    if outcome.refutation:
        paragraphs.append(f"**{name} is {verdict.word}.** {outcome.refutation.proof}")
    elif not verdict.holds:
        paragraphs.append(f"**{name}: {verdict.word}.** {outcome.why}")
    elif outcome.why:
        paragraphs.append(f"**{name}.** {outcome.why}")
    if outcome.changed:
        paragraphs.append(f"**{name}, test changed.** {outcome.changed.why}")
    return [line for paragraph in paragraphs for line in ("", paragraph)]
