"""Utility maximisation and the fluid model: closed forms, laws, an independent solver; and one small run of Monaco."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailback.analysis import columns, fluid, utility
from tailback.papers.accumulation import demands, equilibrium, fig_7, fig_8, fig_9, network, robustness
from tailback.papers.lab import Lab
from tailback.pool import Pool
from tailback.progress import Bar

PARKING_LOT = [[0, 1], [0], [1]]


def test_the_parking_lot_in_closed_form() -> None:
    # Proportional: the long flow pays two prices; max-min: everyone half; alpha 2: the square root of two prices.
    assert utility.proportional(PARKING_LOT, [9, 9]).rates == pytest.approx([3, 6, 6])
    assert utility.max_min(PARKING_LOT, [9, 9]) == pytest.approx([4.5, 4.5, 4.5])
    root = np.sqrt(2)
    assert utility.alpha_fair(PARKING_LOT, [9, 9], alpha=2).rates == pytest.approx(
        [9 / (1 + root), 9 * root / (1 + root), 9 * root / (1 + root)]
    )


def test_thousands_of_links_are_solved_without_a_matrix_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every flow passes a link of its own at either end, and one of three in the middle."""
    flows = 40
    routes = [[flow % 3, 3 + 2 * flow, 4 + 2 * flow] for flow in range(flows)]
    capacities = [9.0, 7.0, 5.0, *([0.4, 10.0] * flows)]
    weights = np.linspace(1.0, 3.0, flows)
    whole = [utility.alpha_fair(routes, capacities, weights, alpha) for alpha in (1.0, 2.0)]
    monkeypatch.setattr(utility, "DENSE", 10)
    monkeypatch.setattr(utility, "cho_factor", lambda *_, **__: pytest.fail("the whole matrix was made"))
    for alpha, known in zip((1.0, 2.0), whole, strict=True):
        found = utility.alpha_fair(routes, capacities, weights, alpha)
        assert found.rates == pytest.approx(known.rates, rel=1e-9)
        assert found.prices[:3] == pytest.approx(known.prices[:3], rel=1e-9)
        assert found.kkt_residual < utility.SOLVED


def test_prices_are_queueing_delays() -> None:
    # One link of 1 MB/s and two flows that hold 3000 bytes each: the queue is 6000 bytes and takes 6 ms.
    solved = utility.proportional([[0], [0]], [1e6], [3000, 3000])
    assert solved.prices == pytest.approx([6e-3])


def test_max_min_fills_link_by_link() -> None:
    # Bertsekas and Gallager's example: the narrow link first, what it leaves goes to the others.
    assert utility.max_min(PARKING_LOT, [9, 4]) == pytest.approx([2, 7, 2])
    assert utility.max_min([[0], [0]], [9], [1, 2]) == pytest.approx([3, 6])
    assert utility.alpha_fair(PARKING_LOT, [9, 4], alpha=30).rates == pytest.approx([2, 7, 2], rel=1e-3)


networks = st.integers(0, 10_000)


