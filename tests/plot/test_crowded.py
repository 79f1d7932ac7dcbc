"""Figures of more than they have room for: cells, flows, queues, messages. What is left out, and that it is said."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

import tailback as tb
from tailback.plot import overtime, series, transfers
from tailback.plot.overtime import thinned
from tailback.report.interactive import interactive
from tailback.results import metrics
from tests.plot.drawing import lay_out, short_sweep


def test_many_flows_become_bands() -> None:
    base = tb.dumbbell(rate="10 Mbit/s", delay="5 ms", duration="5 s")
    many = base.with_flows(tb.flows(10, "reno"), tb.flows(10, "cubic")).run()
    axis = many.plot.goodput().axes[0]
    assert [text.get_text() for text in many.plot.goodput().legends[0].get_texts()] == [
        "reno (mean of 10)",
        "cubic (mean of 10)",
    ]
    assert len(axis.collections) >= 2


def test_long_series_keep_their_mean_and_extremes() -> None:
    time = np.arange(100_000, dtype=np.float64)
    values = np.sin(time / 50)
    when, mean, low, high = thinned(time, values, 1000)
    assert when.size == 1000
    assert mean.mean() == pytest.approx(values.mean(), abs=1e-3)
    assert (low.min(), high.max()) == pytest.approx((-1, 1), abs=1e-3)


def test_a_legend_of_many_series_leaves_the_figure_to_the_data() -> None:
    schemes = ("reno", "cubic", "vegas", "illinois", "compound")
    runs = short_sweep(*schemes, queue=["drop-tail", "codel", "pie"], rate=["1 Mbit/s", "2 Mbit/s"])
    for made in (runs.plot.throughput_delay(), runs.plot.over("rate", "goodput"), runs.plot.over("queue", "goodput")):
        lay_out(made)
        names = [text.get_text() for text in made.legends[0].get_texts()]
        assert made.legends[0].get_window_extent().height < made.bbox.height / 3, names
    entries = runs.plot.throughput_delay().legends[0].get_texts()
    # Empty ones fill up the row of the last colour.
    names = [text.get_text() for text in entries if text.get_text()]
    queues = [f"{queue}, {rate}" for queue in ("drop-tail", "codel", "pie") for rate in ("1 Mbit/s", "2 Mbit/s")]
    assert sorted(names) == sorted([*schemes, *queues]), "each colour and each mark"
    axis = runs.plot.over("rate", "goodput", by="queue").axes[0]
    drawn = {line.get_color() for line in axis.get_lines() if np.isfinite(np.asarray(line.get_xdata())).all()}
    assert len(drawn) == 3, "a colour for each value of the first column"


def test_a_legend_names_no_more_flows_than_can_be_told_apart() -> None:
    base = tb.dumbbell(rate="2 Mbit/s", delay="5 ms", buffer="10 packets", duration="1 s")
    many = base.with_flows(*(tb.flows(1, "reno", name=f"flow {number}") for number in range(40))).run()
    made = many.plot.throughput()
    names = [text.get_text() for text in made.legends[0].get_texts()]
    assert len(names) == series.MOST
    assert "and 17 more (mean of 17)" in names
    # What has no name of its own is one line, or the panel would be full of what nobody can tell apart.
    (axis,) = made.axes
    lines = {str(one.get_label()): one for one in axis.get_lines()}
    assert len(lines) == series.MOST
    others = many.flows["flow"].to_list()[series.MOST - 1 :]
    rates = many.flow_series.filter(pl.col("flow").is_in(others)).group_by("time", maintain_order=True)
    mean = rates.agg(pl.col("throughput").mean())["throughput"].to_numpy()
    drawn = np.asarray(lines["and 17 more (mean of 17)"].get_ydata(), dtype=np.float64)
    assert mean.any()
    assert drawn / drawn.max() == pytest.approx(mean / mean.max(), rel=1e-12)
    (cdf,) = many.plot.cdf("goodput").axes
    assert [str(one.get_label()) for one in cdf.get_lines()] == [
        *(f"flow {number}" for number in range(series.MOST - 1)),
        "and 17 more",
    ]


@pytest.fixture(scope="module")
def wide() -> tb.Runs:
    """A sweep over more values than a figure has room for."""
    base = tb.dumbbell(rate="1 Mbit/s", delay="5 ms", buffer="5 packets", duration="0.2 s")
    both = base.with_flows(tb.flows(1, "reno"), tb.flows(1, "cubic"))
    axes: dict[str, Any] = {
        "delay": [f"{1 + place / 10:g} ms" for place in range(60)],
        "rate": [f"{100 + n} kbit/s" for n in range(20)],
    }
    return both.sweep(**axes, jobs=1, cache=False, progress=False)


def test_names_of_cells_do_not_lie_on_each_other(wide: tb.Runs) -> None:
    made = wide.plot.heatmap()
    lay_out(made)
    axis = made.axes[0]
    for side, name in ((axis.xaxis, "delay"), (axis.yaxis, "rate")):
        values = wide.table[name].unique(maintain_order=True).to_list()
        told = [
            (round(float(place)), label.get_text())
            for place, label in zip(side.get_ticklocs(), side.get_ticklabels(), strict=True)
        ]
        assert len(values) > len(told) > 8, name
        assert [values[place] for place, _ in told] == [text for _, text in told]
    boxes = sorted((label.get_window_extent() for label in axis.get_yticklabels()), key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 for low, high in itertools.pairwise(boxes))
    ends = sorted(label.get_window_extent().x1 for label in axis.get_xticklabels())
    assert min(np.diff(ends)) / made.dpi > 0.14
    few = wide.select(delay=["1 ms", "2 ms"], rate=["100 kbit/s", "101 kbit/s"]).plot.heatmap().axes[0]
    assert [label.get_text() for label in few.get_xticklabels()] == ["1 ms", "2 ms"]
    assert len(few.texts) == 4


def test_numbers_stand_in_cells_where_they_fit(wide: tb.Runs) -> None:
    delays = wide.table["delay"].unique(maintain_order=True).to_list()
    rates = ["100 kbit/s", "101 kbit/s"]
    for columns, written in ((4, True), (60, False)):
        axis = wide.select(delay=delays[:columns], rate=rates).plot.heatmap().axes[0]
        assert len(axis.texts) == (2 * columns if written else 0)


def test_legends_of_sweeps_name_no_more_than_look_different(wide: tb.Runs) -> None:
    for made, more in ((wide.plot.over("rate", "goodput"), 13), (wide.plot.share("rate"), 73), (wide.plot.cdf(), 13)):
        names = [text.get_text() for text in made.legends[0].get_texts() if text.get_text()]
        assert len(names) == series.DIFFERENT
        assert names.count(f"and {more} more") == 1
        traces = interactive(made)
        assert traces is not None
        assert {trace["name"] for trace in traces["data"] if trace["showlegend"]} <= set(names)
    # Marks tell more apart.
    assert len(wide.plot.throughput_delay(by="delay").legends[0].get_texts()) >= 60


def test_of_dozens_of_queues_those_that_delay_most_are_named() -> None:
    lot = tb.parking_lot(hops=12, rate="2 Mbit/s", duration="2 s", queue="dualpi2", record={"queue_state": True})
    made = lot.with_flows(
        *(tb.flows(2, "reno", from_=f"r{hop}", to=f"r{hop + 1}", name=f"c{hop}") for hop in range(12))
    ).run()
    axis = Figure().subplots()
    overtime.queue_delays(axis, made, None)
    legend = axis.get_legend()
    assert legend is not None
    *names, more = (text.get_text() for text in legend.get_texts())
    assert len(names) == len(axis.get_lines()) == overtime.FEW
    assert re.fullmatch(r"and \d+ more", more)
    peaks = metrics.queue_delays(made, (100.0,)).sort("p100", descending=True)
    longest = peaks.head(overtime.FEW).select(pl.concat_str("link", "queue", separator=", ")).to_series()
    assert set(names) == set(longest)


def test_of_very_many_messages_dots_that_lie_alone_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    size, taken = rng.integers(1000, 1100, 5000).astype(float), rng.uniform(1.0, 1.1, 5000)
    size[7], taken[7] = 1e6, 0.5
    taken[4000] = 80.0
    assert transfers.apart(size, taken).tolist() == list(range(5000)), "as many as can be seen"
    monkeypatch.setattr(transfers, "DOTS", 4999)
    seen = transfers.apart(size, taken)
    assert {0, 7, 4000} <= set(seen.tolist())
    assert seen.size < 200
    assert (np.diff(seen) > 0).all()
    assert transfers.apart(np.full(5000, 40.0), np.full(5000, 2.0)).tolist() == [0]
