"""What people write by analogy, and what they are told then: names of columns as attributes, calls without what they need, fields
in the wrong table. That every value is checked is the Rust tests' business."""

from __future__ import annotations

import copy
import pickle

import pytest

import tailback as tb


@pytest.fixture(scope="module")
def result() -> tb.Result:
    link = tb.dumbbell(rate="5 Mbit/s", delay="5 ms", duration="2 s")
    return link.with_flows(tb.flows(2, "reno")).run()


def test_a_column_as_an_attribute_is_told_where_it_is(result: tb.Result) -> None:
    with pytest.raises(
        AttributeError, match=r"no attribute 'goodput'; expected \.flows\[\"goodput\"\] or \.flow_series\["
    ):
        result.goodput  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"expected \.links\[\"utilization\"\], since it is a column"):
        result.utilization  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"'Result' object has no attribute 'colour'$"):
        result.colour  # type: ignore[attr-defined]  # noqa: B018
    runs = result.scenario.sweep(seeds=1)
    with pytest.raises(AttributeError, match=r"expected \.table\[\"goodput\"\] or \.flows\[\"goodput\"\]"):
        runs.goodput  # type: ignore[attr-defined]  # noqa: B018


def test_copies_of_results_are_made_as_before(result: tb.Result) -> None:
    for other in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert other.flows.equals(result.flows)
    assert not hasattr(result, "goodput")
