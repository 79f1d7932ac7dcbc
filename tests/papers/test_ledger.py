"""The ledger: what it lists, and that its items say where their parameters come from."""

from __future__ import annotations

import pytest

from tailback.analysis import mm1n
from tailback.papers import ledger
from tailback.papers.mtsc import fig_5
from tailback.papers.pcc import eq_1

BUILT = [claim for claim in ledger.claims() if claim.built]


def test_ledger_is_complete() -> None:
    assert len(ledger.claims()) == len({claim.id for claim in ledger.claims()}) == 73
    papers = {paper.id for paper in ledger.papers()}
    for claim in ledger.claims():
        assert claim.paper in papers
        assert claim.title
        assert claim.source
        assert claim.setup
        assert claim.holds
        assert claim.measure
    assert {"mtsc/fig-5", "pcc/eq-1"} <= {claim.id for claim in BUILT}


@pytest.mark.parametrize("claim", BUILT, ids=lambda claim: claim.id)
def test_every_parameter_says_where_it_comes_from(claim: ledger.Claim) -> None:
    for fidelity in ("quick", "full"):
        parameters = claim.item().parameters(fidelity)
        assert parameters
        for parameter in parameters:
            assert parameter.origin in {"stated", "inferred"}
            assert parameter.why, parameter.name


def test_selects_by_id_paper_and_all() -> None:
    assert [claim.id for claim in ledger.select(["pcc/eq-1"])] == ["pcc/eq-1"]
    assert [claim.id for claim in ledger.select(["all"])] == [claim.id for claim in BUILT]
    assert all(claim.paper == "mtsc" for claim in ledger.select(["mtsc"]))
    assert len(ledger.select(["pcc", "pcc/eq-1"])) == len(ledger.select(["pcc"]))


def test_mm1n_scenario_is_the_queue_of_theory() -> None:
    run = fig_5.Run(load=0.9, packets=200_000, seed=1)
    counted = fig_5.simulate(run)
    exact = mm1n(0.9, fig_5.PLACES)
    assert counted.offered == pytest.approx(200_000, rel=0.01)
    assert counted.dropped / counted.offered == pytest.approx(exact.loss[0], rel=0.05)
    assert counted.busy == pytest.approx(exact.throughput[0], rel=0.01)


def test_eq_1_loses_only_by_chance() -> None:
    seen = eq_1.simulate(eq_1.Run(loss=0.01, seconds=30, seed=1))
    assert seen.loss == pytest.approx(0.01, rel=0.1)
    assert seen.utilization < 0.8
    assert seen.rtt == pytest.approx(eq_1.RTT, rel=0.02)


def test_what_is_not_built_is_counted_where_a_paper_was_asked_for() -> None:
    missing = len(ledger.claims()) - len(BUILT)
    assert ledger.unbuilt(["all"]) == sum(ledger.unbuilt([paper.id]) for paper in ledger.papers()) == missing
    assert ledger.unbuilt(["pcc/eq-1"]) == 0
