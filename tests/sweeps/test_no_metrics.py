"""Names that are no metrics though they are columns, and values that no run has. What metrics mean is tested in
``test_statistics.py``."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import tailback as tb

BETA = "flows[0].scheme.beta"
LINK = tb.dumbbell(rate="4 Mbit/s", delay="10 ms", duration="2 s")
CALLS: dict[str, Callable[[tb.Runs, str], object]] = {
    "summary": lambda runs, name: runs.summary("goodput", name),
    "summary by group": lambda runs, name: runs.summary(name, by="group"),
    "intervals": lambda runs, name: runs.intervals(name),
    "compare": lambda runs, name: runs.compare("flows[0].count", None, name),
    "compare groups": lambda runs, name: runs.compare("group", None, name),
    "over": lambda runs, name: runs.plot.over(BETA, name),
    "fairness": lambda runs, name: runs.plot.fairness(index=name),
    "cdf": lambda runs, name: runs.plot.cdf(name),
    "heatmap": lambda runs, name: runs.plot.heatmap(name),
    "report": lambda runs, name: runs.report("never-written", metric=name),
}


@pytest.fixture(scope="module")
def runs() -> tb.Runs:
    axes = {"flows[0].count": [1, 2], BETA: [0.5, 0.7]}
    return LINK.with_flows(tb.flows(1, "cubic")).sweep(**axes, seeds=2, cache=False, jobs=1)  # type: ignore[arg-type]  # A swept field is a keyword of any value.


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("name", ["seed", "variant", "flows[0].count", BETA, "hash", "error", "scheme"])
def test_what_says_which_run_it_was_is_refused_with_what_there_is(
    runs: tb.Runs, call: Callable[[tb.Runs, str], object], name: str
) -> None:
    with pytest.raises(tb.NotFoundError, match=rf"^{re.escape(name)}: no such .*; expected one of .*jain") as caught:
        call(runs, name)
    assert not {"seed", "variant", BETA} & set(re.split(r"[ ,]+", str(caught.value).partition("expected")[2]))


def test_what_a_run_cost_can_be_asked_for_everywhere(runs: tb.Runs) -> None:
    for name in ("wall", "events"):
        assert runs.intervals(name)["mean"].min() > 0  # type: ignore[operator]  # These are numbers.
        runs.plot.over(BETA, name)
        runs.plot.heatmap(name)


def test_a_metric_that_is_named_twice_is_there_once(runs: tb.Runs) -> None:
    twice = runs.compare(BETA, None, "goodput", "jain", "goodput")
    assert twice.equals(runs.compare(BETA, None, "goodput", "jain"))
    assert runs.intervals("goodput", "goodput").height == 4


def test_a_value_that_no_run_has_is_told_in_whatever_kind_it_is_given(runs: tb.Runs) -> None:
    """A number beside texts, and a text beside numbers, ended in an error of Polars."""
    paths = LINK.with_flows(tb.flows(1, "reno")).sweep(buffer=["10 packets", "20 packets"], cache=False, jobs=1)
    with pytest.raises(tb.NotFoundError, match=r"^10: no such value of buffer; expected one of 10 packets"):
        paths.differences("buffer", 10)
    with pytest.raises(tb.NotFoundError, match=r"^'1': no such value of flows\[0\]\.count; expected one of 1, 2$"):
        runs.compare("flows[0].count", "1")
    assert runs.compare("flows[0].count", 1.0, "jain").equals(runs.compare("flows[0].count", 1, "jain"))


def test_time_has_no_distribution() -> None:
    result = LINK.with_flows(tb.flows(1, "reno")).run()
    with pytest.raises(tb.NotFoundError, match=r"^time: no such column of time series"):
        result.plot.cdf("time")
