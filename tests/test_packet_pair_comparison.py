"""The comparison of packet-pair with other schemes: its fluid optimum, its common random numbers, its table and figure."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailback import units
from tailback.papers.packet_pair.comparison import (
    BENCHMARKS,
    METRICS,
    QUEUES,
    SCHEMES,
    Case,
    file_sizes,
    judge,
    markdown,
    scenario,
)
from tailback.papers.packet_pair.comparison_figure import draw
from tailback.papers.packet_pair.fair_share import Transfer, completions, max_min
from tailback.scenario._models import Cubic, PacketPair


@pytest.mark.parametrize("number", [number for number, one in BENCHMARKS.items() if one.optimal])
def test_the_fluid_optimum_is_the_printed_one(number: int) -> None:
    benchmark = BENCHMARKS[number]
    plain = benchmark.scenario()
    sizes = file_sizes(plain)
    flows = [flow for flow in plain.flows if flow.name in sizes]
    transfers = [
        Transfer(
            1e3 * units.number(str(flow.start)),
            sizes[flow.name],
            benchmark.links.get(flow.name, ("bottleneck",)),
        )
        for flow in flows
    ]
    links = {link for one in transfers for link in one.links}
    found = completions(transfers, dict.fromkeys(links, benchmark.capacity))
    for name, printed in zip(benchmark.primary, benchmark.optimal, strict=True):
        index = next(index for index, flow in enumerate(flows) if flow.name == name)
        round_trip = 82.0 if (number, name) == (4, "2") else 44.0
        # Printed digits are cut or rounded.
        assert -1e-6 <= found[index] + round_trip - printed < 1.0


def test_max_min_shares_of_a_parking_lot() -> None:
    long, one, two = Transfer(0, 1, ("a", "b")), Transfer(0, 1, ("a",)), Transfer(0, 1, ("b",))
    assert max_min([long, one, two], {"a": 2.0, "b": 10.0}) == pytest.approx([1.0, 1.0, 9.0])


@given(
    routes=st.lists(st.sets(st.sampled_from("abc"), min_size=1), min_size=1, max_size=8),
    capacities=st.tuples(*[st.floats(1.0, 100.0)] * 3),
)
def test_max_min_gives_everybody_a_bottleneck(routes: list[set[str]], capacities: tuple[float, ...]) -> None:
    capacity = dict(zip("abc", capacities, strict=True))
    rates = max_min([Transfer(0, 1, tuple(route)) for route in routes], capacity)
    used = {link: sum(rate for rate, route in zip(rates, routes, strict=True) if link in route) for link in capacity}
    assert all(used[link] <= capacity[link] * (1 + 1e-9) for link in capacity)
    for rate, route in zip(rates, routes, strict=True):
        # The definition: a link of its own that is full, and on which nobody has more.
        assert any(
            used[link] >= capacity[link] * (1 - 1e-9)
            and all(other <= rate * (1 + 1e-9) for other, others in zip(rates, routes, strict=True) if link in others)
            for link in route
        )


def test_transfers_share_while_they_overlap() -> None:
    transfers = [Transfer(0, 4000, ("b",)), Transfer(100, 1000, ("b",)), Transfer(900, 10, ("b",))]
    # 1000 packets alone, then half of the link each until 300 ms; the rest alone; the third long after.
    assert completions(transfers, {"b": 10.0}) == pytest.approx([500.0, 200.0, 1.0])


def test_every_scheme_meets_the_same_starts() -> None:
    def starts(queue: str, scheme: str, seed: int) -> list[float]:
        data = scenario(Case(3, queue, scheme, seed)).model_copy(update={"duration": "10 ms"})
        return data.run(seed=seed).flows["start"].to_list()

    first = starts("fair queueing", "packet-pair", 1)
    assert all(starts(queue, scheme, 1) == first for queue in QUEUES for scheme in SCHEMES)
    assert starts("fair queueing", "packet-pair", 2) != first


@pytest.mark.parametrize("number", BENCHMARKS)
def test_only_what_is_compared_differs(number: int) -> None:
    plain = BENCHMARKS[number].scenario()
    other = scenario(Case(number, "drop-tail", "paced CUBIC", 1))
    assert "weighted-fair-queueing" not in other.to_toml()
    for before, after in zip(plain.flows, other.flows, strict=True):
        assert (before.name, before.source) == (after.name, after.source)
        controlled = isinstance(before.scheme, PacketPair)
        assert isinstance(after.scheme, Cubic) if controlled else after.scheme == before.scheme
        assert (after.transport.pacing is not None) == controlled


def test_a_lone_file_judged() -> None:
    for scheme in SCHEMES:
        case = Case(3, "fair queueing", scheme, 1)
        found = judge(case, scenario(case).run(seed=1))
        assert (found["unfinished"], found["repeated"]) == (0, 0)
        assert math.isnan(found["jain"])
        assert 0.2 < found["speed"] < 1.0
        assert found["delay"] >= 0


def test_the_figure_shows_every_case() -> None:
    table = pl.DataFrame(
        [
            {
                "benchmark": number,
                "queue": queue,
                "scheme": scheme,
                "metric": metric,
                "mean": None if (number, metric) == (3, "jain") else 0.5 + 0.01 * number,
                "half_width": 0.02,
                "runs": 5,
                "unfinished": 0,
            }
            for number in BENCHMARKS
            for queue in QUEUES
            for scheme in SCHEMES
            for metric in METRICS
        ]
    )
    axes = draw(table).axes
    assert len(axes) == len(METRICS) * len(QUEUES)
    for index, axis in enumerate(axes):
        dots = sum(len(container[0].get_xdata()) for container in axis.containers)
        assert dots == len(SCHEMES) * (len(BENCHMARKS) - (list(METRICS)[index // len(QUEUES)] == "jain"))
    assert markdown(table).count("\n") == 2 + len(QUEUES) * len(SCHEMES)
