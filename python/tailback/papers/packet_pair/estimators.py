"""§4.4 and §4.5: the fuzzy predictor, the Kalman filter and fixed exponential averages on service times with known truth, and
in the loop on the run of figure 19. The estimators are the core's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter
from tailback.papers.packet_pair.scenes import BUFFER, PROGRAM, TU, base_parameters, packet_pair
from tailback.papers.packet_pair.table_4 import Run, scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from tailback.papers.lab import Lab

SYSTEM, OBSERVATION = 0.05, 0.1
"""Standard deviations of the service rate's change per observation and of the observation noise, as parts of the first rate."""
AVERAGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Weights of history of the fixed averages."""
ESTIMATORS: Mapping[str, Mapping[str, Any]] = {
    "fuzzy": {"name": "fuzzy"},
    "fuzzy, as the program": PROGRAM,
    "kalman": {"name": "kalman", "system_deviation": SYSTEM, "observation_deviation": OBSERVATION},
    **{f"average {history:g}": {"name": "ewma", "history": history} for history in AVERAGES},
}
FIXED = ("average 0.5", "average 0.9")
"""Those of the ledger; the others are shown, and judged beside."""
LENGTH = 2000


class Series(NamedTuple):
    """Service times: what is true and what is seen."""

    truth: NDArray[np.float64]
    seen: NDArray[np.float64]


def steady(rng: np.random.Generator) -> Series:
    """A constant, with observation noise."""
    return _seen(np.ones(LENGTH), rng)


def noisy(rng: np.random.Generator) -> Series:
    """The paper's own model (§2.2): the rate is a random walk, seen through noise."""
    rate = np.empty(LENGTH)
    rate[0] = 1.0
    for index, change in enumerate(rng.normal(0.0, SYSTEM, LENGTH - 1), start=1):
        rate[index] = rate[index - 1] + change
        # Reflected, so that the walk stays a service rate.
        rate[index] = 2 * 0.5 - rate[index] if rate[index] < 0.5 else rate[index]
        rate[index] = 2 * 2.0 - rate[index] if rate[index] > 2.0 else rate[index]
    return _seen(1.0 / rate, rng)


def stepping(rng: np.random.Generator) -> Series:
    """Sources come and go: service times of 1, 2, 5 and 10, each for fifty observations on average."""
    levels = rng.choice([1.0, 2.0, 5.0, 10.0], LENGTH)
    change = rng.random(LENGTH) < 1 / 50
    change[0] = True
    truth = levels[np.maximum.accumulate(np.where(change, np.arange(LENGTH), 0))]
    return _seen(truth / truth[0], rng)


def spiky(rng: np.random.Generator) -> Series:
    """A constant with noise, and one observation in twenty a spike of up to ten times it."""
    found = _seen(np.ones(LENGTH), rng)
    spikes = (rng.random(LENGTH) < 1 / 20) & (np.arange(LENGTH) > 0)
    return Series(found.truth, np.where(spikes, found.seen * rng.uniform(2.0, 10.0, LENGTH), found.seen))


def _seen(truth: NDArray[np.float64], rng: np.random.Generator) -> Series:
    """Observations of the rate with Gaussian noise; the first is exact, so that the Kalman filter's variances are true."""
    rate = 1.0 / truth
    noise = rng.normal(0.0, OBSERVATION, len(truth)) * (rate if truth.max() > 2.5 else 1.0)
    noise[0] = 0.0
    return Series(truth, 1.0 / np.maximum(rate + noise, 0.05 * rate))


