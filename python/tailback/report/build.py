"""The page of ``tailback reproduce``: what was claimed, what was measured, and how to do it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tailback.papers import ledger
from tailback.papers.reproduce import Verdict
from tailback.papers.reproduce import summary as fared
from tailback.plain import plain
from tailback.report.figure import Download, Shown, csv_download
from tailback.report.figure import shown as figure_shown
from tailback.report.page import write_page

_MAX_LISTED = 12


def write_report(
    verdicts: Sequence[Verdict],
    out: Path,
    validation: Sequence[Mapping[str, Any]] | None = None,
    *,
    summary: str | None = None,
) -> Path:
    """Writes ``out/index.html`` about items whose figures and data are already under ``out``.

    Args:
        verdicts: what became of each item.
        out: the report's folder.
        validation: rows of the comparison with a reference simulator, if it was made.
        summary: how the claims fared in one sentence, where it knows more than the verdicts.

    Returns:
        The page's path.

    Raises:
        StorageError: where writing fails; an older page is then still there.
    """
    ran = {verdict.claim.id for verdict in verdicts}
    items = [_item(verdict, out) for verdict in verdicts]
    context = {
        "items": items,
        "summary": summary or fared(verdicts),
        "papers": ledger.papers(),
        "planned": [claim for claim in ledger.claims() if claim.id not in ran],
        "built": {claim.id for claim in ledger.claims() if claim.built},
        "validation": list(validation or ()),
    }
    interactive = any(item["figure"] and item["figure"].plot for item in items)
    return write_page("report.html", out / "index.html", context, interactive=interactive, shown=shown)


def _item(verdict: Verdict, out: Path) -> dict[str, Any]:
    outcome = verdict.outcome
    return {
        "claim": verdict.claim,
        "state": verdict.word,
        "verdict": verdict,
        "outcome": outcome,
        "rows": _beside(verdict),
        "figure": _figure(verdict, out),
        "command": f"tailback reproduce {verdict.claim.id} --{verdict.fidelity}",
    }


def _figure(verdict: Verdict, out: Path) -> Shown | None:
    if verdict.figure is None:
        return None
    data = []
    if verdict.data is not None:
        data = [csv_download("data (CSV)", verdict.data.with_suffix(".csv"), out)]
        data.append(Download("data (Parquet)", verdict.data.relative_to(out).as_posix(), ""))
    return figure_shown(verdict.drawn, verdict.figure, out, name=verdict.claim.id, title=verdict.claim.title, data=data)


def _beside(verdict: Verdict) -> list[tuple[str, str, str]]:
    """Rows of key, published, measured."""
    if verdict.outcome is None:
        return []
    measured, published = plain(verdict.outcome.measured), plain(verdict.claim.published)
    keys = [*measured, *(key for key in published if key not in measured)]
    return [(key, shown(published.get(key)), shown(measured.get(key))) for key in keys]


def shown(value: Any) -> str:
    """A measured value for a reader: four digits, lists and tables on one line."""
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {shown(entry)}" for key, entry in value.items())
    if isinstance(value, list):
        listed = ", ".join(shown(entry) for entry in value[:_MAX_LISTED])
        return f"{listed}, … ({len(value)} in all)" if len(value) > _MAX_LISTED else listed
    return str(value)
