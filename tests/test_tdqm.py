"""The ledger's item on TDQM's two meters: its definitions by hand, and the router's meters beside them."""

from __future__ import annotations

import numpy as np
import pytest

from tailback.papers.tdqm import definition, metrics


def test_busy_periods_by_hand() -> None:
    # Two packets at once, a third while the second waits; then one alone; the last never ends.
    periods = definition.busy_periods([0.0, 0.0, 1.5, 10.0, 20.0], service=1.0)
    # The second waits 1 and the third 0.5.
    assert [period[:2] for period in periods] == [(0.0, 3.0), (10.0, 1.0)]
    assert [area for _, _, area in periods] == pytest.approx([1.0 + 0.5, 0.0])


def test_burstiness_is_one_less_an_nth_for_a_batch_of_n_and_none_where_nothing_waits() -> None:
    batch = definition.busy_periods([0.0] * 7 + [100.0], service=1.0)
    assert np.asarray(list(definition.burstiness(batch, shortest=3.0))) == pytest.approx(
        np.array([[7.0, 1.0 - 1.0 / 7.0]])
    )
    even = definition.busy_periods([2.0 * n for n in range(9)], service=1.0)
    expected = np.array([[7.0, 0.0], [15.0, 0.0]])
    assert np.asarray(list(definition.burstiness(even, shortest=3.0))) == pytest.approx(expected)


def test_utilization_is_the_busy_part_of_each_window() -> None:
    periods = [(1.0, 2.0, 2.0), (3.5, 3.0, 4.5)]
    assert definition.utilization(periods, np.array([2.0, 4.0, 6.0])) == pytest.approx([0.5, 0.75, 1.0])


@pytest.mark.parametrize(
    "run", [metrics.Run("poisson", 0.9, 8, 60, 5_000, 1), metrics.Run("even", 0.6, 20, 3, 5_000, 1)]
)
def test_the_router_measures_what_the_definition_says(run: metrics.Run) -> None:
    assert max(metrics.difference(run)) < 1e-9


def test_what_arrives_is_the_load() -> None:
    run = metrics.Run("periodic", 0.3, metrics.PERIOD, metrics.PAPERS_B, 20_000, 1)
    link = metrics.scenario(run).run().links.row(0, named=True)
    assert link["utilization"] == pytest.approx(0.3, abs=0.002)
    assert link["dropped_packets"] == 0
