"""Estimators and intervals against values that other libraries found for the same numbers: nolds 0.6.3, SciPy 1.17.1 and
statsmodels 0.15.0, which are not needed here. Estimates of series of known H are in ``test_lrd_estimators.py``."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tailback import analysis
from tailback.analysis import lrd, utility
from tailback.analysis.confidence import difference_interval
from tailback.analysis.lrd.rescaled_range import expected_white

PLACES = np.arange(1024.0)
SERIES = np.sin(PLACES * PLACES / 7) + 0.5 * np.sin(PLACES / 50)
SIZES = [16, 32, 64]
FIRST = [3.1, 2.7, 5.9, 4.4, 4.9, 3.3]
PAIRED = [2.0, 2.9, 5.1, 4.6, 3.8, 3.1]
OTHERS = [1.0, 7.0, 2.5]


def at_sizes(found: lrd.Estimate) -> list[float]:
    """The statistic at the sizes that the other library was asked for."""
    return [float(found.y[found.x == size][0]) for size in SIZES]


def test_rescaled_ranges() -> None:
    # nolds.measures.rs(SERIES, size, unbiased=False)
    expected = [4.050461588160587, 6.429523343151491, 9.959425888510488]
    assert at_sizes(lrd.rescaled_range(SERIES, longest=64, interval=False)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (1, [0.7119729601665963, 1.0725899198303064, 1.738981705691244]),
        (2, [0.5871049541213206, 0.8558999075307268, 1.1128645282091736]),
    ],
)
def test_fluctuations(order: int, expected: list[float]) -> None:
    # nolds.dfa(SERIES, nvals=SIZES, overlap=False, order=order, debug_data=True)
    found = lrd.dfa(SERIES, order=order, longest=64, interval=False)
    assert at_sizes(found) == pytest.approx(expected, rel=1e-9)


def test_spectra_and_what_is_read_off_them() -> None:
    # scipy.signal.periodogram(SERIES, detrend="constant") / (4 pi): per radian, of both sides.
    found = lrd.periodogram(SERIES)
    assert found.power[:3] == pytest.approx([0.514203601832209, 0.9432085226876735, 9.90875605685883], rel=1e-9)
    assert found.power.size == 90
    # statsmodels: OLS(log(power), add_constant(-log(frequency))), half of 1 plus the slope.
    assert lrd.log_periodogram(found).hurst == pytest.approx(0.7536886564245852, rel=1e-9)
    # scipy.optimize.minimize_scalar of Robinson's contrast, written out without centred logarithms.
    assert lrd.local_whittle(found).hurst == pytest.approx(0.92823124878, abs=1e-6)


@pytest.mark.parametrize(
    ("level", "mean", "paired", "welch"),
    [
        (
            0.9,
            (3.0387883060634886, 5.061211693936511),
            (-0.036871482626479, 0.970204815959813),
            (-4.437756536187018, 5.537756536187017),
        ),
        (
            0.99,
            (2.026549749100617, 6.073450250899382),
            (-0.5409209637317192, 1.4742542970650532),
            (-14.279678354595344, 15.379678354595342),
        ),
    ],
)
def test_intervals(
    level: float, mean: tuple[float, float], paired: tuple[float, float], welch: tuple[float, float]
) -> None:
    # statsmodels' DescrStatsW.tconfint_mean, scipy's ttest_rel, statsmodels' CompareMeans.tconfint_diff(usevar="unequal").
    for found, expected in (
        (analysis.mean_interval(FIRST, level), mean),
        (analysis.paired_interval(FIRST, PAIRED, level), paired),
        (difference_interval(FIRST, OTHERS, level), welch),
    ):
        assert (found.low, found.high) == pytest.approx(expected, rel=1e-9)


def test_the_range_of_white_noise_is_the_exact_one() -> None:
    # The mean of R/S over 400 000 blocks of 8 and of 16 samples of white noise, and its standard error. Peters' form, which is
    # (n - 1/2) / n of the exact one, is 215 and 90 of these away.
    for size, found, error in ((8, 2.62614, 0.00076), (16, 4.03612, 0.00137)):
        assert expected_white([size])[0] == pytest.approx(found, abs=3 * error)


def test_the_sum_of_fractional_noise_grows_by_its_power() -> None:
    # Var of the sum of n samples is n^2H, exactly: sum over both indices of the covariance.
    for hurst in (0.2, 0.5, 0.9):
        for count in (2, 10, 1000):
            covariance = lrd.autocovariance(hurst, count)
            lags = np.arange(1, count)
            whole = count * covariance[0] + 2.0 * float(np.sum((count - lags) * covariance[1:]))
            assert whole == pytest.approx(count ** (2.0 * hurst), rel=1e-9)


@pytest.mark.parametrize(
    ("alpha", "expected"), [(1.0, 10.0 / 6.0), (2.0, 10.0 / (1.0 + math.sqrt(5.0))), (0.5, 10.0 / 26.0)]
)
def test_a_parking_lot_of_five_links(alpha: float, expected: float) -> None:
    # Bonald and Massoulié 2001: over n links, each with one flow of its own, the long one has c / (1 + n^(1/alpha)).
    found = utility.alpha_fair([range(5), *([link] for link in range(5))], [10.0] * 5, alpha=alpha)
    assert found.rates == pytest.approx([expected, *[10.0 - expected] * 5], rel=1e-9)
    assert found.prices == pytest.approx([(10.0 - expected) ** -alpha] * 5, rel=1e-9)