def _random(seed: int) -> tuple[list[list[int]], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    links, flows = int(rng.integers(1, 8)), int(rng.integers(1, 15))
    routes = [rng.choice(links, rng.integers(1, links + 1), replace=False).tolist() for _ in range(flows)]
    return routes, rng.uniform(1, 1000, links) * 1e6, rng.uniform(0.1, 10, flows)


@settings(max_examples=60, deadline=None)
@given(networks, st.sampled_from([0.5, 1.0, 2.0, 4.0]))
def test_every_solution_satisfies_the_conditions_of_optimality(seed: int, alpha: float) -> None:
    routes, capacities, weights = _random(seed)
    solved = utility.alpha_fair(routes, capacities, weights, alpha)
    assert solved.kkt_residual < 1e-6
    # The check itself is not blind: wrong rates violate it.
    wrong = utility.kkt_residual(routes, capacities, solved.rates * 1.01, solved.prices, weights=weights, alpha=alpha)
    assert wrong > 1e-3


@settings(max_examples=30, deadline=None)
@given(networks)
def test_max_min_leaves_no_flow_without_a_bottleneck(seed: int) -> None:
    routes, capacities, weights = _random(seed)
    rates = utility.max_min(routes, capacities, weights)
    loads = np.zeros(capacities.size)
    for route, rate in zip(routes, rates, strict=True):
        loads[route] += rate
    assert (loads <= capacities * (1 + 1e-9)).all()
    for flow, route in enumerate(routes):
        levels = [
            max(rates[other] / weights[other] for other, links in enumerate(routes) if link in links) for link in route
        ]
        full = [loads[link] >= capacities[link] * (1 - 1e-9) for link in route]
        level = rates[flow] / weights[flow]
        assert any(is_full and level >= top * (1 - 1e-9) for is_full, top in zip(full, levels, strict=True))


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_a_general_solver_agrees(alpha: float) -> None:
    pytest.importorskip("cvxpy")
    for seed in range(5):
        routes, capacities, weights = _random(seed)
        solved = utility.alpha_fair(routes, capacities, weights, alpha)
        other = utility.oracle(routes, capacities, weights, alpha)
        assert other.rates == pytest.approx(solved.rates, rel=1e-3)
        # Single prices need not be unique; what a route costs is.
        for route in routes:
            assert other.prices[route].sum() == pytest.approx(solved.prices[route].sum(), rel=5e-3)


def test_a_large_network_takes_few_steps() -> None:
    rng = np.random.default_rng(1)
    routes = [rng.choice(100, rng.integers(1, 9), replace=False).tolist() for _ in range(1000)]
    capacities, weights = rng.uniform(10, 1000, 100) * 1e6, rng.uniform(1, 8, 1000)
    for alpha in (0.5, 1.0, 2.0, 4.0):
        solved = utility.alpha_fair(routes, capacities, weights, alpha)
        assert solved.kkt_residual < 1e-9
        assert solved.iterations <= 25


@settings(max_examples=60, deadline=None)
@given(networks, st.sampled_from([0.3, 1.0, 3.0, 10.0]))
def test_links_and_flows_of_very_different_size(seed: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    links, flows = int(rng.integers(1, 20)), int(rng.integers(1, 40))
    ends = [sorted(rng.choice(links + 1, 2, replace=False).tolist()) for _ in range(flows)]
    routes = [list(range(first, last)) for first, last in ends]
    solved = utility.alpha_fair(routes, 10 ** rng.uniform(3, 9, links), 10 ** rng.uniform(-2, 2, flows), alpha)
    assert solved.kkt_residual < 1e-6


def test_nonsense_is_named() -> None:
    with pytest.raises(ValueError, match="routes: none"):
        utility.proportional([], [1])
    with pytest.raises(ValueError, match=r"routes\[0\]: \[3\]"):
        utility.proportional([[3]], [1])
    with pytest.raises(ValueError, match=r"routes\[1\]: no link bounds"):
        utility.proportional([[0], []], [1])
    with pytest.raises(ValueError, match="weights: 2 are given; expected 1"):
        utility.proportional([[0]], [1], [1, 2])
    with pytest.raises(ValueError, match="capacities"):
        utility.max_min([[0]], [0])
    with pytest.raises(ValueError, match="alpha"):
        utility.alpha_fair([[0]], [1], alpha=0)


@pytest.mark.parametrize(("law", "kappa"), [("aiad", 0.5), ("mw", 100.0), ("p", 0.5)])
def test_the_fluid_of_every_law_comes_to_the_fair_rates(law: fluid.Law, kappa: float) -> None:
    # 9 Mbit/s are 1125 packets of 1000 bytes per second.
    moved = fluid.solve(PARKING_LOT, [1125, 1125], [0.044, 0.024, 0.024], law=law, kappa=kappa, duration=40)
    assert moved.rates[-5000:].mean(axis=0) == pytest.approx([375, 750, 750], rel=0.03)
    assert moved.accumulations[-5000:].mean(axis=0) == pytest.approx([3, 3, 3], rel=0.05)


def test_the_sampled_loop_loses_stability_at_its_critical_gain() -> None:
    assert fluid.critical_gain(1) == pytest.approx(1.0)
    for lag in (1, 2, 3):
        critical = fluid.critical_gain(lag)
        assert fluid.sampled_radius(0.99 * critical, lag) < 1 < fluid.sampled_radius(1.01 * critical, lag)
    with pytest.raises(ValueError, match="step"):
        fluid.solve([[0]], [1000], 0.01, step=0.01)


def test_flows_that_decide_in_turn_are_between_one_loop_and_a_continuous_one() -> None:
    assert fluid.interleaved_gain(1) == pytest.approx(1.0)
    assert fluid.interleaved_gain(10_000) == pytest.approx(np.pi / 2, rel=1e-3)

    def grows(flows: int, gain: float) -> bool:
        # W changes by a part of the error of one round trip, which is `flows` decisions, ago.
        windows = [1.0] * (flows + 1)
        for _ in range(200 * flows):
            windows.append(windows[-1] - gain / flows * windows[-1 - flows])
        return max(map(abs, windows[-2 * flows :])) > 1.0

    for flows in (1, 2, 4, 8):
        limit = fluid.interleaved_gain(flows)
        assert not grows(flows, 0.97 * limit)
        assert grows(flows, 1.03 * limit)


def test_random_networks_and_kinds_are_reproducible() -> None:
    assert equilibrium.draw_network(3, 10.0) == equilibrium.draw_network(3, 10.0)
    assert all(set(fig_9.kinds(hops)) == {"avd", "drop-tail"} for hops in range(2, 10))


class Told(Lab):
    """Gives every run the same outcome."""

    def __init__(self, seen: demands.Seen) -> None:
        super().__init__("quick", Pool(1), Bar("x", show=False))
        self.seen = seen

    def map(self, _: Any, arguments: Iterable[Any]) -> list[Any]:
        """One for each."""
        return [self.seen for _ in arguments]


def test_the_whole_run_counts_where_the_ledger_leaves_nothing_out() -> None:
    """Rise and drops of demand are a part of it: in them less is sent, and queues peak."""
    seen = demands.simulate(fig_8.RUN)
    link = demands.scenario(fig_8.RUN).run().series(link=demands.LINK)
    assert seen.whole == pytest.approx(columns.mean(link["throughput"]) / demands.RATE)
    assert seen.whole < seen.used - 5e-4
    assert seen.queue_p90 == columns.quantile(link["queue_packets"], 0.9)
    # Each by what it says of the whole run, and of nothing else: 0.97 is enough for both items, 0.9 for neither.
    for whole, used, holds in ((0.97, 0.9, True), (0.9, 0.97, False)):
        told = Told(seen._replace(whole=whole, used=used))
        for item, claim in ((fig_7, "the link is still used"), (fig_8, "utilization is the one aimed at")):
            assert {check.claim: check.holds for check in item.measure(told).checks}[claim] is holds


def test_monaco_holds_its_target_in_the_queue() -> None:
    import tailback as tb

    links = [network.link("r0", "r1", 10e6, 10e-3)]
    flows = []
    for index in range(2):
        links += [network.link(f"s{index}", "r0", 100e6, 1e-3), network.link("r1", f"d{index}", 100e6, 1e-3)]
        flows.append(network.flow(f"flow-{index}", "monaco", f"s{index}", f"d{index}"))
    result = tb.graph(*links, duration="20 s", flows=flows, record={"links": ["r0->r1"]}).run()
    waiting = network.between(result.series(link="r0->r1"), 5.0, 20.0)["queue_bytes"].mean()
    assert waiting == pytest.approx(6000, rel=0.1)
    shares = network.goodputs(result, 5.0, 20.0)
    assert list(shares.values()) == pytest.approx([5.0, 5.0], rel=0.03)


TROUBLE: dict[str, dict[str, Any]] = {
    "nothing": {},
    "reordering": {"reordering": {"probability": 0.05, "hold": {"from": "2 ms", "to": "10 ms"}}},
    "duplication": {"duplication": {"probability": 0.1}, "reverse": {"duplication": {"probability": 0.1}}},
    "lost data": {"loss": {"name": "selective", "probability": 0.01, "class": "data"}},
    "lost control packets": {"loss": {"name": "selective", "probability": 0.1, "class": "control"}},
    "lost acknowledgements and reports": {"reverse": {"loss": {"name": "independent", "probability": 0.1}}},
    "a longer way": {"schedule": [{"at": "1 s", "delay": "60 ms"}]},
    "a tenth of the capacity for a while": {
        "schedule": [{"at": "1 s", "rate": "1 Mbit/s"}, {"at": "4 s", "rate": "10 Mbit/s"}]
    },
    "an outage": {"schedule": [{"at": "1 s", "rate": "10 kbit/s"}, {"at": "3 s", "rate": "10 Mbit/s"}]},
    "no priority lane": {"queue": "drop-tail"},
    "virtual delay": {"queue": "avd"},
}
LATEST = {
    "reordering": 9.0,
    "lost data": 12.0,
    "a longer way": 12.0,
    "a tenth of the capacity for a while": 7.5,
    "an outage": 12.0,
}
"""Seconds by which four transfers of 1 MB over 10 Mbit/s must be done, where that is not 5.5; they take 3.4 s at least."""
FAIR = {"nothing", "duplication", "lost control packets", "virtual delay"}
"""What leaves shares as they are."""


@pytest.mark.parametrize("scheme", ["monaco", "accumulation-aiad", "accumulation-mw"])
@pytest.mark.parametrize("trouble", TROUBLE)
def test_transfers_complete_in_spite_of(trouble: str, scheme: str) -> None:
    import tailback as tb

    made: dict[str, Any] = {"queue": "priority", "buffer": "200 packets", **TROUBLE[trouble]}
    flow = tb.flows(4, scheme, {"name": "bulk", "size": "1 MB"}, name="flow", transport={"segment_size": "1000 B"})
    result = tb.dumbbell(rate="10 Mbit/s", delay="20 ms", duration="60 s", flows=[flow], **made).run()
    finished = result.flows["finished"]
    assert finished.is_not_null().all()
    assert columns.greatest(finished) < LATEST.get(trouble, 5.5)
    if trouble in FAIR:
        rates = 1.0 / finished.to_numpy()
        assert rates.sum() ** 2 / (rates.size * (rates**2).sum()) > 0.95


def test_the_papers_repair_pauses_more_than_ours() -> None:
    short = {
        ours: sum(
            robustness.simulate(robustness.Run("both", 0.05, 60.0, seed=seed, ours=ours)).short for seed in (1, 2)
        )
        for ours in (False, True)
    }
    assert short[False] > 5 + short[True], short
