"""Comparisons of runs with real packets and simulated ones, and the experiments on the pages about them. Nothing here runs with
real packets."""

import json
import math

import pytest

import tailback as tb
from tailback.analysis.confidence import Interval
from tailback.commands.parity import told
from tailback.lab import Setup
from tailback.lab.parity import BEYOND, UNSURE, WITHIN, Parity, Row, of_results


def _simulated(*seeds: int, rate: str = "10 Mbit/s") -> list[tb.Result]:
    base = tb.dumbbell(rate="10 Mbit/s", delay="5 ms", buffer="20 packets", duration="5 s", warm_up="1 s")
    shy = tb.flows(1, {"name": "fixed-rate", "rate": rate}, name="a", source={"name": "bulk"})
    return [base.with_flows(shy).run(seed=seed) for seed in seeds]


def test_a_comparison_has_differences_with_intervals() -> None:
    slow, quick = _simulated(1, 2, rate="4 Mbit/s"), _simulated(1, 2, rate="5 Mbit/s")
    for result in (*slow, *quick):
        object.__setattr__(result, "real", {"valid": True, "reasons": []})
    same = of_results(slow, slow, {}, 0)
    assert same.verdict == WITHIN
    assert all(row.difference.mean == 0 for row in same.rows)
    apart = of_results(slow, quick, {}, 1)
    assert apart.verdict == BEYOND
    assert apart.worst == pytest.approx(0.25, abs=0.01)
    assert apart.invalid == 1
    share = next(row for row in apart.rows if row.metric == "share")
    assert share.simulated.mean == pytest.approx(0.4, abs=0.01)
    assert share.measured.mean == pytest.approx(0.5, abs=0.01)
    assert apart.table().height == len(apart.rows)
    assert json.dumps(apart.table().to_dicts())


def test_one_run_decides_nothing() -> None:
    (one,) = _simulated(1)
    object.__setattr__(one, "real", {"valid": True, "reasons": []})
    assert of_results([one], [one], {}, 0).verdict == UNSURE
    row = of_results([one], [one], {}, 0).rows[0]
    assert isinstance(row, Row)
    assert row.verdict == ""


def test_a_share_that_is_zero_in_the_simulator_can_be_compared() -> None:
    """Of a flow that begins just before the end, say."""
    zero, none = Interval(0.0, 0.0, 0.95, 3), Interval(0.0, 0.1, 0.95, 3)
    some = Interval(0.2, 0.1, 0.95, 3)
    for difference, verdict in ((zero, WITHIN), (none, UNSURE), (some, BEYOND)):
        row = Row("late", "share", "", zero, difference, difference)
        assert row.verdict == verdict
        parity = Parity("title", {}, [row], [], [], 0)
        assert parity.verdict == verdict
        assert math.isnan(parity.worst)


def test_figures_are_told_with_their_units() -> None:
    for metric, unit, mean, said in (
        ("mean_queue", "packets", 37.6, "37.6 ± 2 packets"),
        ("share", "", 37.6, "37.6 ± 2"),
        ("utilization", "", 0.5, "50 ± 2e+02 %"),
        ("mean_rtt", "s", 37.6, "37.6 s ± 2 s"),
    ):
        found = Interval(mean, 2.0, 0.95, 3)
        assert told(Row("link", metric, unit, found, found, found), found) == said
    alone = Interval(3.0, math.inf, 0.95, 1)
    assert told(Row("link", "mean_queue", "packets", alone, alone, alone), alone) == "3 packets"


def test_every_arm_of_the_experiment_on_the_page_is_a_scenario() -> None:
    from tailback import _core
    from tools.parity_reasons import SUSPECTS

    known = dict(_core.kernel_schemes()) if hasattr(_core, "kernel_schemes") else {}
    if not {"reno", "cubic", "bbr"} <= set(known):
        pytest.skip("this kernel lacks one of reno, cubic and bbr")
    for cell, arms in SUSPECTS:
        setup = cell.setup(known).checked()
        told = set()
        for arm in arms:
            scenario = json.loads(setup.scenario)
            arm.change(scenario, setup.kernel, cell.jitter)
            tb.Scenario.of(scenario)
            told.add(json.dumps(scenario))
        assert len(told) == len(arms), "each changes something"


def test_kept_runs_with_real_packets_do_not_depend_on_what_stands_for_the_kernel() -> None:
    from tools.write_parity import as_run

    base = tb.dumbbell(rate="5 Mbit/s", delay="2 ms", flows=[tb.flows(1, "cubic", name=name) for name in "ab"])

    def run_of(changed: dict[str, object], kernel: str = "cubic") -> dict[str, object]:
        return as_run(Setup(json.dumps(base.replace(**changed).to_dict(full=True)), {"b": kernel}))

    setup = run_of({})
    assert run_of({"flows[1].receiver.ack_every": 2, "flows[1].scheme": "reno"}) == setup
    for field, value in (
        ("flows[0].receiver.ack_every", 2),
        ("flows[1].transport.segment_size", "999 B"),
        ("flows[1].start", "1 s"),
        ("topology.delay", "3 ms"),
    ):
        assert run_of({field: value}) != setup, field
    assert run_of({}, "reno") != setup
