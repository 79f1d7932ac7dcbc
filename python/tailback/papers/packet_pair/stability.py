"""§4.2.1 and §4.3: where the eigenvalues of the two laws lie, by the paper's analysis and with S(k) not taken for an outside
input, and how the simulated loop really settles. The base scenario is in ``scenes.py``.

The paper substitutes Eq. 9 into Eq. 10 and finds ``z^2 - z + alpha = 0``, treating S(k) as an input. But by Eq. 3 it is state:
``n_b(k) + S(k) - mu RTT(k) = n_b(k+1)``. With that, and with RTT(k) = R + n_b(k)/mu, the law is
``lambda(k+1) = alpha mu + alpha (B - n_b(k+1)) / RTT(k)``, which rests at ``n* = B - (1 - alpha)/alpha mu RTT`` and deviates from
there by ``z^2 - (1 - alpha) z + (1 - alpha) = 0``.

An eigenvalue is about small deviations, but the run begins with an empty queue, and a queue of 100 packets doubles the round
trip time. So the same law is also iterated without linearisation (:func:`epochs`), from the state in which the simulated run
reaches its first peak, with S counted in whole pairs; what is fitted to the run is fitted to these epochs too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tailback.papers.item import Check, Fidelity, Outcome, Parameter, Refutation
from tailback.papers.packet_pair.scenes import Source, base, base_parameters, fixed, packet_pair, watched
from tailback.papers.packet_pair.traces import published, sending_rate

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

ALPHAS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1)
ATTACKS = (1.0, 1.5, 2.0, 3.0)
"""J of the continuous law, in round trips."""
SETPOINT = 200.0
"""Packets: so large that the linear region holds the resting point of every alpha."""
ROUND_TRIP = 100.0
END = 9000.0
FITTED = 12
"""Epochs from the first one at the law's own rate that a second-order recursion is fitted to."""
TOLERANCE = 0.15
"""The ledger's."""
PAIR = 2.0
"""Packets: S goes up and down by pairs, and an epoch ends with one; so the state is known to half of it."""
DRAWS = 400
"""Of the recursion, each with its own errors of half a pair."""


class Discrete(NamedTuple):
    """One alpha."""

    alpha: float
    found: float
    """Modulus of the larger root of the recursion fitted to the simulated rates."""
    resting: float
    """Packets in the queue at the end."""
    deviations: list[float]
    """Of the rate from its final value, epoch by epoch."""
    rates: list[float]
    """Packets per TU, epoch by epoch from the peak on."""
    queues: list[float]
    """Packets at the beginning of those epochs."""
    surprise: float
    """Packets by which an epoch's end differs at most from its beginning's n + (λ - μ) RTT."""


class Continuous(NamedTuple):
    """One J."""

    attack: float
    found: float
    """Decay of the queue's distance from the setpoint per round trip."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return (
        *base_parameters(
            Parameter("buffer", "10000 packets", "inferred", "so that nothing is lost, as the analysis has it")
        ),
        Parameter(
            "setpoint",
            f"{SETPOINT:g} packets, fixed",
            "inferred",
            "the discrete law rests below it by (1 - α)/α of the pipe",
        ),
        Parameter(
            "α", ", ".join(f"{alpha:g}" for alpha in ALPHAS), "inferred", "the ledger's range; the paper suggests 0.9"
        ),
        Parameter(
            "J",
            ", ".join(f"{attack:g}" for attack in ATTACKS) + " round trips",
            "inferred",
            "the paper uses 1.5 and 0.8",
        ),
        Parameter(
            "decay",
            f"second-order recursion through the rates of {FITTED} epochs from the first peak; straight line through ln(B - n̂)",
            "inferred",
            "the ledger asks for the decay rate, not for how to measure it",
        ),
    )


def published_modulus(alpha: float) -> float:
    """Of the roots of ``z^2 - z + alpha``, the larger (§4.2.1)."""
    return _modulus(1.0, alpha)


def corrected_modulus(alpha: float) -> float:
    """Of the roots of ``z^2 - (1 - alpha) z + (1 - alpha)``, the larger."""
    return _modulus(1.0 - alpha, 1.0 - alpha)


def linearised(alpha: float) -> tuple[float, float]:
    """Trace and determinant of the law's derivatives at its rest, taken numerically from Eqs. 9 and 10 as they stand: the
    coefficients of the characteristic equation ``z^2 - trace z + determinant``."""
    rest, step = alpha * SETPOINT - (1.0 - alpha) * ROUND_TRIP, 1e-4

    def after(state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Eq. 10 for the queue, Eq. 9 for the rate, with S of Eq. 3; packets and TU, μ = 1."""
        queue, rate = state
        round_trip = ROUND_TRIP + queue
        outstanding = rate * round_trip
        following = queue + outstanding - round_trip
        return np.array([following, alpha / round_trip * (SETPOINT - queue - outstanding + 2.0 * round_trip)])

    still = np.array([rest, 1.0])
    columns = [(after(still + step * unit) - after(still - step * unit)) / (2.0 * step) for unit in np.eye(2)]
    matrix = np.column_stack(columns)
    return float(np.trace(matrix)), float(np.linalg.det(matrix))


