"""Runs the items of Li and Mills and the experiments beside them, and writes what they measured into docs/tdqm.md; `make
tdqm` does this."""

import argparse
from collections.abc import Mapping
from itertools import chain
from typing import Any

from tailback.papers.item import Fidelity
from tailback.papers.lab import Lab
from tailback.papers.tdqm import experiments, readings, recommended
from tailback.pool import Pool
from tailback.progress import Bar
from tools import item_table
from tools.pages import DOCS, replace, table
from tools.second_newark import second
from tools.verdicts import judged

PAGE = DOCS / "tdqm.md"


def marks(name: str) -> tuple[str, str]:
    """The comments between which a table stands."""
    return f"<!-- {name}, written by make tdqm -->", f"<!-- end of {name} -->"


def comparison(measured: Mapping[str, Any]) -> str:
    """A line per way to run the link, at its usual setting."""
    head = ["", "utilization", "queue, packets", "delay, 99 %, ms", "loss", "an impulse, median, s", "and 99 %, s"]
    columns = ["utilization", "queue_mean", "delay_p99_ms", "loss", "impulse_p50_s", "impulse_p99_s"]
    forms = [".3f", ".1f", ".1f", ".2%", ".2f", ".2f"]
    return table(
        head,
        [
            [name, *(format(measured[column][name], form) for column, form in zip(columns, forms, strict=True))]
            for name in measured["utilization"]
        ],
    )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="not the paper's own durations and seeds")
    parser.add_argument("--only", choices=["items", "experiments"], help="one half of the page")
    given = parser.parse_args()
    fidelity: Fidelity = "quick" if given.quick else "full"
    if given.only != "experiments":
        verdicts = judged("tdqm", fidelity)
        item_table.write(PAGE, marks("items"), "tdqm", verdicts)
        for verdict in verdicts:
            if verdict.claim.id == "tdqm/versus-red-ecn" and verdict.outcome:
                replace(PAGE, *marks("comparison"), comparison(verdict.outcome.measured) + "\n")
    if given.only != "items":
        with Pool(None) as pool, Bar("experiments") as bar:
            lab, seeds = Lab(fidelity, pool, bar), 3 if given.quick else 8
            head = ["", "utilization", "queue, packets", "loss, %"]
            replace(PAGE, *marks("second"), table(head, second(lab, seeds)) + "\n")
            tables = chain(readings.told(lab, seeds), experiments.told(lab, seeds), recommended.told(lab))
            for name, head, lines in tables:
                replace(PAGE, *marks(name), table(head, lines) + "\n")


if __name__ == "__main__":
    main()
