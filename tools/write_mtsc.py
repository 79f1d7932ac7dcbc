"""Runs the items of multiple time scale congestion control and writes what they measured, what the paper leaves open, and how
estimators fare on series of known H, into docs/mtsc.md; `make mtsc` does this."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tailback.analysis import lrd, mean_interval
from tailback.papers.item import Fidelity
from tailback.papers.lab import Lab
from tailback.papers.mtsc import reasons, sac
from tailback.papers.mtsc.network import Measured, Setting
from tailback.pool import Pool
from tailback.progress import Bar
from tools import item_table
from tools.pages import DOCS, replace, table
from tools.verdicts import judged

PAGE = DOCS / "mtsc.md"
ITEMS = ("<!-- items, written by make mtsc -->", "<!-- end of the items -->")
ESTIMATES = ("<!-- estimators, written by make mtsc -->", "<!-- end of the estimators -->")
COVERAGE = ("<!-- coverage, written by make mtsc -->", "<!-- end of the coverage -->")
BEYOND = ("<!-- beyond, written by make mtsc -->", "<!-- end of what is beyond -->")
PREDICTORS: Mapping[str, Mapping[str, Any]] = {
    "none: ε of the middle level, always": {"schedule": {"name": "table", "values": [1.0 / 4.5] * 8}},
    "a random table": {"predictor": "random"},
    "conditional expectation, on line": {},
    "fractional ARIMA": {"predictor": {"name": "forecast", "method": "fractional"}},
    "linear, of wavelet coefficients": {"predictor": {"name": "forecast", "method": "wavelet"}},
    "perceptron": {"predictor": {"name": "forecast", "method": "perceptron"}},
}
"""What to change in SAC with the inverse schedule."""
SURROUNDINGS: Mapping[str, Mapping[str, Any]] = {
    "datagrams, drop-tail": {},
    "datagrams, CoDel": {"queue": "codel"},
    "CUBIC, drop-tail": {"clients": "cubic"},
    "CUBIC, CoDel": {"clients": "cubic", "queue": "codel"},
}
"""What carries the background's files, and the queue before the bottleneck."""
HURST = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
SAMPLES, SERIES = 1 << 16, 50
Estimator = Callable[[np.ndarray], lrd.Estimate]


def estimators() -> str:
    """How far the mean estimate over fifty series lies from the truth, and how the single ones scatter."""
    named: dict[str, Estimator] = {
        "R/S": lambda series: lrd.rescaled_range(series, interval=False),
        "R/S, corrected": lambda series: lrd.rescaled_range(series, corrected=True, interval=False),
        "variance-time": lambda series: lrd.variance_time(series, interval=False),
        "variance-time, uncorrected": lambda series: lrd.variance_time(series, corrected=False, interval=False),
        "periodogram": lrd.log_periodogram,
        "local Whittle": lrd.local_whittle,
        "wavelet": lrd.wavelet,
        "DFA": lambda series: lrd.dfa(series, interval=False),
    }

    def shown(estimator: Estimator, hurst: float, series: list[np.ndarray]) -> str:
        values = np.array([estimator(each).hurst for each in series])
        return f"{values.mean() - hurst:+.3f} ({values.std(ddof=1):.3f})"

    return _by_hurst(named, SERIES, SAMPLES, shown)