SERIES: Mapping[str, Callable[[np.random.Generator], Series]] = {
    "steady": steady, "noisy": noisy, "stepping": stepping, "spiky": spiky,
}  # fmt: skip


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *base_parameters(),
        Parameter(
            "averages",
            "α = 0.5 and 0.9 judged, 0.1 to 0.9 shown",
            "inferred",
            "the paper compares with no particular one",
        ),
        Parameter(
            "Kalman variances",
            f"({SYSTEM})² and ({OBSERVATION})² of the first rate squared",
            "inferred",
            "true for the noisy series",
        ),
        Parameter(
            "series",
            f"{LENGTH} observations with {OBSERVATION:.0%} noise; steady, random walk, "
            "steps between 1, 2, 5 and 10, and spikes of 2 to 10",
            "inferred",
            "the paper's reference 39 has them; not at hand",
        ),
        Parameter(
            "error", "root mean square of (estimate - next true value) / true value", "inferred", "a predictor's"
        ),
        Parameter("seeds", str(_seeds(fidelity)), "inferred", "means over them are compared"),
        Parameter("in the loop", "figure 19's run with each estimator", "inferred", "the ledger's"),
    )


def errors(seed: int) -> dict[str, dict[str, float]]:
    """Per series and estimator, the relative error of predicting the next value."""
    from tailback import _core

    found: dict[str, dict[str, float]] = {}
    for index, (name, make) in enumerate(SERIES.items()):
        series = make(np.random.default_rng([seed, index]))
        observed = series.seen.tolist()
        found[name] = {}
        for estimator, config in ESTIMATORS.items():
            estimate = _core.estimate(json.dumps(config), observed)
            error = (estimate[:-1] - series.truth[1:]) / series.truth[1:]
            found[name][estimator] = float(np.sqrt(np.mean(error**2)))
    return found


def looped(estimator: str) -> float:
    """TU until source 1 of figure 19 has finished, with an estimator."""
    result = scenario(
        Run(10, BUFFER),
        scheme=packet_pair(estimator=dict(ESTIMATORS[estimator])),
        record={"flows": "none", "links": "none"},
    ).run()
    done = result.flows.filter(pl.col("flow") == "1")["finished"][0]
    return float("nan") if done is None else done / TU


class Errors(NamedTuple):
    """Root mean square errors of all estimators, and how fixed averages fare beside the fuzzy one."""

    rmse: Mapping[str, Mapping[str, float]]
    """By estimator and series, the mean over seeds."""
    mean: Mapping[str, float]
    """By estimator, over series."""
    won: Mapping[str, Sequence[str]]
    """By fixed average, the series on which the fuzzy one is better."""
    beaten: Mapping[str, bool]
    """By fixed average, whether the fuzzy one beats it: on three of the four series, or on their mean."""


def compared(runs: Sequence[Mapping[str, Mapping[str, float]]]) -> Errors:
    """The errors of several seeds, as :func:`errors` gives each."""
    rmse = {
        estimator: {series: float(np.mean([run[series][estimator] for run in runs])) for series in SERIES}
        for estimator in ESTIMATORS
    }
    mean = {estimator: float(np.mean(list(rmse[estimator].values()))) for estimator in ESTIMATORS}
    averages = [f"average {history:g}" for history in AVERAGES]
    won = {fixed: [name for name in SERIES if rmse["fuzzy"][name] < rmse[fixed][name]] for fixed in averages}
    beaten = {fixed: len(won[fixed]) >= 3 or mean["fuzzy"] < mean[fixed] for fixed in averages}
    return Errors(rmse, mean, won, beaten)


def measure(lab: Lab) -> Outcome:
    """All series with every seed, then the loop."""
    found = compared(lab.map(errors, range(1, _seeds(lab.fidelity) + 1)))
    loop = dict(zip(ESTIMATORS, lab.map(looped, ESTIMATORS), strict=True))
    beats = _beats_two(found)
    return Outcome(
        measured={
            "rmse": {
                key: {name: round(value, 4) for name, value in values.items()} for key, values in found.rmse.items()
            },
            "completion_tu": {key: round(value, 1) for key, value in loop.items()},
        },
        checks=(beats, _kalman_best(found.rmse)),
        data=pl.DataFrame(
            [
                {"estimator": estimator, "series": series, "rmse": rmse, "completion": loop[estimator]}
                for estimator in ESTIMATORS
                for series, rmse in found.rmse[estimator].items()
            ]
        ),
        units={"rmse": "fraction", "completion": "TU"},
        why="" if beats.holds else _why(found),
        changed=ChangedTest(
            [_beats_all(found)],
            "'Every fixed average' is more than the two that the ledger names, so the whole range is run. What the fuzzy "
            "average spares is the choice: no constant is right for all series, and the best one is not known beforehand.",
        ),
        scenario=scenario(Run(10, BUFFER)).to_toml(),
        notes=(
            "The program of the appendix forgets its smoothed error and lets changes in error above 1 in: it believes every jump "
            "at once, spikes too.",
        ),
    )


