"""Runs a household behind four access lines under five pairs of queues and writes the page, its figure and its tables:
docs/home.md; `make home` does this. `make home ARGS=--quick` takes a minute or two and writes to out/home."""

from __future__ import annotations

import argparse

import polars as pl

from tailback.plot.style import save
from tools.home import LINES, MEASURES, QUEUES, intervals, measure
from tools.home_figure import draw
from tools.pages import DOCS, for_a_look, replace, write_cells
from tools.pages import table as markdown_table

PAGE = DOCS / "home.md"
FIGURE = DOCS / "_static" / "home.svg"
CELLS = DOCS / "_static" / "home.csv"
MARKS = ("<!-- who suffers, written by make home -->", "<!-- end of who suffers -->")

IN_TIME = {
    "call_p50": "call, median, ms",
    "call_p99": "call, 99 %, ms",
    "call_jitter": "call, jitter, ms",
    "call_loss": "call, lost, %",
    "call_rate": "call, Mbit/s",
    "game_p99": "game, 99 %, ms",
    "game_loss": "game, lost, %",
}
"""What has to arrive in time."""
ALL_OF_IT = {
    "web_p50": "web, median, s",
    "web_p95": "web, 95 %, s",
    "film": "film, Mbit/s",
    "update": "update, Mbit/s",
    "backup": "backup, Mbit/s",
}
"""What has to arrive whole."""


def cell(mean: float, half_width: float) -> str:
    """A mean with its half-width, to two or three digits that say something."""
    mean = max(mean, 0.0)
    digits = 0 if mean >= 100 else 1 if mean >= 10 else 2
    said = f"{mean:.{digits}f}"
    return said if half_width in (0.0, float("inf")) else f"{said} ± {half_width:.{digits}f}"


def rows(table: pl.DataFrame, line: str, columns: dict[str, str]) -> str:
    """One row per discipline."""
    found = {
        (row["queue"], row["measure"]): (row["mean"], row["half_width"])
        for row in table.filter(pl.col("line") == line).iter_rows(named=True)
    }
    lines = [[queue, *(cell(*found[queue, name]) for name in columns)] for queue in QUEUES]
    return markdown_table(["queue", *columns.values()], lines)


def markdown(table: pl.DataFrame, seconds: int, seeds: int) -> str:
    """Two tables per line."""
    parts = [
        f"{seeds} run{'s' if seeds > 1 else ''} of {seconds} s of each, the first 15 s not counted; ± is the half-width of "
        "the interval at 95 %. [All cells](_static/home.csv).",
    ]
    for line, described in LINES.items():
        parts += [
            f"### {line.capitalize()}",
            f"{described.about}.",
            rows(table, line, IN_TIME),
            rows(table, line, ALL_OF_IT),
        ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Runs, draws and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="30 s and three seeds instead of 60 s and five")
    parser.add_argument("--jobs", type=int, default=None, help="processes (default: all cores)")
    given = parser.parse_args()
    seconds, seeds = (30, 3) if given.quick else (60, 5)
    table = intervals(measure(seconds, seeds, given.jobs))
    page, figure, cells = (for_a_look(path, "home") if given.quick else path for path in (PAGE, FIGURE, CELLS))
    save(draw(table), figure, salt="home")
    write_cells(table.with_columns(about=pl.col("measure").replace_strict(MEASURES)), cells)
    replace(page, *MARKS, markdown(table, seconds, seeds))
    print(page)


if __name__ == "__main__":
    main()
