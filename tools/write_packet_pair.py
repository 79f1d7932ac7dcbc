"""Runs packet-pair's items and its comparison, and writes both into docs/packet-pair.md; `make packet-pair` does this."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tailback.papers.packet_pair.comparison import SEEDS, compare, markdown
from tailback.papers.packet_pair.comparison_figure import draw
from tailback.papers.reproduce import Verdict, summary
from tailback.plain import plain
from tailback.plot.style import save
from tools.pages import DOCS, explained, fared, replace
from tools.verdicts import judged

PAGE = DOCS / "packet-pair.md"
FIGURE = DOCS / "_static" / "packet-pair-comparison.svg"
ITEMS = ("<!-- items, written by make packet-pair -->", "<!-- end of the items -->")
COMPARISON = ("<!-- comparison, written by make packet-pair -->", "<!-- end of the comparison -->")


def leaves(value: Any) -> Iterator[str]:
    """The numbers of a measurement, in order."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        for entry in value:
            yield from leaves(entry)
    else:
        yield (
            f"{value:.4g}"
            if isinstance(value, float) and abs(value) < 1000
            else f"{value:.0f}"
            if isinstance(value, float)
            else "none"
            if value is None
            else str(value)
        )


def figures(verdict: Verdict) -> str:
    """What was measured beside what is published, quantity by quantity."""
    measured = plain(verdict.outcome.measured) if verdict.outcome else {}
    parts = []
    for key in verdict.claim.keys:
        text = f"`{key}` {' '.join(leaves(measured.get(key)))}"
        if key in verdict.claim.published:
            text += f" (published {' '.join(leaves(plain(verdict.claim.published[key])))})"
        parts.append(text)
    return "; ".join(parts)


def items(verdicts: Sequence[Verdict]) -> str:
    """One row per item, and what remains to be said of those whose claim fails."""
    lines = [
        summary(verdicts),
        "",
        "| item | shows | claim | measured |",
        "| --- | --- | --- | --- |",
    ]
    for verdict in verdicts:
        name = verdict.claim.id.split("/", 1)[1]
        lines.append(f"| {name} | {verdict.claim.title} | {fared(verdict)} | {figures(verdict)} |")
    for verdict in verdicts:
        lines += explained(verdict)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Runs, writes and sums up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"of the comparison (default: {SEEDS})")
    parser.add_argument("--only", choices=["items", "comparison"], default=None)
    given = parser.parse_args()
    if given.only != "comparison":
        replace(PAGE, *ITEMS, items(judged("packet-pair", "full")))
    if given.only != "items":
        table = compare(given.seeds)
        save(draw(table), FIGURE, salt="packet-pair/comparison")
        replace(PAGE, *COMPARISON, markdown(table))


if __name__ == "__main__":
    main()
