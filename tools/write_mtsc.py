"""Runs the items of multiple time scale congestion control and writes what they measured, and how estimators fare on series of
known H, into docs/mtsc.md; `make mtsc` does this."""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tailback.analysis import lrd
from tailback.papers.item import Fidelity
from tailback.papers.ledger import select
from tailback.papers.reproduce import reproduce
from tools.pages import DOCS, replace
from tools.write_items import rows

PAGE = DOCS / "mtsc.md"
ITEMS = ("<!-- items, written by make mtsc -->", "<!-- end of the items -->")
ESTIMATES = ("<!-- estimators, written by make mtsc -->", "<!-- end of the estimators -->")
HURST = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
SAMPLES, SERIES = 1 << 16, 50


def estimators() -> str:
    """How far the mean estimate over fifty series lies from the truth, and how the single ones scatter."""
    named: dict[str, Callable[[np.ndarray], lrd.Estimate]] = {
        "R/S": lambda series: lrd.rescaled_range(series, interval=False),
        "R/S, corrected": lambda series: lrd.rescaled_range(series, corrected=True, interval=False),
        "variance-time": lambda series: lrd.variance_time(series, interval=False),
        "variance-time, uncorrected": lambda series: lrd.variance_time(series, corrected=False, interval=False),
        "periodogram": lrd.log_periodogram,
        "local Whittle": lrd.local_whittle,
        "wavelet": lrd.wavelet,
        "DFA": lambda series: lrd.dfa(series, interval=False),
    }
    found: dict[str, list[str]] = {name: [] for name in named}
    rng = np.random.default_rng(2000)
    for hurst in HURST:
        series = [lrd.fractional_noise(hurst, SAMPLES, rng) for _ in range(SERIES)]
        for name, estimator in named.items():
            values = np.array([estimator(each).hurst for each in series])
            found[name].append(f"{values.mean() - hurst:+.3f} ({values.std(ddof=1):.3f})")
    head = [
        "| estimator | " + " | ".join(f"H = {hurst:g}" for hurst in HURST) + " |",
        "| --- |" + " --- |" * len(HURST),
    ]
    return "\n".join(head + ["| " + " | ".join([name, *cells]) + " |" for name, cells in found.items()])


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="not the paper's own durations")
    given = parser.parse_args()
    replace(PAGE, *ESTIMATES, estimators() + "\n")
    fidelity: Fidelity = "quick" if given.quick else "full"
    with tempfile.TemporaryDirectory() as folder:
        verdicts = reproduce(select(["mtsc"]), fidelity, Path(folder))
    replace(PAGE, *ITEMS, f"At {fidelity} fidelity:\n\n{rows(verdicts)}\n")


if __name__ == "__main__":
    main()
