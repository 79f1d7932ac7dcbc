"""Intervals over the seeds of the tables that tools measure: by hand, and where runs have no value."""

import math

import polars as pl
import pytest

from tailback.analysis import mean_interval
from tools import comparison, home, media_cases, queues
from tools.over_seeds import over_seeds

VALUES = [1.0, 2.0, 4.0]
FOUND = mean_interval(VALUES)


def test_a_cell_is_the_mean_of_the_runs_that_have_a_value() -> None:
    table = pl.DataFrame({"at": ["a"] * 5 + ["b"] * 2, "it": [*VALUES, None, math.nan, math.nan, None]})
    (first, second) = over_seeds(table, ("at",), ["it"]).rows()
    assert first == ("a", "it", pytest.approx(FOUND.mean), pytest.approx(FOUND.half_width))
    assert second[:2] == ("b", "it")
    assert math.isnan(second[2])
    assert math.isnan(second[3])


@pytest.mark.parametrize(
    ("tool", "keys"),
    [(home, ("line", "queue")), (comparison, ("network", "it")), (media_cases, ("case", "scheme"))],
)
def test_tools_tell_of_a_measure_without_values(tool: "object", keys: tuple[str, str]) -> None:
    measures = list(tool.MEASURES)  # type: ignore[attr-defined]  # A module by its name.
    wide = pl.DataFrame(
        [dict.fromkeys(keys, "a") | dict.fromkeys(measures, value) | {measures[0]: math.nan} for value in VALUES]
    )
    found = tool.intervals(wide).filter(pl.col("mean").is_not_nan())  # type: ignore[attr-defined]  # Likewise.
    assert found.columns == [*keys, "measure", "mean", "half_width"]
    assert found["measure"].to_list() == measures[1:]
    assert found["half_width"].to_list() == pytest.approx([FOUND.half_width] * len(measures[1:]))


def test_a_long_table_is_told_alike() -> None:
    long = pl.DataFrame({"case": "a", "queue": "b", "measure": ["m"] * 3 + ["n"], "value": [*VALUES, math.nan]})
    found = queues.intervals(long)
    assert found.columns == ["case", "queue", "measure", "mean", "half_width"]
    assert found["measure"].to_list() == ["m", "n"]
    assert found["mean"][0] == pytest.approx(FOUND.mean)
