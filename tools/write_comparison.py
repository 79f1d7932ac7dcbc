"""Compares all schemes on one set of networks and writes the page, its figure and its table: docs/comparison.md; `make
comparison` does this. `make comparison ARGS=--quick` takes less than two minutes and writes to out/comparison, and so does
`ARGS="--custom FILE.py"`, which puts controllers of your own beside the page's rows."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from tailback.errors import TailbackError
from tailback.plot.style import save
from tools.comparison import FAMILIES, LINKS, MEASURES, add_own, intervals, measure, schemes, worst
from tools.comparison_figure import draw
from tools.pages import DOCS, for_a_look, replace, write_cells

PAGE = DOCS / "comparison.md"
FIGURE = DOCS / "_static" / "comparison.svg"
CELLS = DOCS / "_static" / "comparison.csv"
MARKS = ("<!-- comparison, written by make comparison -->", "<!-- end of the comparison -->")

HEAD = [
    "scheme",
    "used",
    "queued, ms",
    "lost, %",
    "Jain of two",
    "share beside CUBIC",
    "CUBIC loses, %",
    "at its worst",
]
FORMS = {
    "utilization": (1, ".2f"),
    "queueing": (1e3, ".0f"),
    "loss": (100, ".2g"),
    "jain": (1, ".2f"),
    "share": (1, ".2f"),
    "harm": (100, ".0f"),
}


def spans(table: pl.DataFrame, it: str) -> list[str]:
    """Of each measure the least and the largest mean over the networks."""
    said = []
    for name in MEASURES:
        factor, form = FORMS[name]
        means = table.filter((pl.col("it") == it) & (pl.col("measure") == name))["mean"]
        low, high = (format(factor * float(value), form) for value in (means.min() or 0.0, means.max() or 0.0))  # type: ignore[arg-type]
        said.append(low if low == high else f"{low} to {high}")
    return said


def standing() -> dict[str, str]:
    """The rows on the page by scheme."""
    text = PAGE.read_text("utf-8").split(MARKS[0], 1)[1].split(MARKS[1], 1)[0]
    return {line.split("`")[1]: line for line in text.splitlines() if line.startswith("| `")}


def markdown(table: pl.DataFrame, seconds: int, seeds: int, kept: Mapping[str, str]) -> str:
    """One row per scheme; those that are kept were made of cells with all their digits."""
    lines = [
        f"{seeds} run{'s' if seeds > 1 else ''} of {seconds} s of each, the first half not counted. Each cell says from where "
        f"to where the means of the {len(LINKS)} networks go; [all cells with their intervals](_static/comparison.csv).",
        "",
        "| " + " | ".join(HEAD) + " |",
        "| --- " * len(HEAD) + "|",
    ]
    for family, titles in FAMILIES.items():
        lines.append(f"| *{family}* |" + " |" * (len(HEAD) - 1))
        for it in titles:
            if it in kept:
                lines.append(kept[it])
                continue
            bad = worst(table, it)
            lines.append("| " + " | ".join([f"`{it}`", *spans(table, it), f"{bad.network}: {bad.words}"]) + " |")
    return "\n".join(lines) + "\n"


def renewed(fresh: pl.DataFrame, titles: list[str]) -> pl.DataFrame:
    """The cells on the page, with those of some schemes measured anew."""
    kept = pl.read_csv(CELLS).filter(~pl.col("it").is_in(titles))
    table = pl.concat([kept, fresh.filter(pl.col("it").is_in(titles))], how="vertical_relaxed")
    order = {"network": list(LINKS), "it": list(schemes()), "measure": list(MEASURES)}
    places = [pl.col(name).replace_strict(values, range(len(values))) for name, values in order.items()]
    return table.sort(places)


def main() -> None:
    """Runs, draws and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="24 s and one seed instead of 60 s and five")
    parser.add_argument("--jobs", type=int, default=None, help="processes (default: all cores)")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--only", nargs="+", choices=list(schemes()), help="measure these; other rows stay as they are")
    chosen.add_argument(
        "--custom",
        nargs="+",
        type=Path,
        metavar="FILE.py",
        help="measure the controllers of these files beside the page's rows",
    )
    given = parser.parse_args()
    seconds, seeds = (24, 1) if given.quick else (60, 5)
    try:
        own = add_own(given.custom) if given.custom else []
    except TailbackError as error:
        parser.error(str(error))
    titles = given.only or own or list(schemes())
    # CUBIC is what harm is counted against.
    table = intervals(measure(seconds, seeds, list(dict.fromkeys([*titles, "cubic"])), given.jobs))
    kept = {}
    if given.only or own:
        table = renewed(table, titles)
        kept = {it: line for it, line in standing().items() if it not in titles}
    apart = given.quick or own
    page, figure, cells = (for_a_look(path, "comparison") if apart else path for path in (PAGE, FIGURE, CELLS))
    save(draw(table), figure, salt="comparison")
    write_cells(table, cells)
    replace(page, *MARKS, markdown(table, seconds, seeds, kept))
    print(page)


if __name__ == "__main__":
    main()
