"""Metrics of one's own over a sweep, and what is said where there are no intervals. The intervals themselves are tested in
``test_statistics.py``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import tailback as tb
from tailback.errors import TailbackWarning
from tailback.results import dynamics, metrics

SOON = {"from": "0 s", "to": "1 s"}


@pytest.fixture(scope="module")
def runs() -> tb.Runs:
    link = tb.dumbbell(rate="4 Mbit/s", delay="10 ms", duration="4 s", warm_up="1 s")
    mixed = link.with_flows(tb.flows(2, "reno", start=SOON), tb.flows(1, "cubic", start=SOON))
    return mixed.sweep(buffer=["10 packets", "25 packets"], seeds=3, cache=False, jobs=1)


def test_functions_have_the_same_intervals_as_named_metrics(runs: tb.Runs, tmp_path: Path) -> None:
    own = runs.measured(mine=lambda result: float(metrics.goodput(result).sum()), smooth=(_smooth, "part"))
    columns = ["buffer", "mean", "std", "runs", "low", "high", "half_width"]
    named, mine = (own.intervals(name).select(columns) for name in ("goodput", "mine"))
    assert mine.equals(named) or (mine["mean"] / named["mean"]).to_list() == pytest.approx([1.0, 1.0])
    assert (mine["half_width"] / named["half_width"]).to_list() == pytest.approx([1.0, 1.0])
    assert own.intervals("smooth")["unit"].to_list() == ["part", "part"]
    assert own.compare("buffer", None, "mine")["runs"].to_list() == [3]
    assert own.summary("smooth").height == 2
    own.plot.over("buffer", "smooth")
    own.save(tmp_path / "own")
    kept = tb.Runs.load(tmp_path / "own")
    assert kept.table["smooth"].equals(own.table["smooth"])
    assert kept.intervals("smooth")["unit"].to_list() == ["part", "part"]
    assert "smooth" not in runs.table.columns


def test_what_some_runs_have_is_kept_and_counts_for_itself(runs: tb.Runs) -> None:
    """In whatever order sweeps are joined, and metrics are named."""
    some = runs.select(seed=1).measured(one=lambda _: 1.0)
    for joined in (tb.concat([runs, some]), tb.concat([some, runs])):
        assert joined.table["one"].drop_nulls().to_list() == [1.0, 1.0]
        assert joined.table.sort("variant", "seed").drop("one").equals(runs.table.sort("variant", "seed"))
        for named in (("one", "goodput"), ("goodput", "one")):
            assert joined.summary(*named)["runs"].to_list() == [3, 3]


def _smooth(result: tb.Result) -> float:
    return dynamics.smoothness(result, "cubic")


def test_what_is_no_number_is_missing_with_its_reason(runs: tb.Runs) -> None:
    with pytest.warns(TailbackWarning, match=r"never is missing in 6 of 6 runs, .*; the first says: settling_time: no"):
        own = runs.measured(never=lambda result: dynamics.settling_time(result, "cubic", share=1.0))
    assert own.intervals("never")["runs"].to_list() == [0, 0]
    with pytest.warns(TailbackWarning, match=r"some is missing in 3 of 6 runs, which its means leave out$"):
        some = runs.measured(some=lambda result: result.seed if "10 p" in str(result.scenario) else math.nan)
    assert some.intervals("some")["mean"].to_list() == [2.0, None]


def test_runs_that_come_out_otherwise_are_told(tmp_path: Path) -> None:
    """A sweep of last week is loaded, and the class has changed meanwhile."""

    class Fixed(tb.Controller):
        packets = 4

        def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
            pass

        def directive(self) -> tb.Directive:
            return tb.Directive(window=self.packets * 1000)

    link = tb.dumbbell(rate="4 Mbit/s", delay="10 ms", duration="2 s").with_flows(tb.flows(1, Fixed.scheme()))
    saved = link.sweep(buffer=["10 packets"], seeds=2, cache=False, jobs=1).save(tmp_path / "week")
    loaded = tb.Runs.load(saved)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loaded.result(seed=2).hash == loaded.table["hash"][1]
        loaded.measured(mine=_rate)
    Fixed.packets = 2
    with pytest.warns(TailbackWarning, match=r"^1 of 1 run came out otherwise than in the sweep, .* has changed since"):
        loaded.result(seed=1)
    with pytest.warns(TailbackWarning, match=r"^2 of 2 runs came out otherwise than in the sweep"):
        loaded.measured(mine=_rate)


def _rate(result: tb.Result) -> float:
    return float(metrics.goodput(result).sum())


def test_functions_that_give_no_metric_are_refused(runs: tb.Runs) -> None:
    with pytest.raises(tb.ArgumentError, match=r"goodput: a column of the runs has this name"):
        runs.measured(goodput=_smooth)
    with pytest.raises(tb.ArgumentError, match=r"text: its function gave 'many'; expected a number, or None"):
        runs.measured(text=lambda _: "many")  # type: ignore[arg-type,return-value]  # That is the mistake.
    with pytest.raises(tb.ArgumentError, match=r"mine: 3 is not allowed; expected a function of a result"):
        runs.measured(mine=3)  # type: ignore[arg-type]  # Likewise.
    with pytest.raises(tb.ArgumentError, match=r"metrics: none is given"):
        runs.measured()
    with pytest.raises(tb.ArgumentError, match=r"the function _smooth .*runs\.measured\(_smooth=_smooth\) makes one"):
        runs.intervals(_smooth)  # type: ignore[arg-type]  # Likewise.


def test_an_error_in_a_function_says_of_which_run(runs: tb.Runs) -> None:
    """Among hundreds of runs it would be looked for. What it says can be written as it stands."""

    def sometimes(result: tb.Result) -> float:
        return 1.0 / (result.seed - 2)

    with pytest.raises(ZeroDivisionError) as caught:
        runs.select(buffer="25 packets").measured(fine=lambda _: 1.0, mine=sometimes)
    assert caught.value.__notes__ == [
        "in the function of the metric mine",
        "in this run of the sweep: runs.result(buffer='25 packets', seed=2)",
    ]
    with pytest.raises(tb.ArgumentError, match="its function gave 'many'") as refused:
        runs.measured(text=lambda _: "many")  # type: ignore[arg-type,return-value]  # That is the mistake.
    assert refused.value.__notes__ == ["in this run of the sweep: runs.result(buffer='10 packets', seed=1)"]


def test_a_field_that_is_a_path_is_named_as_it_is_written() -> None:
    link = tb.dumbbell(rate="4 Mbit/s", delay="10 ms", duration="1 s").with_flows(tb.flows(1, "cubic"))
    runs = link.sweep(**{"flows[0].scheme.beta": [0.5, 0.7]}, seeds=1, cache=False, jobs=1)  # type: ignore[arg-type]  # A swept field is a keyword of any value.
    with pytest.raises(ZeroDivisionError) as caught:
        runs.measured(mine=lambda _: 1 / 0)
    assert caught.value.__notes__[-1].endswith("runs.result(seed=1, **{'flows[0].scheme.beta': 0.5})")
    assert runs.result(seed=1, **{"flows[0].scheme.beta": 0.5}).seed == 1


def test_one_seed_says_that_it_has_no_intervals(runs: tb.Runs) -> None:
    one = runs.select(seed=1)
    calls: list[Callable[[], object]] = [one.intervals, one.summary, lambda: one.compare("buffer")]
    for call in calls:
        with pytest.warns(
            TailbackWarning, match=r"One seed says nothing about the spread.* seeds=5 gives some"
        ) as told:
            call()
        assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runs.intervals()
        one._repr_html_()
        one.plot.over("buffer", "goodput")
