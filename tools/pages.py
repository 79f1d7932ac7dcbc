"""Replaces what a tool writes into a page of the documentation, between two marks, and keeps the text around it."""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


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
