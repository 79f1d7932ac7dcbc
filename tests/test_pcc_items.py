"""What the items of probabilistic congestion control judge, on made-up runs. The scheme itself is tested elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from tailback.analysis import mean_interval
from tailback.papers.item import Fidelity
from tailback.papers.lab import Lab
from tailback.papers.pcc import choices, fig_5, fig_7, fig_9, fig_10, fig_11, options, scenes
from tailback.papers.pcc.choices import Choices, otherwise
from tailback.papers.pcc.scenes import Run, Seen
from tailback.pool import Pool
from tailback.progress import Bar


def published(run: Run) -> float:
    """Figure 9 as the paper draws it, without its small gap at the fair rate."""
    return run.rate if run.rate < 500 else 470 + 0.2 * (run.rate - 500)


class Made(Lab):
    """Gives every run the throughput that a function says, and TCP the fair rate."""

    def __init__(self, pcc: Callable[[Run], float], fidelity: Fidelity = "quick") -> None:
        super().__init__(fidelity, Pool(1), Bar("x", show=False))
        self.pcc = pcc

    def once(self, _: Any, arguments: Iterable[Any]) -> list[Any]:
        """A run of each."""
        return [_seen(run, self.pcc(run)) for run in arguments]


def _seen(run: Run, rate: float) -> Seen:
    """Every flow has this rate all the time."""
    all_along = [rate] * round(run.seconds)
    return Seen(
        pcc=[rate] * run.pcc,
        tcp=[500.0] * run.tcp,
        loss=0.02,
        friendly=published(run),
        on=[0.5],
        time=all_along,
        pcc_series=all_along,
        tcp_series=all_along,
        sample_pcc=all_along,
        sample_tcp=all_along,
        on_flows=[],
        drops=[],
    )


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


def test_choices_are_those_that_a_run_has_not_made_itself() -> None:
    assert Choices().of(Run(rtt=70)) == Run(rtt=70)
    other = Choices(rtt=200, packet=1500, spread=0.2, send_jitter=4, intervals=32, evaluation=5)
    chosen = other.of(Run(seed=7, send_jitter=0, options=(("friendly_rate", "normalised"), *scenes.evaluated_once())))
    assert (chosen.rtt, chosen.packet, chosen.spread, chosen.send_jitter, chosen.seed) == (200, 1500, 0.2, 0, 7)
    assert dict(chosen.options) == {
        "loss_intervals": (("intervals", 32),),
        "evaluation_interval": "60 s",
        "friendly_rate": "normalised",
    }
    assert other.of(chosen) == chosen


def test_chosen_packets_and_round_trips_are_those_of_the_scenario() -> None:
    usual = scenes.scenario(Run()).to_dict()
    assert usual["topology"]["access"]["delay"] == "5 ms"
    assert "size" not in usual["flows"][1]["source"]
    flows = scenes.scenario(Run(pcc=4, tcp=4, spread=0.2, packet=500, seconds=60, warm_up=1)).run(seed=1).flows
    assert (flows["sent_bytes"] / flows["sent_packets"]).to_list() == [500.0] * 8
    spread = flows["round_trip"].to_list()
    assert max(spread) - min(spread) == pytest.approx(0.2 * 0.1 * 2 * 0.75, rel=0.05), "four flows, each in a quarter"
    assert spread[:4] == spread[4:], "of each kind alike"


def test_figure_5_is_judged_by_both_choices() -> None:
    """500 kbit/s is TCP's rate; every flow is on for half of the time, so the second test fails by both."""
    outcome = fig_5.measure(Made(lambda run: 490.0 if run.rtt == choices.OTHER.rtt else 330.0))
    assert outcome.changed is not None
    assert [check.holds for check in outcome.checks] == [False, False]
    assert [check.holds for check in outcome.changed.checks] == [True, False]
    assert not outcome.changed.holds


def test_an_item_is_judged_again_with_other_choices_where_runs_are_full() -> None:
    def rising(run: Run) -> float:
        return 400 + 2 * run.tcp / run.pcc if run.rtt == choices.OTHER.rtt else 400

    assert fig_11.measure(Made(rising)).changed is None
    outcome = fig_11.measure(Made(rising, "full"))
    assert not outcome.holds
    assert outcome.changed is not None
    assert outcome.changed.holds
    assert all(check.claim.startswith("other choices: ") for check in outcome.changed.checks)


def test_what_is_no_run_is_handed_on() -> None:
    class Listed(Lab):
        def map(self, _: Any, arguments: Iterable[Any]) -> list[Any]:
            return list(arguments)

    def same(given: Any) -> Any:
        return given

    lab = otherwise(Listed("full", Pool(1), Bar("x", show=False)), choices.OTHER)
    assert lab.map(same, [3, Run()]) == [3, choices.OTHER.of(Run())]


def test_the_grid_says_where_figure_5_holds() -> None:
    cells = choices.measure(Made(lambda run: 490.0 if run.rtt == 200 else 330.0))
    assert not any(cell.holds for cell in cells.values()), "on half of the time"
    cells = {name: cell._replace(on_off=2.0) for name, cell in cells.items()}
    assert all(cell.holds == (name[0] == "200 ms") for name, cell in cells.items())
    told = choices.table(cells).splitlines()
    assert told[2].startswith("| 50 ms | 1 | 0.66 ± 0.00 | ")
    assert told[6].startswith("| 200 ms | 1 | **0.98 ± 0.00** | ")
    # 0.34 in ten of twelve rows, 0.02 in two.
    assert told[-3] == f"| distance from 1, mean of all rows | | {' | '.join(['0.29'] * 8)} | |"
    assert told[-1] == f"Figure 5 holds in {2 * 8} of {len(cells)} combinations."
    assert not choices.Cell(mean_interval([1.2, 1.2]), 2.0, 0.03).holds


def test_figure_7_says_no_more_of_the_old_rate_than_was_seen() -> None:
    """It said "after more than 100 s and then exceeds it", also where no run came to it."""
    assert fig_7._old_rate(29.0, 25.0) == "So PCC has its old rate after 29 s and then exceeds it"
    assert fig_7._old_rate(None, 34.0) == "So PCC has 90 % of its old rate after 34 s, and not all of it within 100 s"
    assert fig_7._old_rate(None, float("inf")) == "So PCC has less than 90 % of its old rate for 100 s"
