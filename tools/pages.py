"""What the tools that write pages of the documentation share: text between two marks, and words for verdicts."""

import sys
from pathlib import Path

import polars as pl

from tailback.papers.reproduce import Verdict

DOCS = Path(__file__).resolve().parent.parent / "docs"


def replace(page: Path, begin: str, end: str, text: str) -> None:
    """Writes ``text`` between the marks ``begin`` and ``end`` of ``page``, or stops where they are missing."""
    head, _, tail = _parts(page, begin, end)
    beside = page.with_suffix(".md.new")
    beside.write_text(f"{head}{begin}\n\n{text}\n{end}{tail}", encoding="utf-8")
    beside.replace(page)


def for_a_look(path: Path, name: str) -> Path:
    """Where a file of the documentation goes that is made for a look only: a folder under ``out``, with the page as it is."""
    target = Path("out") / name / path.relative_to(DOCS)
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".md":
        target.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    return target


def between(page: Path, begin: str, end: str) -> str:
    """What stands between the marks, or stops where they are missing."""
    return _parts(page, begin, end)[1]


def _parts(page: Path, begin: str, end: str) -> tuple[str, str, str]:
    head, begun, rest = page.read_text(encoding="utf-8").partition(begin)
    inside, ended, tail = rest.partition(end)
    if not begun or not ended:
        sys.exit(f"{page}: the marks '{begin}' and '{end}' are missing")
    return head, inside, tail


def table(head: list[str], lines: list[list[str]]) -> str:
    """A table as Markdown."""
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *lines])


def write_cells(table: pl.DataFrame, path: Path) -> None:
    """Writes a table of ``mean`` and ``half_width`` for those who want every cell, four digits of each. What there is none of is
    an empty cell."""
    rounded = table.with_columns(pl.col("mean", "half_width").round_sig_figs(4).fill_nan(None))
    path.write_text(rounded.write_csv(), encoding="utf-8")


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
