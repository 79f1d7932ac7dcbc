"""Levels of traffic and their prediction: quantisers, tables off line and on line, entropy and what it is worth."""

import numpy as np
import pytest

from tailback.analysis import lrd
from tailback.analysis.lrd import levels
from tailback.errors import ArgumentError


def walk(rho: float, count: int, seed: int = 1) -> np.ndarray:
    """A first-order autoregression of variance 1, as volumes around 100."""
    rng = np.random.default_rng(seed)
    steps = rng.standard_normal(count) * np.sqrt(1.0 - rho * rho)
    made = np.empty(count)
    now = rng.standard_normal()
    for index, step in enumerate(steps):
        now = rho * now + step
        made[index] = now
    return 100.0 + 10.0 * made


def test_bands_lie_one_deviation_apart() -> None:
    at = levels.bands(10.0, 2.0)
    assert at.tolist() == [4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0]
    # Appendix A.1: an edge belongs to the level above it.
    assert lrd.quantise(np.array([3.9, 4.0, 9.9, 10.0, 16.0, 99.0]), at).tolist() == [1, 2, 4, 5, 8, 8]


def test_levels_of_equal_probability_are_equally_full() -> None:
    volumes = np.random.default_rng(1).exponential(size=8000)
    found = lrd.quantise(volumes, lrd.edges(volumes, "equal", 8))
    assert np.bincount(found)[1:].tolist() == [1000] * 8


@pytest.mark.parametrize("quantiser", ["sigma", "equal"])
def test_on_line_levels_follow_the_appendix_step_by_step(quantiser: levels.Quantiser) -> None:
    volumes = walk(0.7, 300)
    found = levels.on_line(volumes, quantiser)
    for index in range(1, volumes.size):
        known = volumes[: index + 1]
        if quantiser == "sigma":
            expected = lrd.quantise(known[-1:], levels.bands(known.mean(), known.std()))[0]
        else:
            expected = int((np.sum(known[:-1] < known[-1]) + 0.5) / known.size * 8) + 1
        assert found[index] == expected


def test_a_table_counts_pairs_and_their_rows() -> None:
    table = lrd.counted([1, 1, 1, 2, 8], [1, 2, 2, 2, 8])
    assert table.seen.tolist() == [3, 1, 0, 0, 0, 0, 0, 1]
    assert table.expected[[0, 1, 7]].tolist() == pytest.approx([5 / 3, 2.0, 8.0])
    assert np.isnan(table.expected[2])
    assert table.entropies()[0] == pytest.approx(-(1 / 3 * np.log2(1 / 3) + 2 / 3 * np.log2(2 / 3)))
    # The paper's average is over all eight levels, seen or not.
    assert table.average_entropy() == pytest.approx(table.entropies()[0] / 8)
    assert table.span(least=1) == pytest.approx(8.0 - 5 / 3)
    assert table.total_variation(least=1) == 1.0


def test_a_walk_is_as_predictable_as_its_correlation_says() -> None:
    found = lrd.predict(walk(0.8, 40_000), 1.0, 1.0)
    # Bands of one deviation keep 92 % of a normal volume's variance (1/12 within them, less in the open ones).
    assert found.predictability == pytest.approx(0.92 * 0.8**2, abs=0.02)
    independent = lrd.predict(np.random.default_rng(1).standard_normal(40_000), 1.0, 1.0)
    assert independent.predictability < 0.01
    assert independent.table.mutual_information < 0.01
    assert independent.table.span() < 0.6
    assert found.table.span() > 3.0


def test_few_observations_alone_make_the_published_entropy_fall() -> None:
    found = lrd.by_time_scale(np.random.default_rng(1).standard_normal(100_000), 0.01, [0.1, 1.0, 2.5])
    assert found["entropy"][0] - found["entropy"][2] > 0.3
    assert abs(found["conditional_entropy"][0] - found["conditional_entropy"][2]) < 0.06


def test_shape_of_predictions_over_time_scales() -> None:
    table = lrd.by_time_scale(walk(0.99, 20_000), 0.01, [0.05, 0.5, 5.0])
    assert table["predictability"].is_sorted(descending=True)
    assert table["mutual_information"].is_sorted(descending=True)
    assert table["blocks"].to_list() == [2000, 200, 20]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"history": 0.015}, "history: 0.015 s"),
        ({"history": 50.0}, "leave 1 blocks"),
        ({"history": 1.0, "levels": 7}, "levels: 7"),
        ({"history": 1.0, "levels": 1}, "levels: 1"),
        ({"history": 1.0, "quantiser": "thirds"}, "quantiser: 'thirds'"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        lrd.predict(walk(0.5, 10_000), 0.01, **arguments)  # type: ignore[arg-type]