def _modulus(first: float, second: float) -> float:
    """The larger modulus of the roots of ``z^2 - first z + second``."""
    return float(np.abs(np.roots([1.0, -first, second])).max())


def corrected_rest(alpha: float) -> float:
    """Packets at which the discrete law rests: ``alpha B - (1 - alpha) R mu``, where that is not negative."""
    return max(0.0, alpha * SETPOINT - (1.0 - alpha) * ROUND_TRIP)


def epochs(
    alpha: float, queue: float, rate: float, rng: np.random.Generator | None = None, count: int = FITTED
) -> list[tuple[float, float]]:
    """Queue and rate of so many epochs by the law itself, in packets and TU, from a first one on.

    Args:
        alpha: of the law.
        queue: packets at the beginning of the first epoch.
        rate: packets per TU in it.
        rng: draws what sending in pairs leaves open: S is known to half a pair, and an epoch begins when the next pair
            leaves, up to a pair's time late. On the mean of both where not given.
        count: how many.
    """

    def error() -> float:
        return 0.0 if rng is None else rng.uniform(-0.5 * PAIR, 0.5 * PAIR)

    queue += error()
    found = []
    for _ in range(count):
        found.append((queue, rate))
        round_trip = ROUND_TRIP + queue + 0.5 * PAIR + error()
        queue = max(0.0, queue + (rate - 1.0) * round_trip + error())
        rate = max(alpha + alpha * (SETPOINT - queue) / round_trip, PAIR / round_trip)
    return found


def fitted(deviation: NDArray[np.float64]) -> float:
    """Modulus of the larger root of a second-order recursion through these deviations."""
    known = np.column_stack([deviation[1:-1], deviation[:-2]])
    (first, second), *_ = np.linalg.lstsq(known, deviation[2:], rcond=None)
    return _modulus(first, -second)


def expected(run: Discrete) -> tuple[float, float, float]:
    """What is fitted to the law's own epochs from the run's first peak on: 2.5 %, median and 97.5 % over what sending in pairs
    leaves open."""
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(DRAWS):
        rates = np.array([rate for _, rate in epochs(run.alpha, run.queues[0], run.rates[0], rng, 3 * FITTED)])
        # As of the run: from the last rate, which is known to a pair as well.
        draws.append(fitted((rates - rates[-1])[:FITTED]))
    low, middle, high = np.percentile(draws, [2.5, 50.0, 97.5])
    return float(low), float(middle), float(high)


def scenario(law: dict[str, object]) -> Scenario:
    """One source without end."""
    scheme = packet_pair(setpoint=fixed(SETPOINT), law=law)
    return base([Source(None, 0)], END, buffer=10_000, scheme=scheme, record=watched(), name=f"law {law}")


def discrete(alpha: float) -> Discrete:
    """The discrete law: a recursion fitted to its rates, one per epoch."""
    result = scenario({"name": "discrete", "alpha": alpha}).run()
    sending = sending_rate(result)
    changes = np.flatnonzero(np.diff(sending.values) != 0.0) + 1
    times, rates = sending.times[changes], sending.values[changes]
    backlog = published(result, "backlog")
    peak = int(np.argmax(rates))
    own = slice(peak, peak + FITTED + 1)
    deviation = (rates - rates[-1])[own][:FITTED]
    queues, kept, begun = backlog.at(times[own]), rates[own], times[own]
    surprise = np.diff(queues) - (kept[:-1] - 1.0) * np.diff(begun)
    return Discrete(
        alpha,
        fitted(deviation),
        float(backlog.values[-1]),
        deviation.tolist(),
        kept.tolist(),
        queues.tolist(),
        float(np.abs(surprise).max()),
    )


def continuous(attack: float) -> Continuous:
    """The continuous law: how the estimated queue approaches the setpoint from below."""
    law = {"name": "continuous", "attack_up": attack, "attack_down": attack}
    backlog = published(scenario(law).run(), "backlog")
    inside = (backlog.values > 0.25 * SETPOINT) & (backlog.values < 0.95 * SETPOINT)
    first, last = np.flatnonzero(inside)[[0, -1]]
    times, values = backlog.times[first : last + 1], backlog.values[first : last + 1]
    # Time in round trips, each as long as the queue makes it.
    passed = np.concatenate([[0.0], np.cumsum(np.diff(times) / (ROUND_TRIP + 0.5 * (values[1:] + values[:-1])))])
    slope, _ = np.polyfit(passed, np.log(SETPOINT - values), 1)
    return Continuous(attack, float(-slope))


