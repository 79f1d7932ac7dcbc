"""Theory and traffic analysis under wrong arguments: each is one error that names it. And the figures of single queues by other
formulas than those of the code."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tailback import analysis
from tailback.analysis import lrd
from tailback.errors import ArgumentError

SERIES = np.random.default_rng(1).random(600)
NAN = math.nan
RNG = np.random.default_rng(2)

WRONG: list[tuple[str, Callable[[], Any]]] = [
    ("load", lambda: analysis.mg1(NAN, 0.0)),
    ("load", lambda: analysis.md1(-0.1)),
    ("load", lambda: analysis.mm1n(NAN, 3)),
    ("n", lambda: analysis.mm1n(0.5, 0)),
    ("squared_variation", lambda: analysis.mg1(0.5, NAN)),
    ("squared_variation", lambda: analysis.mg1(0.5, math.inf)),
    ("loss", lambda: analysis.penalised_throughput([1.0], [2.0], 0.5)),
    ("throughput", lambda: analysis.penalised_throughput([NAN], [0.1], 0.5)),
    ("k", lambda: analysis.penalised_throughput([1.0], [1.0], -1.0)),
    *[("rtt", lambda rtt=rtt: analysis.square_root(0.1, rtt, 1500)) for rtt in (0.0, -0.1, NAN, math.inf)],
    ("packet", lambda: analysis.square_root(0.1, 0.1, -1500)),
    ("acked", lambda: analysis.square_root(0.1, 0.1, 1500, acked=0)),
    ("rto", lambda: analysis.pftk_simple(0.1, 0.1, 1500, rto=-1)),
    ("acked", lambda: analysis.pftk(0.1, 0.1, 1500, rto=0.2, acked=0)),
    ("window_limit", lambda: analysis.pftk(0.1, 0.1, 1500, rto=0.2, window_limit=NAN)),
    ("rtt", lambda: analysis.tcp_friendly_rate(0.1, 0.0, 1500)),
    ("hurst", lambda: lrd.autocovariance(2.0, 5)),
    ("lags", lambda: lrd.autocovariance(0.7, -1)),
    ("alpha", lambda: lrd.hurst_of(NAN)),
    ("alpha", lambda: lrd.hurst_of(0.5)),
    ("first", lambda: lrd.counted([0], [1])),
    ("first", lambda: lrd.counted([1.5], [1])),
    ("second", lambda: lrd.counted([1], [9])),
    ("second", lambda: lrd.counted([1, 2], [1])),
    ("levels", lambda: lrd.counted([1], [1], 0)),
    *[("bin", lambda width=width: lrd.predict(SERIES, width, 1.0)) for width in (0.0, -1.0, NAN)],
    *[("history", lambda time=time: lrd.predict(SERIES, 1.0, time)) for time in (0.0, NAN, math.inf)],
    *[("offset", lambda time=time: lrd.predict(SERIES, 1.0, 2.0, offset=time)) for time in (-5.0, NAN, 0.5)],
    ("how", lambda: lrd.predict(SERIES, 1.0, 2.0, how="later")),  # type: ignore[arg-type]  # That is the mistake.
    ("bin", lambda: lrd.by_time_scale(SERIES, 0.0)),
    ("times", lambda: lrd.by_time_scale(SERIES, 1.0, [NAN])),
    ("times", lambda: lrd.by_time_scale(SERIES, 1.0, [0.0])),
    ("phases", lambda: lrd.by_time_scale(SERIES, 1.0, [1.0], phases=0)),
    ("bin", lambda: lrd.study(lrd.Trace("a", SERIES, NAN))),
    ("shortest", lambda: lrd.study(lrd.Trace("a", SERIES, 0.1), shortest=NAN)),
    ("n", lambda: analysis.mm1n([0.5, 0.7], 10**9)),
    *[("volumes", lambda given=given: lrd.edges(given)) for given in ([], [1.0, NAN], [[1.0]], ["a"])],
    ("volumes", lambda: lrd.quantise(np.array([math.inf]), np.array([1.0]))),
    ("at", lambda: lrd.quantise(SERIES, np.array([2.0, 1.0]))),
    ("mean_off", lambda: lrd.on_off(1.5, 10, RNG, mean_off=math.inf)),
    ("mean", lambda: lrd.m_g_infinity(1.5, 10, RNG, mean=math.inf)),
    ("shortest", lambda: lrd.dfa(SERIES, shortest=-3)),
    ("scales", lambda: lrd.dfa(SERIES, longest=0)),
    ("shortest", lambda: lrd.rescaled_range(SERIES, shortest=1, corrected=True)),
    ("scales", lambda: lrd.rescaled_range(SERIES, longest=0)),
    ("scales", lambda: lrd.variance_time(SERIES, longest=0)),
    *[("fit", lambda fit=fit: lrd.wavelet(SERIES, fit=fit)) for fit in (NAN, -0.1, 1.0)],
    ("shortest", lambda: lrd.wavelet(SERIES, shortest=0)),
    ("longest", lambda: lrd.wavelet(SERIES, longest=0)),
]


@pytest.mark.parametrize(("name", "call"), WRONG, ids=[f"{name}-{place}" for place, (name, _) in enumerate(WRONG)])
def test_a_wrong_argument_is_one_error(name: str, call: Callable[[], Any]) -> None:
    with pytest.raises(ArgumentError, match=rf"^{name}: .*; expected .*"):
        call()


@pytest.mark.parametrize("load", [0.2, 0.9, 1.0, 3.0])
def test_a_short_queue_by_its_birth_and_death(load: float) -> None:
    n = 7
    found = analysis.mm1n(load, n)
    assert isinstance(found, analysis.MM1n)
    rates = np.diag([load] * n, 1) + np.diag([1.0] * n, -1)
    balance = (rates - np.diag(rates.sum(axis=1))).T
    balance[-1] = 1.0
    share = np.linalg.solve(balance, np.eye(n + 1)[-1])
    assert found.loss[0] == pytest.approx(share[-1])
    assert found.in_system[0] == pytest.approx(share @ np.arange(n + 1))
    assert found.throughput[0] == pytest.approx(load * (1.0 - share[-1])), "what is not lost departs"


def test_queues_without_limit_by_their_closed_forms() -> None:
    half = analysis.md1(0.5)
    assert isinstance(half, analysis.MG1)
    assert analysis.MD1 is analysis.MG1
    assert (half.delay, half.waiting, half.in_system) == pytest.approx((0.5, 0.25, 0.75))
    # Exponential service is M/M/1: load / (1 - load) in the system; waits are twice those of constant service.
    assert analysis.mg1(0.8, 1.0).in_system == pytest.approx(4.0)
    assert analysis.mg1(0.8, 1.0).delay == pytest.approx(2.0 * analysis.md1(0.8).delay)
    assert analysis.mm1n(0.8, 400).in_system[0] == pytest.approx(4.0), "a queue that is never full"


def test_a_prediction_has_what_it_was_made_of() -> None:
    made = lrd.predict(SERIES, 1.0, 2.0, 3.0)
    assert isinstance(made, lrd.Prediction)
    assert (made.history, made.horizon, made.past.size) == (2.0, 3.0, 120)
    assert made.past == pytest.approx(SERIES.reshape(120, 5)[:, :2].sum(axis=1))
    assert made.table.counts.sum() == 120
    assert lrd.predict(SERIES, 1.0, 2.0, 3.0, offset=5.0).past == pytest.approx(made.past[1:])
    assert math.isnan(lrd.counted([], []).conditional_entropy())
