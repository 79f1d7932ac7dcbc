"""Runs the comparison with ns-2's figures and writes it into docs/validation.md; `make validation` does this."""

import argparse
import sys
from pathlib import Path

from tailback.pool import Pool
from tailback.progress import Bar
from tailback.validation import markdown, run_count, summary, validate

PAGE = Path(__file__).resolve().parent.parent / "docs" / "validation.md"
BEGIN, END = "<!-- written by make validation -->", "<!-- end of what make validation writes -->"


def write(text: str) -> None:
    """Replaces the generated part of the page, keeping the text around it."""
    page = PAGE.read_text(encoding="utf-8")
    head, begun, rest = page.partition(BEGIN)
    _, ended, tail = rest.partition(END)
    if not begun or not ended:
        sys.exit(f"{PAGE}: the marks '{BEGIN}' and '{END}' are missing")
    beside = PAGE.with_suffix(".md.new")
    beside.write_text(f"{head}{BEGIN}\n\n{text}\n{END}{tail}", encoding="utf-8")
    beside.replace(PAGE)


def main() -> None:
    """Runs, writes and sums up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=None, help="per row (default: as many as ns-2 had)")
    given = parser.parse_args()
    with Pool() as pool, Bar("Validating", run_count(seeds=given.seeds)) as bar:
        comparisons = validate(pool, seeds=given.seeds, done=bar.advance)
    write(markdown(comparisons))
    print(summary(comparisons))


if __name__ == "__main__":
    main()