def measure(lab: Lab) -> Outcome:
    """Every alpha and every J once."""
    runs = lab.map(discrete, ALPHAS)
    others = lab.map(continuous, ATTACKS)
    explained = {run.alpha: expected(run) for run in runs}
    checks = (_as_published(runs), _continuous_as_published(others))
    proof = _proof(runs, explained)
    return Outcome(
        measured={
            "eigenvalue_modulus": {f"{alpha:g}": round(published_modulus(alpha), 4) for alpha in ALPHAS},
            "corrected_modulus": {f"{alpha:g}": round(corrected_modulus(alpha), 4) for alpha in ALPHAS},
            "ringing": {f"{run.alpha:g}": round(run.found, 4) for run in runs},
        },
        checks=checks,
        refutation=Refutation(proof, (*_about_the_law(runs), _as_iterated(runs, explained))),
        data=pl.DataFrame([_row(run, explained[run.alpha]) for run in runs]),
        units={"resting": "packets", "corrected_resting": "packets"},
        why="" if checks[0].holds else proof,
        scenario=scenario({"name": "discrete", "alpha": 0.9}).to_toml(),
        notes=("Simulated decays at α = 1 and 1.1 are of a few epochs only, and rough.",),
    )


def _row(run: Discrete, explained: tuple[float, float, float]) -> dict[str, object]:
    low, middle, high = explained
    return {
        "alpha": run.alpha,
        "simulated": run.found,
        "published": published_modulus(run.alpha),
        "corrected": corrected_modulus(run.alpha),
        "expected_low": low,
        "expected": middle,
        "expected_high": high,
        "queues": run.queues,
        "recursion": [queue for queue, _ in epochs(run.alpha, run.queues[0], run.rates[0], count=FITTED + 1)],
        "resting": run.resting,
        "corrected_resting": corrected_rest(run.alpha),
    }


def _ringing(runs: Sequence[Discrete]) -> list[Discrete]:
    """The runs in which the law rings for long enough to be fitted well."""
    return [run for run in runs if run.alpha < 1.0]


def _off(runs: Sequence[Discrete], of: Callable[[float], float]) -> list[float]:
    """By which part of it each ringing run's decay differs from what an alpha should give."""
    return [run.found / of(run.alpha) - 1.0 for run in _ringing(runs)]


def _as_published(runs: Sequence[Discrete]) -> Check:
    worst = max(_off(runs, published_modulus), key=abs)
    found = [f"α={run.alpha:g}: {run.found:.3f} for {published_modulus(run.alpha):.3f}" for run in _ringing(runs)]
    return Check(
        "discrete law: the simulated decay is the paper's eigenvalue √α",
        f"{', '.join(found)}; largest gap {100 * worst:+.0f} %",
        f"within {100 * TOLERANCE:.0f} %",
        abs(worst) <= TOLERANCE,
    )


def _continuous_as_published(runs: Sequence[Continuous]) -> Check:
    worst = max((run.found * run.attack - 1.0 for run in runs), key=abs)
    found = [f"J={run.attack:g}: {run.found:.3f} for {1 / run.attack:.3f}" for run in runs]
    return Check(
        "continuous law: the simulated decay is exp(-t/J)",
        f"{', '.join(found)}; largest gap {100 * worst:+.1f} %",
        f"within {100 * TOLERANCE:.0f} %",
        abs(worst) <= TOLERANCE,
    )


def _about_the_law(runs: Sequence[Discrete]) -> tuple[Check, ...]:
    """What is true of the loop in place of what the memorandum says."""
    gap = max(abs(found - (1.0 - alpha)) for alpha in ALPHAS for found in linearised(alpha))
    rest_gap = max(abs(run.resting - corrected_rest(run.alpha)) for run in runs if run.alpha <= 1.0)
    return (
        Check(
            "the derivatives of Eqs. 9 and 10 at rest, taken numerically, have the trace and determinant 1 - α, and not "
            "the memorandum's 1 and α",
            f"at most {gap:.1e} apart",
            "1e-6",
            gap <= 1e-6,
        ),
        Check(
            "the loop is stable at α = 1 and beyond",
            ", ".join(f"α={run.alpha:g}: {run.found:.3f}" for run in runs if run.alpha >= 1.0),
            "below 1",
            all(run.found < 1.0 for run in runs if run.alpha >= 1.0),
        ),
        Check(
            "it rests at α B - (1 - α) R μ",
            f"within {rest_gap:.1f} packets for α ≤ 1",
            "2 packets, a pair",
            rest_gap <= PAIR,
        ),
    )


