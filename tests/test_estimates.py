"""Estimates of accumulation beside the truth: the columns, their units, and the errors computed from them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import tailback as tb
from tailback.papers.accumulation import fig_5
from tailback.results.estimates import bias

COLUMNS = ("accumulation", "mean_accumulation", "transmitting", "mean_transmitting", "estimated_accumulation")


def recorded(scheme: str, end: str = "60 s") -> tb.Result:
    """Figure 5's flow, whose way becomes longer at 10 s."""
    scenario = fig_5.scenario(scheme).to_dict()
    scenario["record"] = {"accumulation": True, "bin": "2 ms", "links": "none"}
    scenario["duration"] = end
    return tb.Scenario.model_validate(scenario).run()


def test_columns_have_units_and_are_there_when_asked() -> None:
    result = recorded("monaco", "5 s")
    assert set(COLUMNS) <= set(result.flow_series.columns)
    assert {result.units[column] for column in COLUMNS} == {"B"}
    plain = fig_5.scenario("monaco").to_dict()
    plain["duration"], plain["record"] = "5 s", {"links": "none"}
    unasked = tb.Scenario.model_validate(plain).run()
    assert not set(COLUMNS) & set(unasked.flow_series.columns)
    with pytest.raises(KeyError, match=r"record\.accumulation"):
        bias(unasked, "flow")


def test_monaco_is_unbiased_before_and_after_a_longer_route_and_vegas_is_not() -> None:
    monaco = recorded("monaco")
    for begin, end in ((3.0, 10.0), (15.0, 60.0)):
        seen = bias(monaco, "flow", begin, end)
        assert abs(seen.error) < 0.05 * 3000, seen
        assert seen.exact == pytest.approx(3000, rel=0.1)
    vegas = bias(recorded("vegas"), "flow", 15.0, 60.0)
    assert vegas.exact < 150, vegas
    assert vegas.error > 1000, vegas


def test_errors_are_taken_when_the_estimate_was_made() -> None:
    """A ramp of the truth, told two bins late: the errors are nothing, the means differ."""
    bins = 50
    exact = 1000.0 * np.arange(1, bins + 1)
    estimates: list[float | None] = [None] * bins
    # 500 bytes per bin: what is estimated as 1000 bytes was there two bins ago.
    exact[:] = 1000.0
    exact[20:] = 1500.0
    estimates[21], estimates[30] = 1000.0, 1500.0
    series = pl.DataFrame(
        {
            "time": 0.001 * np.arange(1, bins + 1),
            "mean_accumulation": exact,
            "estimated_accumulation": estimates,
            "received_bytes": np.full(bins, 500),
        }
    )
    result: Any = SimpleNamespace(series=lambda **_: series, bin=0.001)
    seen = bias(result, "flow")
    assert seen.error == 0.0
    assert seen.deviation == 0.0
    assert seen.estimate == 1250.0
    assert bias(result, "flow", 0.04).exact == 1500.0
    assert np.isnan(bias(result, "flow", 0.04).error)
