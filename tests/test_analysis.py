"""Theory: published vectors, laws, and agreement between formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.signal import lfilter

from tailback import analysis
from tailback.analysis import columns, lrd
from tailback.analysis.confidence import difference_interval

Model = Callable[[float, float], NDArray[np.float64]]

loads = st.floats(0.0, 20.0)
rates = st.lists(st.floats(0.0, 1e12), min_size=1, max_size=50)


def test_mm1n_by_its_textbook_form() -> None:
    # Kleinrock, Queueing Systems I, §3.6: p_n = (1 - a) a^n / (1 - a^(n+1)).
    for load, n in [(0.5, 1), (0.5, 5), (0.9, 20), (2.0, 3)]:
        expected = (1 - load) * load**n / (1 - load ** (n + 1))
        assert analysis.mm1n(load, n).loss[0] == pytest.approx(expected, rel=1e-12)
    # Erlang's loss formula for one server and no waiting room: a / (1 + a).
    assert analysis.mm1n(3.0, 1).loss[0] == pytest.approx(0.75)
    # At load one all n + 1 states are equally likely.
    balanced = analysis.mm1n(1.0, 9)
    assert (balanced.loss[0], balanced.in_system[0]) == pytest.approx((0.1, 4.5))


@given(loads, st.integers(1, 200))
def test_mm1n_conserves_packets(load: float, n: int) -> None:
    queue = analysis.mm1n(load, n)
    assert queue.throughput[0] == pytest.approx(load * (1 - queue.loss[0]), rel=1e-9, abs=1e-12)
    assert 0 <= queue.loss[0] <= 1
    assert 0 <= queue.throughput[0] <= 1 + 1e-12
    assert 0 <= queue.in_system[0] <= n + 1e-9


@pytest.mark.parametrize("load", [0.0, 1e-300, 1e-9, 0.3, 1.0, 1.0 + 1e-12, 40.0, 1e200])
@pytest.mark.parametrize("n", [1, 2, 60])
def test_mm1n_has_all_its_digits_at_every_load(load: float, n: int) -> None:
    weights = [Fraction(load) ** count for count in range(n + 1)]
    whole = sum(weights)
    queue = analysis.mm1n(load, n)
    assert queue.throughput[0] == pytest.approx(float(1 - weights[0] / whole), rel=1e-12, abs=0.0)
    assert queue.loss[0] == pytest.approx(float(weights[-1] / whole), rel=1e-9, abs=0.0)


def test_mm1n_without_limit_is_mm1() -> None:
    assert analysis.mm1n(0.6, 500).in_system[0] == pytest.approx(0.6 / 0.4)
    assert analysis.mg1(0.6, 1.0).in_system == pytest.approx(0.6 / 0.4)


def test_md1_waits_half_as_long_as_mm1() -> None:
    assert analysis.md1(0.8).delay == pytest.approx(2.0)
    assert analysis.md1(0.8).delay == pytest.approx(analysis.mg1(0.8, 1.0).delay / 2)


def test_penalty_of_zero_is_raw_throughput() -> None:
    assert analysis.penalised_throughput(0.7, 0.2, 0) == pytest.approx(0.7)
    assert analysis.penalised_throughput(0.7, 0.2, 2) == pytest.approx(0.448)


@pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf])
def test_queues_refuse_what_is_no_load(bad: float) -> None:
    with pytest.raises(ValueError, match="load"):
        analysis.mm1n(bad, 5)


def test_queues_refuse_what_has_no_equilibrium() -> None:
    with pytest.raises(ValueError, match="below 1"):
        analysis.md1(1.0)
    with pytest.raises(ValueError, match="at least 1"):
        analysis.mm1n(0.5, 0)


def test_tcp_models_against_printed_values() -> None:
    # The reference rows of ns-2 print these for 1000 bytes, 100 ms and a timeout of 200 ms, in Mbit/s.
    found = analysis.pftk_simple([0.001, 0.01], 0.1, 1000, rto=0.2) / 1e6
    assert found == pytest.approx([3.0845, 0.93747], rel=1e-4)
    delayed = analysis.pftk_simple([0.001, 0.01], 0.1, 1000, rto=0.2, acked=2) / 1e6
    assert delayed == pytest.approx([2.1811, 0.66289], rel=1e-4)
    assert analysis.square_root([0.001, 0.01], 0.1, 1000) / 1e6 == pytest.approx([3.0984, 0.9798], rel=1e-4)


def test_tfrc_equation_at_an_even_loss_rate() -> None:
    # RFC 5348 §3.1 with b = 1 and t_RTO = 4 R is Eq. (1); by hand at 1 %: 8000 / (0.1 (0.081650 + 0.0073710)).
    expected = 8000 / (0.1 * (math.sqrt(0.02 / 3) + 12 * math.sqrt(0.03 / 8) * 0.01 * 1.0032))
    assert analysis.tcp_friendly_rate(0.01, 0.1, 1000) == pytest.approx(expected)
    assert analysis.tcp_friendly_rate(0.01, 0.1, 1000) == pytest.approx(898_658, rel=1e-4)


@given(st.floats(1e-6, 0.4), st.floats(1e-3, 2.0))
def test_tcp_models_fall_with_loss_and_round_trip_time(loss: float, rtt: float) -> None:
    models: tuple[Model, ...] = (
        lambda p, r: analysis.pftk(p, r, 1000, rto=4 * r),
        lambda p, r: analysis.pftk_simple(p, r, 1000, rto=4 * r),
        lambda p, r: analysis.tcp_friendly_rate(p, r, 1000),
        lambda p, r: analysis.square_root(p, r, 1000),
    )
    for model in models:
        here = model(loss, rtt)
        assert here > 0
        assert model(loss * 1.01, rtt) < here
        assert model(loss, rtt * 1.01) < here


def test_full_model_meets_the_simple_one_at_small_loss() -> None:
    loss = np.array([1e-5, 1e-4])
    full = analysis.pftk(loss, 0.1, 1000, rto=0.2)
    assert full == pytest.approx(analysis.square_root(loss, 0.1, 1000), rel=0.03)


def test_full_model_obeys_the_window_limit() -> None:
    # Without loss to speak of, a window of 10 packets per round trip: 10 * 8000 bit / 0.1 s.
    assert analysis.pftk(1e-7, 0.1, 1000, rto=0.4, window_limit=10) == pytest.approx(800_000, rel=0.01)


@pytest.mark.parametrize("loss", [1e-300, 1e-17, 1e-13])
def test_full_model_knows_the_rarest_losses(loss: float) -> None:
    assert float(analysis.pftk(loss, 0.1, 1000, rto=0.2)) == pytest.approx(
        float(analysis.square_root(loss, 0.1, 1000)), rel=1e-5
    )
    assert float(analysis.pftk(loss, 0.1, 1000, rto=0.2, window_limit=10)) == pytest.approx(800_000, rel=1e-9)


@pytest.mark.parametrize("loss", [5e-324, 1e-320, 1e-310, 1e-300])
def test_models_of_tcp_are_numbers_down_to_the_least_loss(loss: float) -> None:
    """All come to the square-root law, also where 1 / loss is no number; and with a window limit to a window per round trip."""
    expected = math.exp(math.log(8e4) + 0.5 * (math.log(1.5) - math.log(loss)))
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = [
            analysis.square_root(loss, 0.1, 1000),
            analysis.pftk_simple(loss, 0.1, 1000, rto=0.2),
            analysis.pftk(loss, 0.1, 1000, rto=0.2),
            analysis.tcp_friendly_rate(loss, 0.1, 1000),
        ]
        limited = analysis.pftk(loss, 0.1, 1000, rto=0.2, window_limit=10)
    assert [float(each) for each in found] == pytest.approx([expected] * 4, rel=1e-9)
    assert float(limited) == pytest.approx(800_000, rel=1e-9)


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, math.nan])
def test_tcp_models_refuse_what_is_no_loss(bad: float) -> None:
    with pytest.raises(ValueError, match="loss"):
        analysis.tcp_friendly_rate(bad, 0.1, 1000)


def test_jain_of_known_shares() -> None:
    assert analysis.jain([1, 1, 1, 1]) == pytest.approx(1)
    assert analysis.jain([1, 0, 0, 0]) == pytest.approx(0.25)
    assert analysis.jain([1, 2, 3]) == pytest.approx(36 / 42)
    assert analysis.jain([0, 0]) == 1


@given(rates, st.floats(1e-6, 1e6))
def test_fairness_is_bounded_and_blind_to_scale(shares: list[float], factor: float) -> None:
    index = analysis.jain(shares)
    assert 1 / len(shares) - 1e-9 <= index <= 1 + 1e-9
    scaled = [share * factor for share in shares]
    if min((share for share in shares if share), default=1) > 1e-200:
        assert analysis.jain(scaled) == pytest.approx(index, rel=1e-6)
        assert analysis.epsilon_fairness(scaled) == pytest.approx(analysis.epsilon_fairness(shares), abs=1e-6)


def test_epsilon_and_product_of_known_shares() -> None:
    assert analysis.epsilon_fairness([4, 5]) == pytest.approx(0.2)
    assert analysis.product_measure([1, 4]) == pytest.approx(2)
    assert analysis.product_measure([0, 4]) == 0


def test_student_interval_by_hand() -> None:
    # Mean 3, standard deviation sqrt(2.5), n = 5, t(4, 97.5 %) = 2.776445.
    interval = analysis.mean_interval([1, 2, 3, 4, 5])
    assert interval.mean == 3
    assert interval.half_width == pytest.approx(2.776445 * math.sqrt(2.5 / 5), rel=1e-6)
    assert interval.low < 3 < interval.high
    assert 4.0 in interval


def test_one_sample_says_nothing_about_spread() -> None:
    assert math.isinf(analysis.mean_interval([7.0]).half_width)


def test_intervals_cover_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    covered = sum(0.0 in analysis.mean_interval(rng.normal(size=8)) for _ in range(4000))
    assert covered / 4000 == pytest.approx(0.95, abs=0.015)


def test_pairs_cancel_common_noise() -> None:
    rng = np.random.default_rng(2)
    common = rng.normal(size=20) * 100
    paired = analysis.paired_interval(common + 1, common + rng.normal(size=20) * 0.01)
    assert paired.half_width < 0.01
    assert 1.0 in analysis.paired_interval(common + 1, common)
    with pytest.raises(ValueError, match="as many"):
        analysis.paired_interval([1, 2], [1])


def test_batch_means_widen_with_correlation() -> None:
    rng = np.random.default_rng(3)
    steps = rng.normal(size=40_000)
    correlated = np.empty_like(steps)
    correlated[0] = 0.0
    for i in range(1, steps.size):
        correlated[i] = 0.95 * correlated[i - 1] + steps[i]
    naive = analysis.mean_interval(correlated).half_width
    honest = analysis.batch_means(correlated, batches=20).half_width
    assert honest > 3 * naive  # The correlation time is about 20 steps: sqrt((1 + a) / (1 - a)) = 6.2.
    with pytest.raises(ValueError, match="batches"):
        analysis.batch_means([1.0, 2.0], batches=5)


def covered(series: Iterable[np.ndarray]) -> float:
    """How often batch means cover the mean, 0."""
    return float(np.mean([0.0 in analysis.batch_means(each) for each in series]))


def test_batch_means_cover_what_their_length_allows() -> None:
    # The shares that its documentation tells, within four standard deviations of 400 series.
    rng = np.random.default_rng(7)
    for memory, length, told in ((0.95, 500, 0.94), (0.95, 50, 0.90), (0.99, 50, 0.63)):
        steps = rng.normal(size=(400, 20 * length))
        steps[:, 0] /= math.sqrt(1.0 - memory**2)  # It begins in its stationary state.
        found = covered(lfilter([1.0], [1.0, -memory], steps, axis=1))
        assert found == pytest.approx(told, abs=4 * math.sqrt(told * (1 - told) / 400))


@pytest.mark.parametrize(("hurst", "told"), [(0.6, 0.86), (0.7, 0.69), (0.8, 0.54), (0.9, 0.33)])
@pytest.mark.parametrize("samples", [1 << 10, 1 << 14])
def test_no_length_helps_batch_means_under_long_range_dependence(hurst: float, told: float, samples: int) -> None:
    rng = np.random.default_rng(8)
    found = covered(lrd.fractional_noise(hurst, samples, rng) for _ in range(400))
    assert found == pytest.approx(told, abs=4 * math.sqrt(told * (1 - told) / 400))


@pytest.mark.parametrize("unit", [1e-90, 1.0, 1e120])
def test_welch_takes_any_unit(unit: float) -> None:
    # scipy.stats.ttest_ind([1, 2, 4], [2, 2.5, 7, 9], equal_var=False).confidence_interval()
    found = difference_interval(np.array([1, 2, 4]) * unit, np.array([2, 2.5, 7, 9]) * unit)
    assert (found.low / unit, found.high / unit) == pytest.approx((-7.976538867, 2.393205534), rel=1e-9)


def test_figures_of_a_column() -> None:
    column = pl.Series("rate", [4, 1, 7])
    assert (columns.least(column), columns.mean(column), columns.greatest(column)) == (1.0, 4.0, 7.0)
    assert (columns.median(column), columns.quantile(column, 1.0)) == (4.0, 7.0)
    parts = [0.0, 0.1, 0.5, 0.6, 0.95]
    assert [columns.quantile(column, part) for part in parts] == pytest.approx(np.quantile(column.to_numpy(), parts))
    with pytest.raises(ValueError, match="rate: expected numbers, found 0 values"):
        columns.mean(column.head(0))
    with pytest.raises(ValueError, match="name: expected numbers, found 1 values of String"):
        columns.greatest(pl.Series("name", ["a"]))
