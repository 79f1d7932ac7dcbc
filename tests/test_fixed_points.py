"""Where models come to rest, and where they stop to be stable, by closed forms and equations solved here by other means than the
models' own. The values were worked out from the papers before the code was read."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from tailback import analysis
from tailback.analysis import fluid, lrd, tdqm, utility
from tailback.papers.tdqm import definition

ROUTES = [[0, 1], [0], [1]]
"""A parking lot: a long flow over both links, and one over each."""
CAPACITY = 1125.0
"""Packets per second: 9 Mbit/s, as in figure 2 of Xia et al."""
DELAYS = np.array([0.044, 0.024, 0.024])


@pytest.mark.parametrize(("law", "kappa", "seconds"), [("p", 0.5, 15.0), ("mw", 100.0, 25.0), ("aiad", 0.05, 40.0)])
def test_windows_and_queues_of_a_parking_lot_at_rest(law: fluid.Law, kappa: float, seconds: float) -> None:
    moved = fluid.solve(ROUTES, [CAPACITY, CAPACITY], DELAYS, law=law, kappa=kappa, duration=seconds, step=2e-3)
    # Each flow holds 3 packets: the long one has them in both queues, so it gets a third of a link, and a queue delays by
    # 3 packets over the two thirds of the short one. Windows are rates by round trips.
    rates = np.array([CAPACITY / 3, 2 * CAPACITY / 3, 2 * CAPACITY / 3])
    delay = 3.0 / (2 * CAPACITY / 3)
    windows = rates * (DELAYS + delay * np.array([2, 1, 1]))
    # The mean of the last five seconds. A law of signs goes to and fro by a tenth of a packet, some fifty times in them, so that a
    # part of a period at the end may weigh a five-hundredth of a packet.
    for found, expected in (
        (moved.rates, rates),
        (moved.queues, [4.5, 4.5]),
        (moved.accumulations, [3.0] * 3),
        (moved.windows, windows),
    ):
        assert found[-2500:].mean(axis=0) == pytest.approx(expected, rel=1e-3)


def test_targets_share_as_weights() -> None:
    # Targets of 1 and 3, the ends of Vegas's range: 1 / x = p1 + p2 and 3 / (c - x) = p give x = c / 7.
    targets = [1.0, 3.0, 3.0]
    expected = CAPACITY / 7 * np.array([1, 6, 6])
    moved = fluid.solve(ROUTES, [CAPACITY, CAPACITY], DELAYS, targets=targets, duration=20.0)
    assert moved.rates[-1] == pytest.approx(expected, rel=1e-4)
    assert utility.proportional(ROUTES, [CAPACITY] * 2, targets).rates == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("lag", [0, 1, 3, 10])
def test_the_critical_gain_puts_a_pole_on_the_unit_circle(lag: int) -> None:
    # z^(lag+1) - z^lag + kappa = 0 on the unit circle: z^lag (1 - z) is real and positive first at z = exp(i pi / (2 lag + 1)).
    z = np.exp(1j * math.pi / (2 * lag + 1))
    gain = z**lag * (1 - z)
    assert abs(gain.imag) < 1e-12
    assert fluid.critical_gain(lag) == pytest.approx(gain.real, rel=1e-12)
    assert fluid.sampled_radius(gain.real, lag) == pytest.approx(1.0, rel=1e-9)
    if lag:
        assert fluid.interleaved_gain(lag) == pytest.approx(lag * gain.real, rel=1e-12)


@pytest.mark.parametrize(("users", "max_p", "g"), [(15, 0.003, 1.0), (15, 0.02, 1.0), (5, 0.001, 2.0), (40, 0.05, 1.0)])
def test_utilization_rests_where_marks_hold_windows(users: int, max_p: float, g: float) -> None:
    link = tdqm.Network(5625.0, 240.0, 0.0822, users, g=g)

    def surplus(rho: float) -> float:
        window = rho * link.capacity * link.round_trip * g / users
        needed = 1.0 - (1.0 - 2.0 / (window * g)) ** (g / window)
        base = max_p * (rho - 0.9) / 0.1
        return float(needed - 2.0 * base / (1.0 + base))

    rho = float(brentq(surplus, 0.9 + 1e-9, 2.0, xtol=1e-13))
    found = tdqm.rest(link, tdqm.Marking(0.9, 1.0, max_p, 0.25))
    assert rho < 1.0
    assert found.utilization == pytest.approx(rho, rel=1e-9)
    assert found.window == pytest.approx(rho * link.capacity * link.round_trip * g / users, rel=1e-9)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_burstiness_of_smooth_arrivals_is_that_of_the_definition(load: float) -> None:
    arrivals = np.random.default_rng(77).exponential(1.0 / load, 60_000).cumsum()
    periods = definition.busy_periods(arrivals.tolist(), 1.0)
    samples = np.array([eta for _, eta in definition.burstiness(periods, 3.0)])
    found, per_packet = tdqm.burstiness(1.0, tdqm.Network(5625.0, 240.0, 0.0822, 15), load)
    # Four standard errors of the difference: the model has 20 000 packets of its own.
    near = 4.0 * samples.std() * math.sqrt(1.0 / samples.size + 1.0 / (20_000 * per_packet))
    assert found == pytest.approx(samples.mean(), abs=near)
    assert per_packet == pytest.approx(samples.size / arrivals.size, rel=0.1)


def test_a_limit_rests_where_it_grows_as_much_as_it_is_cut() -> None:
    for acked, probability in ((20.0, 0.05), (3.0, 0.5), (200.0, 0.01)):
        limit = tdqm.limit_at_rest(acked, probability)
        cut = 0.5 * limit * (1.0 - (1.0 - probability) ** acked)
        assert cut == pytest.approx(acked * (1.0 - probability), rel=1e-12)


def test_marks_are_as_rare_as_their_mean_distance_says() -> None:
    # RED's even spacing: distances of 1 to 1 / p packets, all alike.
    marks = tdqm.Marking(0.9, 1.0, 0.02, 0.25)
    for most in (50, 125, 1000):
        average = 0.9 + 0.1 / (0.02 * most)
        assert marks.probability(average) == pytest.approx(1.0 / np.mean(np.arange(1, most + 1)), rel=1e-9)
    assert marks.average_for(marks.probability(0.94)) == pytest.approx(0.94, rel=1e-12)
    assert [marks.probability(average) for average in (0.9, 1.0, 1.1)] == pytest.approx([0.0, 2 / 51, 1.0])


def test_figures_of_a_published_table_of_levels() -> None:
    # Table 1 of Tuan and Park, alpha = 1.05, in thousandths. A row of it, whose 7th entry has a digit too many, sums to 1.191.
    rows = [
        [667, 333, 0, 0, 0, 0, 0, 0],
        [3, 568, 306, 93, 27, 3, 0, 0],
        [0, 126, 468, 262, 116, 23, 3, 0],
        [0, 35, 205, 368, 305, 77, 21, 0],
        [0, 3, 78, 296, 356, 205, 60, 2],
        [0, 0, 12, 99, 285, 418, 182, 3],
        [0, 0, 18, 79, 245, 443, 213, 3],
        [0, 0, 0, 0, 333, 0, 500, 167],
    ]
    table = lrd.Table(np.array(rows))
    assert table.expected == pytest.approx([1.3, 2.6, 3.4, 4.2, 4.9, 5.7, 5.8, 6.5], abs=0.0501)
    assert table.entropies()[0] == pytest.approx(-0.667 * math.log2(0.667) - 0.333 * math.log2(0.333), rel=1e-9)
    assert table.total_variation() == 1.0, "no level follows both the lowest and the highest"
    assert table.span() == pytest.approx(6.501 - 1.333, abs=1e-3)


@pytest.mark.parametrize("k", [1, 2, 4, 8])
def test_penalised_throughput_peaks_where_its_slope_is_none(k: int) -> None:
    # M/M/1/n: with s = 1 + a + ... + a^n, throughput is 1 - 1/s and loss a^n / s. Maximised here by brute force.
    loads = np.linspace(0.2, 3.0, 28_001)
    powers = loads[:, None] ** np.arange(11)
    whole = powers.sum(axis=1)
    gamma = (1.0 - powers[:, -1] / whole) ** k * (1.0 - 1.0 / whole)
    queue = analysis.mm1n(loads, 10)
    found = analysis.penalised_throughput(queue.throughput, queue.loss, k)
    assert found == pytest.approx(gamma, rel=1e-9)
    assert loads[np.argmax(found)] == loads[np.argmax(gamma)]
