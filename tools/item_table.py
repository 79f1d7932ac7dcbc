"""What a page says of a paper's items: the table of checks and the paragraphs below it. An item that was not run keeps the
lines that the page has. Running items is in ``verdicts.py``."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tailback.papers.ledger import select
from tailback.papers.reproduce import Verdict, tally
from tools.pages import between, explained, fared, replace

ANSWERS = {True: "yes", False: "**no**", None: "not run"}
HEAD = ("| item | claim | measured | allowed | holds |", "| --- | --- | --- | --- | --- |")
FIRST = re.compile(r"\| `(?P<item>[^`]+)` \**(?P<word>\w+)\**(?:; test changed: \**(?P<changed>\w+)\**)? \|")
"""An item's first line in the table: its name, how its claim fared, and how by a changed test."""
PARAGRAPH = re.compile(r"\*\*(?P<item>[\w-]+/[\w-]+)\b")
"""How a paragraph about an item begins."""


@dataclass(frozen=True)
class Entry:
    """What a page says of one item."""

    word: str
    """How its claim fared."""
    changed: bool | None
    """Whether it holds by a changed test; ``None`` where there is none."""
    lines: tuple[str, ...]
    """Of the table."""
    paragraphs: tuple[str, ...]


def entry(verdict: Verdict) -> Entry:
    """A line for each check, and why it is so."""
    name, outcome = f"`{verdict.claim.id}` {fared(verdict)}", verdict.outcome
    if outcome is None:
        lines = [f"| {name} | could not run: {verdict.error} | | | no |"]
    else:
        lines = []
        for title, checks in outcome.tests:
            for check in checks:
                claim = f"*{title}:* {check.claim}" if title else check.claim
                cells = (name, claim, check.measured, check.allowed, ANSWERS[check.holds])
                lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
                name = ""
    changed = outcome.changed.holds if outcome and outcome.changed else None
    return Entry(verdict.word, changed, tuple(lines), tuple(line for line in explained(verdict) if line))


def entries(text: str) -> dict[str, Entry]:
    """What a page's text says of its items, by their names."""
    lines: dict[str, list[str]] = {}
    paragraphs: dict[str, list[str]] = {}
    words: dict[str, tuple[str, bool | None]] = {}
    item = ""
    for line in text.splitlines():
        if found := FIRST.match(line):
            item, changed = found["item"], found["changed"]
            words[item] = (found["word"], None if changed is None else changed == "holds")
        if line.startswith("| ") and item:
            lines.setdefault(item, []).append(line)
        elif about := PARAGRAPH.match(line):
            paragraphs.setdefault(about["item"], []).append(line)
    return {item: Entry(*words[item], tuple(own), tuple(paragraphs.get(item, ()))) for item, own in lines.items()}


def written(told: Sequence[Entry]) -> str:
    """How many claims fared how, the table, and the paragraphs."""
    count = tally([one.word for one in told], [one.changed for one in told if one.changed is not None])
    table = [line for one in told for line in one.lines]
    below = [line for one in told for paragraph in one.paragraphs for line in ("", paragraph)]
    return "\n".join([count, "", *HEAD, *table, *below])


def write(page: Path, marks: tuple[str, str], paper: str, verdicts: Sequence[Verdict], before: str = "") -> None:
    """Writes all items of a paper between the marks of its page, those without a verdict as the page has them.

    ``before`` is put before the count.
    """
    known = entries(between(page, *marks)) | {verdict.claim.id: entry(verdict) for verdict in verdicts}
    names = [claim.id for claim in select([paper])]
    if missing := [name for name in names if name not in known]:
        sys.exit(f"{page} has no lines of {missing[0]}, which was not run")
    replace(page, *marks, f"{before}{written([known[name] for name in names])}\n")
