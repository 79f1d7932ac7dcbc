"""``python -m tailback.papers.packet_pair``: runs the comparison of ``comparison.py`` and writes its data, its figure and
its table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tailback.papers.packet_pair.comparison import SEEDS, compare, markdown
from tailback.papers.packet_pair.comparison_figure import draw
from tailback.plot.style import save
from tailback.results.files import write_file
from tailback.results.tables import write_csv


def main(arguments: Sequence[str] | None = None) -> int:
    """Puts packet-pair beside SACK, CUBIC and paced CUBIC on its memorandum's nine benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m tailback.papers.packet_pair", description=main.__doc__)
    parser.add_argument("--out", type=Path, default=Path("packet-pair-comparison"), help="the folder to write into")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"runs of each case (default: {SEEDS})")
    parser.add_argument("--jobs", type=int, default=None, help="processes (default: all cores)")
    given = parser.parse_args(arguments)
    if given.seeds < 2:
        parser.error(f"--seeds: {given.seeds} is not allowed; expected at least 2, since intervals need a spread")
    table = compare(given.seeds, jobs=given.jobs)
    given.out.mkdir(parents=True, exist_ok=True)
    write_csv(table, given.out / "comparison.csv")
    text = markdown(table)
    write_file(given.out / "comparison.md", lambda path: path.write_text(text, encoding="utf-8"))
    figure = draw(table)
    for kind in ("svg", "png"):
        save(figure, given.out / f"comparison.{kind}", salt="packet-pair/comparison")
    print(text)
    print(f"{given.out / 'comparison.svg'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
