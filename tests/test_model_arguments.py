"""Models of networks (fluid, allocation, two-dimensional queue management) and confidence intervals under wrong arguments: each is
one error that names it. Series so large or so small that squares overflow or vanish are refused, or computed right."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from tailback import analysis
from tailback.analysis import confidence, fluid, lrd, tdqm, tdqm_chance, utility
from tailback.analysis.lrd import trace
from tailback.errors import ArgumentError, NotFoundError

NAN, INF = math.nan, math.inf
ROUTES = [[0, 1], [0], [1]]
MARKS = {"low": 0.9, "high": 1.0, "max_p": 0.003, "weight": 0.25}
LINK: dict[str, Any] = {"capacity": 5625.0, "buffer": 240.0, "round_trip": 0.0822, "users": 15}
MARKING, NETWORK = tdqm.Marking(**MARKS), tdqm.Network(**LINK)
TIMES = np.arange(10.0)
NOISE = lrd.fractional_noise(0.8, 2048, np.random.default_rng(1))

Call = Callable[[], Any]


def flows(**given: Any) -> Call:
    """A fluid of two flows, with something wrong."""
    return lambda: fluid.solve(
        **{"routes": [[0], [0]], "capacities": [100.0], "propagation": 0.1, "duration": 1.0, **given}
    )


def marking(**given: Any) -> Call:
    """Marks with something wrong."""
    return lambda: tdqm.Marking(**{**MARKS, **given})


def network(**given: Any) -> Call:
    """A link with something wrong."""
    return lambda: tdqm.Network(**{**LINK, **given})


def optimum(**given: Any) -> Call:
    """Rates and prices with something wrong."""
    right = {"routes": ROUTES, "capacities": [1.0, 2.0], "rates": [0.5, 0.5, 1.5], "prices": [1.0, 1.0]}
    return lambda: utility.kkt_residual(**{**right, **given})


NO_NUMBERS = (NAN, INF, -1.0, 0.0)
WRONG: list[tuple[str, Call]] = [
    *[("capacities", flows(capacities=given)) for given in ([], [NAN], [0.0], [-1.0], [INF], "a", [[1.0, 2.0]], [1j])],
    *[("propagation", flows(propagation=given)) for given in (*NO_NUMBERS, [0.1] * 3, "a")],
    *[("targets", flows(targets=given)) for given in (*NO_NUMBERS, [3.0] * 3)],
    *[("law", flows(law=given)) for given in ("x", None)],
    *[("kappa", flows(kappa=given)) for given in NO_NUMBERS],
    *[("start", flows(start=given)) for given in NO_NUMBERS],
    *[("duration", flows(duration=given)) for given in (*NO_NUMBERS, 1e15)],
    *[("step", flows(step=given)) for given in (*NO_NUMBERS, 1.0)],
    *[("routes", flows(routes=given)) for given in ([], [0], 5, None)],
    *[("routes[0]", flows(routes=[given])) for given in ([], [1], [-1], [0.5], "a", [None])],
    *[("kappa", lambda given=given: fluid.sampled_radius(given)) for given in NO_NUMBERS],
    *[("lag", lambda given=given: fluid.sampled_radius(0.5, given)) for given in (-1, 1.5, NAN, 10**6)],
    *[("lag", lambda given=given: fluid.critical_gain(given)) for given in (-1, 0.5, NAN, INF)],
    *[("flows", lambda given=given: fluid.interleaved_gain(given)) for given in (0, -1, 1.5, NAN)],
    *[("routes[0]", lambda given=given: utility.proportional([given], [1.0])) for given in ([], [1], [-1], [0.5], "a")],
    *[("routes", lambda given=given: utility.max_min(given, [1.0])) for given in ([], [0], 5, None)],
    *[
        ("capacities", lambda given=given: utility.max_min(ROUTES, given))
        for given in ([], [NAN, 1.0], "a", [[1.0, 2.0]])
    ],
    *[("weights", lambda given=given: utility.max_min(ROUTES, [1.0, 2.0], given)) for given in ([1.0], [0.0] * 3, "a")],
    *[("alpha", lambda given=given: utility.alpha_fair(ROUTES, [1.0, 2.0], alpha=given)) for given in NO_NUMBERS],
    *[("alpha", optimum(alpha=given)) for given in NO_NUMBERS],
    *[("rates", optimum(rates=given)) for given in ([1.0], [NAN] * 3, [0.0] * 3, [-1.0] * 3)],
    *[("prices", optimum(prices=given)) for given in ([1.0], [NAN] * 2, "a")],
    *[("low", marking(low=given)) for given in (NAN, INF, -0.1, "a")],
    *[("high", marking(high=given)) for given in (NAN, INF, 0.9, 0.1)],
    *[("max_p", marking(max_p=given)) for given in (NAN, 0.0, -1.0, 1.1, True)],
    *[("weight", marking(weight=given)) for given in (NAN, 0.0, 1.0, -1.0)],
    *[("probability", lambda given=given: MARKING.average_for(given)) for given in (NAN, -0.1, 1.1)],
    ("average", lambda: MARKING.probability(NAN)),
    *[
        (name, network(**{name: given}))
        for name in ("capacity", "buffer", "round_trip", "impulse", "g", "window")
        for given in (*NO_NUMBERS, "1 s")
    ],
    *[("users", network(users=given)) for given in (0, -1, 1.5, NAN, None)],
    *[("impulse_users", network(impulse_users=given)) for given in (-1, 1.5, NAN)],
    *[("impulse_load", network(impulse_load=given)) for given in (-1.0, NAN, INF)],
    *[("window", lambda given=given: tdqm.needed(given)) for given in NO_NUMBERS],
    *[("g", lambda given=given: tdqm.needed(2.0, given)) for given in NO_NUMBERS],
    *[
        (name, lambda name=name, given=given: tdqm.solve(NETWORK, MARKING, **{name: given}))
        for name in ("start", "largest", "increase", "duration")
        for given in NO_NUMBERS
    ],
    ("duration", lambda: tdqm.solve(NETWORK, MARKING, duration=1e12)),
    ("eta", lambda: tdqm.solve(NETWORK, MARKING, 5, duration=0.1)),  # type: ignore[arg-type]  # That is the mistake.
    ("rho", lambda: tdqm.rest(NETWORK, NETWORK)),  # type: ignore[arg-type]
    ("network", lambda: tdqm_chance.rest(MARKING, MARKING)),  # type: ignore[arg-type]
    ("times", lambda: tdqm.settling(TIMES[:1], TIMES[:1], 1.0)),
    ("times", lambda: tdqm.settling(np.zeros(10), TIMES, 1.0)),
    ("values", lambda: tdqm.settling(TIMES, TIMES[:5], 1.0)),
    ("values", lambda: tdqm.settling(TIMES, TIMES * NAN, 1.0)),
    *[("span", lambda given=given: tdqm.settling(TIMES, TIMES, given)) for given in NO_NUMBERS],
    *[("part", lambda given=given: tdqm.settling(TIMES, TIMES, 1.0, given)) for given in NO_NUMBERS],
    *[("limit", lambda given=given: tdqm.burstiness(given, NETWORK, 0.5)) for given in NO_NUMBERS],
    *[("load", lambda given=given: tdqm.burstiness(5.0, NETWORK, given)) for given in (NAN, -0.1, 1.1)],
    *[("target", lambda given=given: tdqm_chance.max_p_for(NETWORK, MARKING, given)) for given in (*NO_NUMBERS, 1.1)],
    *[("target", lambda given=given: tdqm_chance.tuned(NETWORK, given)) for given in (*NO_NUMBERS, 0.5, 1.0)],
    *[("samples", lambda given=given: analysis.mean_interval(given)) for given in ([], [NAN], [INF, 1.0], "a", [1j])],
    *[("level", lambda given=given: analysis.mean_interval(TIMES, given)) for given in (0.0, 1.0, NAN, 95)],
    ("first", lambda: analysis.paired_interval([], [])),
    ("first", lambda: confidence.difference_interval([], [1.0])),
    ("second", lambda: confidence.difference_interval([1.0], [NAN])),
    ("level", lambda: confidence.difference_interval([1.0, 2.0], [1.0, 2.0], 95)),
    ("series", lambda: analysis.batch_means([])),
    ("series", lambda: analysis.batch_means([1.0])),
    *[("batches", lambda given=given: analysis.batch_means(TIMES, given)) for given in (1, 11, NAN, 2.5)],
    ("samples", lambda: analysis.mean_interval([1e308, -1e308])),
    ("first", lambda: analysis.paired_interval([1e308], [-1e308])),
    ("load", lambda: analysis.mm1n([[0.5]], 3)),
    ("loss", lambda: analysis.penalised_throughput([1.0, 2.0], [0.1, 0.2, 0.3], 1.0)),
    *[("series", lambda given=given: lrd.local_whittle(given * NOISE)) for given in (1e160, 1e300, 1e-200, 1j)],
    *[("series", lambda given=given: lrd.rescaled_range(given * NOISE)) for given in (1e160, 1e-200)],
    *[("series", lambda given=given: lrd.predict(given * NOISE, 1.0, 1.0)) for given in (1e160, 1e300, 1e-200)],
    *[("shortest", lambda given=given: lrd.variance_time(NOISE, shortest=given)) for given in (10.5, NAN)],
    *[("longest", lambda given=given: lrd.dfa(NOISE, longest=given)) for given in (100.5, NAN)],
    *[("shortest", lambda given=given: lrd.dfa(NOISE, shortest=given)) for given in (20.5, 0)],
    *[("longest", lambda given=given: lrd.wavelet(NOISE, longest=given)) for given in (100.5, INF)],
    *[("times", lambda given=given: lrd.by_time_scale(NOISE, 1.0, given)) for given in ([], "a", [1e9])],
    *[
        ("samples", lambda given=given: lrd.fractional_noise(0.8, given, np.random.default_rng(1)))
        for given in (0, 1.5, 10**13)
    ],
    ("lags", lambda: lrd.autocovariance(0.8, 2.5)),  # type: ignore[arg-type]
    ("rng", lambda: lrd.fractional_noise(0.8, 5, None)),  # type: ignore[arg-type]
    ("arrivals", lambda: lrd.m_g_infinity(1.5, 100, np.random.default_rng(1), arrivals=1e300)),
    ("sources", lambda: lrd.on_off(1.5, 100, np.random.default_rng(1), sources=1.5)),  # type: ignore[arg-type]
    *[("counts", lambda given=given: lrd.Table(given)) for given in ([[1, 2]], [[-1, 2], [3, 4]], [[0.5]], [], 1, "a")],
    *[("x", lambda given=given: lrd.local_whittle(NOISE).fitted(given)) for given in (0.0, [-1.0, 1.0], NAN, "a")],
    ("path", lambda: lrd.read_trace(None)),  # type: ignore[arg-type]
    ("a.pcap", lambda: trace.binned(np.array([3.0, 3.0]), np.ones(2), 0.01, "a.pcap")),
    ("values", lambda: lrd.Trace("a", "a", 0.1)),  # type: ignore[arg-type]
    ("trace", lambda: lrd.study(None)),  # type: ignore[arg-type]
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "call"), WRONG, ids=[f"{name}-{place}" for place, (name, _) in enumerate(WRONG)])
def test_a_wrong_argument_is_one_error(name: str, call: Call) -> None:
    with pytest.raises(ArgumentError) as told:
        call()
    said = str(told.value)
    assert said.startswith(f"{name}: ")
    assert "; expected " in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("capacities", "weights", "alpha"),
    [
        ([1e-300, 1e300], None, 1.0),
        ([1.0, 2.0], [1e300, 1.0, 1.0], 1.0),
        ([1.0, 2.0], None, 1e3),
        ([1.0, 2.0], None, 1e-6),
    ],
)
def test_a_programme_beyond_a_computers_numbers_is_refused(
    capacities: list[float], weights: list[float] | None, alpha: float
) -> None:
    with pytest.raises(ArgumentError, match=r"^alpha: .* is not allowed with these capacities and weights"):
        utility.alpha_fair(ROUTES, capacities, weights, alpha)


def test_one_weight_that_is_far_larger_leaves_the_others_their_links() -> None:
    rates = utility.proportional(ROUTES, [1.0, 2.0], [1e9, 1.0, 1.0]).rates
    assert rates == pytest.approx([1.0, 1e-9, 1.0], rel=1e-6)


@pytest.mark.parametrize("make", [np.asarray, pl.Series, list, iter])
def test_rows_of_any_kind_are_rows(make: Callable[[list[float]], Any]) -> None:
    capacities = [1.0, 2.0] if make is iter else make([1.0, 2.0])
    routes = (iter(route) for route in ROUTES) if make is iter else [np.array(route) for route in ROUTES]
    assert utility.proportional(routes, capacities).rates == pytest.approx(  # type: ignore[arg-type]  # Any iterable will do.
        utility.proportional(ROUTES, [1.0, 2.0]).rates
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e160, 1e300])
def test_intervals_take_any_unit(unit: float) -> None:
    samples, others = np.array([1.0, 2.0, 4.0, 8.0, 5.0]), np.array([2.0, 2.5, 7.0, 9.0, 1.0])
    made: tuple[Callable[[float], analysis.Interval], ...] = (
        lambda scale: analysis.mean_interval(scale * samples),
        lambda scale: analysis.paired_interval(scale * samples, scale * others),
        lambda scale: confidence.difference_interval(scale * samples, scale * others),
        lambda scale: analysis.batch_means(scale * np.tile(samples, 8), 4),
    )
    for interval in made:
        one, other = interval(1.0), interval(unit)
        assert other.mean / unit == pytest.approx(one.mean, rel=1e-12)
        assert other.half_width / unit == pytest.approx(one.half_width, rel=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e160, 1e300])
def test_edges_between_levels_take_any_unit(unit: float) -> None:
    volumes = np.abs(NOISE)
    assert lrd.edges(unit * volumes) / unit == pytest.approx(lrd.edges(volumes), rel=1e-12)


@pytest.mark.parametrize("level", [1e9, 1e12])
def test_a_level_far_from_zero_takes_no_range_away(level: float) -> None:
    found = lrd.rescaled_range(NOISE + level, interval=False)
    assert found.hurst == pytest.approx(lrd.rescaled_range(NOISE, interval=False).hurst, abs=1e-3)


def test_blocks_in_which_nothing_varies_have_no_range() -> None:
    series = NOISE.copy()
    series[:1024] = 0.1
    # Half of the blocks are of one value: what the others say alone. Their sums reach no further than a block.
    found = lrd.rescaled_range(series, longest=64, interval=False)
    alone = lrd.rescaled_range(series[1024:], longest=64, interval=False)
    divide = 1024 % found.x == 0
    assert divide.sum() == 3
    assert found.y[divide] == pytest.approx(alone.y[divide])


def test_an_estimate_that_there_is_none_of_is_named_with_those_there_are() -> None:
    study = lrd.study(lrd.Trace("a", np.abs(NOISE), 0.01))
    assert isinstance(study, lrd.Study)
    assert study.estimate("DFA").hurst == pytest.approx(study.table.row(5, named=True)["hurst"])
    with pytest.raises(NotFoundError, match=r"whittle: no such estimate; expected one of DFA, .*local Whittle"):
        study.estimate("whittle")


@pytest.mark.parametrize("make", [list, pl.Series, np.asarray])
def test_a_trace_is_of_any_row_of_numbers(make: Callable[[Any], Any]) -> None:
    trace = lrd.Trace("a", make(np.abs(NOISE)), 0.01)
    assert trace.duration == pytest.approx(20.48)
    assert trace.values == pytest.approx(np.abs(NOISE))