def _as_iterated(runs: Sequence[Discrete], explained: Mapping[float, tuple[float, float, float]]) -> Check:
    worst = max(_off(runs, lambda alpha: explained[alpha][1]), key=abs)
    found = [f"α={run.alpha:g}: {run.found:.3f} for {explained[run.alpha][1]:.3f}" for run in _ringing(runs)]
    return Check(
        "discrete law: the simulated decay is that of the law itself, iterated from the same peak without linearisation",
        f"{'; '.join(found)}; largest gap {100 * worst:+.0f} %",
        f"within {100 * TOLERANCE:.0f} %",
        abs(worst) <= TOLERANCE,
    )


def _proof(runs: Sequence[Discrete], explained: Mapping[float, tuple[float, float, float]]) -> str:
    corrected = _off(runs, corrected_modulus)
    law_gap = max(_off(runs, lambda alpha: explained[alpha][1]), key=abs)
    trips = [ROUND_TRIP + np.array(run.queues) for run in _ringing(runs)]
    stretch = max(float((trip[1:] / trip[:-1]).max()) for trip in trips)
    surprise = max(run.surprise for run in _ringing(runs))
    return (
        "The memorandum's characteristic equation of the discrete law, z² - z + α = 0 with the modulus √α, takes S(k) for an "
        "outside input. By Eq. 3 it is state: n_b(k) + S(k) - μ RTT(k) = n_b(k+1). Put into Eq. 9 this gives λ(k+1) = α μ + "
        "α (B - n_b(k+1)) / RTT(k), and with Eq. 10 the equation z² - (1 - α) z + (1 - α) = 0, whose modulus is √(1 - α) for "
        "α < 1. So the loop is stable at α = 1 and beyond, a smaller α makes it ring longer in place of calming it, and it rests "
        "below the setpoint, by (1 - α)(B + R μ). The simulated decays are "
        f"{100 * min(corrected):+.0f} to {100 * max(corrected):+.0f} % from √(1 - α), since an eigenvalue is about small "
        f"deviations and the run's first peak is not small: the round trip time changes by a factor of up to {stretch:.1f} from "
        f"one epoch to the next. The law iterated as it stands, with no parameter free, decays as the simulation does, to "
        f"{abs(100 * law_gap):.0f} % (queues per epoch, below), and each simulated epoch ends within {surprise:.1f} packets, about "
        "a pair, of n + (λ - μ) RTT: neither delay nor estimator nor cap leaves a trace."
    )


def draw(outcome: Outcome) -> Figure:
    """Moduli over alpha: the paper's, the corrected, the simulated; and the queue per epoch, simulated and by the law."""
    from tailback.plot.style import COLOURS, figure, style

    data = outcome.data
    fine = np.linspace(min(ALPHAS), max(ALPHAS), 200)
    with style():
        made, (axis, trace) = figure(rows=2, height=6.2)
        axis.plot(fine, [published_modulus(alpha) for alpha in fine], color=COLOURS[0], label="§4.2.1: $z^2-z+\\alpha$")
        axis.plot(
            fine, [corrected_modulus(alpha) for alpha in fine], color=COLOURS[1], label="$z^2-(1-\\alpha)z+(1-\\alpha)$"
        )
        below = data.filter(pl.col("alpha") < 1.0)
        axis.fill_between(
            below["alpha"], below["expected_low"], below["expected_high"],
            color=COLOURS[3], alpha=0.45, linewidth=0, label="the law, not linearised",
        )  # fmt: skip
        axis.plot(data["alpha"], data["simulated"], color=COLOURS[2], linestyle="none", marker="o", label="simulated")
        axis.axhline(1.0, linewidth=0.8, color="0.5")
        axis.set_xlabel("α")
        axis.set_ylabel("modulus of the eigenvalue")
        axis.set_ylim(0, 1.15)
        axis.legend(loc="lower left")
        for colour, alpha in enumerate((0.5, 0.7, 0.9)):
            row = data.filter(pl.col("alpha") == alpha).row(0, named=True)
            trace.plot(row["queues"], color=COLOURS[colour], linestyle="none", marker="o", label=f"α = {alpha:g}")
            trace.plot(row["recursion"], color=COLOURS[colour], linewidth=1.0)
        trace.set_xlabel("epochs from the first at the law's own rate (dots: simulated; lines: the law iterated)")
        trace.set_ylabel("queue (packets)")
        trace.set_ylim(0, 250)
        trace.legend(loc="upper right", ncols=3)
    return made