def _beats_two(found: Errors) -> Check:
    return Check(
        "the fuzzy average beats fixed ones of 0.5 and 0.9",
        "; ".join(
            f"against {fixed}: better on {', '.join(found.won[fixed]) or 'none'}, "
            f"mean {found.mean['fuzzy']:.3f} to {found.mean[fixed]:.3f}"
            for fixed in FIXED
        ),
        "on three of the four series, or on their mean",
        all(found.beaten[fixed] for fixed in FIXED),
    )


def _kalman_best(rmse: Mapping[str, Mapping[str, float]]) -> Check:
    best = min(ESTIMATORS, key=lambda estimator: rmse[estimator]["noisy"])
    return Check(
        "Kalman with the true variances is best on its own model",
        f"best on noisy: {best} ({rmse[best]['noisy']:.4f}; kalman {rmse['kalman']['noisy']:.4f})",
        "kalman",
        best == "kalman",
    )


def _beats_all(found: Errors) -> Check:
    means = ", ".join(f"{fixed.removeprefix('average ')}: {found.mean[fixed]:.3f}" for fixed in found.beaten)
    unbeaten = ", ".join(fixed for fixed, beaten in found.beaten.items() if not beaten) or "none"
    return Check(
        "the fuzzy average beats every fixed one from 0.1 to 0.9",
        f"mean error {found.mean['fuzzy']:.3f}; {means}; not beaten: {unbeaten}",
        "on three of the four series, or on their mean",
        all(found.beaten.values()),
    )


def _why(found: Errors) -> str:
    rmse, mean = found.rmse, found.mean
    best = min(FIXED, key=lambda fixed: mean[fixed])
    return (
        f"On these series {best} has the smaller mean error ({mean[best]:.3f} against {mean['fuzzy']:.3f}): "
        + ", ".join(f"{name} {rmse['fuzzy'][name]:.3f} to {rmse[best][name]:.3f}" for name in SERIES)
    )


def _seeds(fidelity: Fidelity) -> int:
    return 20 if fidelity == "full" else 5


def draw(outcome: Outcome) -> Figure:
    """Errors per series and estimator."""
    from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter

    from tailback.plot.style import COLOURS, DASHES, MARKERS, figure, style

    data = outcome.data
    adaptive = [name for name in ESTIMATORS if not name.startswith("average")]
    with style():
        made, axes = figure(columns=len(SERIES), width=8.4, height=3.2, sharey=True)
        for axis, series in zip(axes, SERIES, strict=True):
            part = data.filter(pl.col("series") == series)
            fixed = part.filter(pl.col("estimator").str.starts_with("average"))
            axis.plot(AVERAGES, fixed["rmse"], color=COLOURS[0], marker=MARKERS[0], label="fixed average")
            for index, estimator in enumerate(adaptive, start=1):
                (value,) = part.filter(pl.col("estimator") == estimator)["rmse"]
                axis.axhline(value, color=COLOURS[index], linestyle=DASHES[index], label=estimator)
            axis.set_title(series)
            axis.set_xlabel("weight of history")
        axes[0].set_ylabel("relative error (rms)")
        axes[0].set_yscale("log")
        axes[0].yaxis.set_major_locator(FixedLocator([0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0]))
        axes[0].yaxis.set_minor_locator(NullLocator())
        axes[0].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        made.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return made
