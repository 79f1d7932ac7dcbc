"""Runs the test cases of RFC 8867 under three schemes and writes the tables and figures of the how-to on media:
docs/howto/evaluate-media.md; `make media` does this. `make media ARGS=--quick` writes to out/media, of two seeds;
`ARGS=--synthetic` writes there too, the tables under RFC 8593's synthetic coder."""

from __future__ import annotations

import argparse
import math

import polars as pl

from tailback.plot.style import save
from tools.media_cases import MEASURES, ROWS, SCHEMES, SEEDS, intervals, measure
from tools.media_figure import draw_capacity, draw_shares
from tools.pages import DOCS, for_a_look, replace, write_cells
from tools.pages import table as markdown_table

PAGE = DOCS / "howto" / "evaluate-media.md"
CELLS = DOCS / "_static" / "media.csv"
FIGURES = {DOCS / "_static" / "media-capacity.svg": draw_capacity, DOCS / "_static" / "media-shares.svg": draw_shares}
MARKS = ("<!-- measured, written by make media -->", "<!-- end of measured -->")

TABLES = {
    "Rate of a call's video, and packets of it that were lost:": {"rate": "Mbit/s", "lost": "lost, %"},
    "One-way delay, median and 95th percentile:": {"delay_p50": "median, ms", "delay_p95": "95 %, ms"},
    "Time after a change until the rate is stable, and largest rate over least:": {
        "steady": "stable, s",
        "ratio": "ratio",
    },
}
"""What each table tells, by the measures in it and what their columns are called."""


def cell(mean: float, half_width: float) -> str:
    """A mean with its half-width, to two or three digits that say something; nothing where it means nothing."""
    if math.isnan(mean):
        return ""
    digits = 0 if mean >= 20 else 1 if mean >= 3 else 2
    said = f"{mean:.{digits}f}"
    return (
        said if not math.isfinite(half_width) else f"{said}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{half_width:.{digits}f}"
    )


def rows(table: pl.DataFrame, measures: dict[str, str]) -> str:
    """One row per case; for both measures a column per scheme."""
    found = {
        (row["case"], row["scheme"], row["measure"]): cell(row["mean"], row["half_width"])
        for row in table.iter_rows(named=True)
    }
    columns = [(scheme, name) for name in measures for scheme in SCHEMES]
    lines = [[case, *(found[case, *column] for column in columns)] for case in ROWS]
    # A measure that says nothing of a case has no row for it.
    kept = [line for line in lines if any(line[1:])]
    return markdown_table(["case", *(f"{scheme}: {measures[name]}" for scheme, name in columns)], kept)


def markdown(table: pl.DataFrame, seeds: int) -> str:
    """Three tables."""
    parts = [
        f"{seeds} runs of each; ± is the half-width of the interval at 95 %. [All cells](../_static/media.csv).",
    ]
    for said, measures in TABLES.items():
        parts += [said, rows(table, measures)]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Runs, draws and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two seeds instead of ten")
    parser.add_argument("--synthetic", action="store_true", help="RFC 8593's synthetic coder; no figures")
    parser.add_argument("--jobs", type=int, default=None, help="processes (default: all cores)")
    given = parser.parse_args()
    seeds = 2 if given.quick else SEEDS
    table = intervals(measure(seeds, given.jobs, synthetic=given.synthetic))
    looks = given.quick or given.synthetic
    page, cells, *figures = (for_a_look(path, "media") if looks else path for path in (PAGE, CELLS, *FIGURES))
    for figure, draw in () if given.synthetic else zip(figures, FIGURES.values(), strict=True):
        save(draw(), figure, salt=figure.stem)
    write_cells(table.with_columns(about=pl.col("measure").replace_strict(MEASURES)), cells)
    replace(page, *MARKS, markdown(table, seeds))
    print(page)


if __name__ == "__main__":
    main()
