"""What the items of probabilistic congestion control judge, on made-up runs. The scheme itself is tested elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from tailback.papers.lab import Lab
from tailback.papers.pcc import fig_9, fig_10, fig_11, options, scenes
from tailback.papers.pcc.scenes import Run, Seen
from tailback.pool import Pool
from tailback.progress import Bar


def published(run: Run) -> float:
    """Figure 9 as the paper draws it, without its small gap at the fair rate."""
    return run.rate if run.rate < 500 else 470 + 0.2 * (run.rate - 500)


class Made(Lab):
    """Gives every run the throughput that a function says, and TCP the fair rate."""

    def __init__(self, pcc: Callable[[Run], float]) -> None:
        super().__init__("quick", Pool(1), Bar("x", show=False))
        self.pcc = pcc

    def once(self, _: Any, arguments: Iterable[Any]) -> list[Any]:
        """A run of each."""
        empty: list[float] = []
        return [
            Seen(
                [rate] * run.pcc,
                [500.0] * run.tcp,
                0.02,
                published(run),
                [0.5],
                empty,
                [rate] * round(run.seconds),
                empty,
                empty,
                empty,
                [],
                empty,
            )
            for run, rate in ((run, self.pcc(run)) for run in arguments)
        ]


@pytest.mark.parametrize(("off", "holds"), [(None, True), (450, False), (550, False)])
def test_figure_9_judges_every_rate_on_both_sides_of_the_fair_one(off: int | None, holds: bool) -> None:
    lab = Made(lambda run: 0.8 * published(run) if run.rate == off else published(run))
    assert fig_9.measure(lab).holds is holds


@pytest.mark.parametrize(("dip", "holds"), [(0.0, True), (200.0, False)])
def test_figure_11_wants_a_rise_at_every_step(dip: float, holds: bool) -> None:
    def pcc(run: Run) -> float:
        return 400 + 2 * run.tcp / run.pcc - (dip if (run.pcc, run.tcp) == (1, 64) else 0.0)

    assert fig_11.measure(Made(pcc)).holds is holds


def test_figure_11_has_intervals_over_parts_where_flows_are_few() -> None:
    one = Seen([200.0], [500.0], 0.02, 0.0, [0.5], [], [0.0] * 100 + [100.0] * 400 + [300.0] * 400, [], [], [], [], [])
    assert fig_11._interval(one, 2).mean == pytest.approx(200.0)
    assert fig_11._interval(one, 2).samples == 2
    assert fig_11._interval(one._replace(pcc=[200.0] * 16), 2).samples == 16


def test_single_comparisons_are_read_from_their_running_mean() -> None:
    assert options._samples(np.array([0.0, 0.0, 0.4, 0.4, 0.1, 0.1, 0.3])) == pytest.approx([0.4, -0.2, 0.7])
    told = options._compared([options.Monitored(0, [[0.0, 0.2], [0.4, 0.2], []], 0.02)])
    assert "meet about 15 losses" in told
    assert "about a mean of 1.22" in told
    assert "0 of 3 flows have the 8" in told


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        ([0.01, 0.02, 0.03, 0.04, 0.05], True),
        ([0.01, 0.02, 0.03, 0.04, 0.04], False),
        ([0.01, 0.02, 0.03, 0.04], None),
        ([0.01, 0.02, 0.02, 0.04], False),
    ],
)
def test_figure_10_wants_more_loss_with_each_of_four_flows(loss: list[float], told: bool | None) -> None:
    """Four flows at once are rare: without them the claim is neither met nor missed."""
    assert fig_10.rises(dict(enumerate(loss))) is told


def test_flows_of_different_runs_are_put_together() -> None:
    """In each run all four switch together, and no two runs at the same time."""
    runs = []
    for run in range(4):
        on = [second == run for second in range(4)]
        runs.append(Seen([], [], 0.0, 0.0, [], [], [], [], [], [], np.sum([on] * 4, axis=0).tolist(), [], [on] * 4))
    assert [max(one.on_flows) for one in runs] == [4] * 4
    assert [one.on_flows for one in fig_10.strangers(runs)] == [[1] * 4] * 4


def test_a_single_flow_has_its_series() -> None:
    seen = scenes.simulate(Run(pcc=1, tcp=1, seconds=80, warm_up=60, series=True))
    assert len(seen.pcc_series) == 80
    assert np.mean(seen.pcc_series[60:]) == pytest.approx(seen.pcc[0], rel=0.1)


def test_evaluated_once_is_an_option_of_the_scheme() -> None:
    flows = scenes.scenario(Run(options=scenes.evaluated_once(20), buffer=7)).to_dict()["flows"]
    assert flows[1]["scheme"]["evaluation_interval"] == "20 s"


def test_data_before_a_passed_experiment_would_be_seen() -> None:
    few = Run(pcc=8, tcp=1, seconds=70, warm_up=1, loss=((0.0, 0.05),), options=options.BEFORE_ON)
    begun = options.starts(few)
    assert begun
    assert all(opened <= data for opened, data in begun)
    # Flows that are on from their start are caught.
    assert any(data < opened for opened, data in options.starts(few._replace(options=())))


@pytest.mark.parametrize(("counts", "holds"), [([1, 3], True), ([0, 3], False), ([4, 4], False), ([1, 4], False)])
def test_loss_monitoring_is_to_suspend_the_flow_that_dominates(counts: list[int], holds: bool) -> None:
    """Neither none of them nor all: a mean over runs would take three in one of two runs for one in each."""
    assert options.dominating(counts).holds is holds