def coverage() -> str:
    """In how many of a hundred series the 95 % interval holds the truth."""
    named: dict[str, Estimator] = {
        "R/S": lrd.rescaled_range,
        "R/S, corrected": lambda series: lrd.rescaled_range(series, corrected=True),
        "variance-time": lrd.variance_time,
        "variance-time, uncorrected": lambda series: lrd.variance_time(series, corrected=False),
        "periodogram": lrd.log_periodogram,
        "local Whittle": lrd.local_whittle,
        "wavelet": lrd.wavelet,
        "DFA": lrd.dfa,
    }

    def shown(estimator: Estimator, hurst: float, series: list[np.ndarray]) -> str:
        return str(sum(hurst in estimator(each).interval for each in series))

    return _by_hurst(named, 100, SAMPLES // 4, shown)


def _by_hurst(
    named: Mapping[str, Estimator],
    count: int,
    samples: int,
    shown: Callable[[Estimator, float, list[np.ndarray]], str],
) -> str:
    """A row per estimator, a column per H, with what is shown of so many series of fractional Gaussian noise."""
    found: dict[str, list[str]] = {name: [] for name in named}
    rng = np.random.default_rng(2000)
    for hurst in HURST:
        series = [lrd.fractional_noise(hurst, samples, rng) for _ in range(count)]
        for name, estimator in named.items():
            found[name].append(shown(estimator, hurst, series))
    head = ["estimator", *(f"H = {hurst:g}" for hurst in HURST)]
    return table(head, [[name, *cells] for name, cells in found.items()])


def beyond(lab: Lab) -> str:
    """Two tables: what SAC gains under other predictors, and beside other traffic and another queue."""
    seconds, seeds = 1000.0 if lab.full else 300.0, 4
    places = [Setting(1.05, seconds, seed) for seed in range(1, seeds + 1)]
    schemes = {name: sac.inverse(**changed) for name, changed in PREDICTORS.items()}
    found = [
        dict(zip(["", *schemes], reasons.runs(lab, place, [sac.generic(), *schemes.values()]), strict=True))
        for place in places
    ]
    for place, runs in zip(places, found, strict=True):
        runs["perfect knowledge of what the clients send"] = sac.told(lab, place, sac.inverse(), runs[""])
    lines = [
        "| prediction | γ_k (kB/s) | gain over no SAC | gain over a constant ε | loss |",
        "| --- | --- | --- | --- | --- |",
    ]
    constant = next(iter(PREDICTORS))
    for name in list(found[0])[1:]:
        over = _gain([(runs[name], runs[constant]) for runs in found]) if name != constant else ""
        lines.append(_row(name, [(runs[name], runs[""]) for runs in found], over))
    lines += ["", "| background and queue | γ_k (kB/s) | gain over no SAC | loss |", "| --- | --- | --- | --- |"]
    for name, changed in SURROUNDINGS.items():
        for alpha in (1.05, 1.95):
            around = [place._replace(alpha=alpha, **changed) for place in places]
            pairs = [tuple(reasons.runs(lab, place, [sac.inverse(), sac.generic()])) for place in around]
            lines.append(_row(f"{name}, shape {alpha:g}", [(ours, plain) for ours, plain in pairs]))
    head = f"{seeds} runs of {seconds:g} s each, SAC with the inverse schedule over `lied`; intervals over the runs:"
    return "\n".join([head, "", *lines])


def _gain(pairs: Sequence[tuple[Measured, Measured]]) -> str:
    return sac.percent(mean_interval([ours.total / plain.total - 1.0 for ours, plain in pairs]), sign="+")


def _row(name: str, pairs: Sequence[tuple[Measured, Measured]], *more: str) -> str:
    total = float(np.mean([ours.total for ours, _ in pairs]))
    loss = float(np.mean([ours.loss for ours, _ in pairs]))
    return " | ".join([f"| {name}", f"{total:.0f}", _gain(pairs), *more, f"{100.0 * loss:.2f} % |"])


def why(lab: Lab, seconds: float, only: Sequence[str]) -> None:
    """Writes the experiments behind the reasons."""
    for name, head, lines in reasons.tables(lab, seconds, only):
        marks = (f"<!-- {name}, written by make mtsc -->", f"<!-- end of {name} -->")
        replace(PAGE, *marks, table(head, lines) + "\n")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="not the paper's own durations")
    parser.add_argument("--only", choices=("estimators", "beyond", "reasons", "items"), help="one part of the page")
    parser.add_argument("--tables", nargs="+", default=[], help="of the reasons, only these")
    parser.add_argument(
        "--items", metavar="ID", nargs="+", default=[], help="of the items, only these; others' lines stay"
    )
    parser.add_argument("--seconds", type=float, default=400.0, help="the length of runs behind most reasons")
    given = parser.parse_args()
    if given.quick and given.items:
        parser.error("--items: the page keeps the others' lines, which are not --quick")
    fidelity: Fidelity = "quick" if given.quick else "full"
    if given.only in {None, "estimators"}:
        replace(PAGE, *ESTIMATES, estimators() + "\n")
        replace(PAGE, *COVERAGE, coverage() + "\n")
    with Pool() as pool, Bar("experiments") as bar:
        lab = Lab(fidelity, pool, bar)
        if given.only in {None, "beyond"}:
            replace(PAGE, *BEYOND, beyond(lab) + "\n")
        if given.only in {None, "reasons"}:
            why(lab, given.seconds, given.tables)
    if given.only in {None, "items"}:
        verdicts = judged("mtsc", fidelity, given.items)
        item_table.write(PAGE, ITEMS, "mtsc", verdicts, f"At {fidelity} fidelity: ")


if __name__ == "__main__":
    main()
