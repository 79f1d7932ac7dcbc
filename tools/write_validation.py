"""Runs the comparison with ns-2's figures and writes it into docs/validation.md; `make validation` does this."""

import argparse

from tailback.pool import Pool
from tailback.progress import Bar
from tailback.validation import markdown, run_count, summary, validate
from tools.pages import DOCS, replace

PAGE = DOCS / "validation.md"
BEGIN, END = "<!-- written by make validation -->", "<!-- end of what make validation writes -->"


def main() -> None:
    """Runs, writes and sums up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=None, help="per row (default: as many as ns-2 had)")
    parser.add_argument("--jobs", type=int, default=None, help="processes (default: all cores)")
    given = parser.parse_args()
    with Pool(given.jobs) as pool, Bar("Validating", run_count(seeds=given.seeds)) as bar:
        comparisons = validate(pool, seeds=given.seeds, done=bar.advance)
    replace(PAGE, BEGIN, END, markdown(comparisons))
    print(summary(comparisons))


if __name__ == "__main__":
    main()
