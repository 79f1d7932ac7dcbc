"""Figures of sweeps and results: each is one call, has units on its axes, and is the same file every time."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import tailback as tb
from tailback.errors import ArgumentError
from tailback.plot import save
from tailback.plot.along import along
from tailback.plot.scatter import covariance_ellipse
from tailback.plot.style import figure, line, style
from tailback.report.interactive import interactive


@pytest.fixture(scope="module")
def runs() -> tb.Runs:
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", duration="4 s")
    flows = base.with_flows(tb.flows(2, "reno"), tb.flows(2, "cubic"))
    return flows.sweep(
        buffer=["10 packets", "40 packets"], rate=["5 Mbit/s", "10 Mbit/s"], seeds=3, cache=False, jobs=1
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("throughput_delay", ["mean queueing delay (ms)", "mean throughput per flow (Mbit/s)"]),
        ("over", ["buffer (packets)", "goodput (Mbit/s)", "loss (%)"]),
        ("cdf", ["goodput (Mbit/s)", "part of the flows"]),
        ("fairness", ["Jain's index"]),
        ("heatmap", ["buffer", "rate"]),
        ("share", ["goodput / fair share"]),
    ],
)
def test_figures_of_sweeps(runs: tb.Runs, name: str, words: list[str], tmp_path: Path) -> None:
    made: Figure = getattr(runs.plot, name)()
    labels = [label for axis in made.axes for label in (axis.get_xlabel(), axis.get_ylabel())]
    for word in words:
        assert word in labels, labels
    for copy in ("a.svg", "b.svg"):
        save(getattr(runs.plot, name)(), tmp_path / copy)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    # matplotlib would put bitmaps into heat maps and their bars of colours.
    assert b"<image" not in (tmp_path / "a.svg").read_bytes()


@pytest.mark.parametrize("name", ["cdf", "fairness", "phase"])
def test_figures_of_results(result: tb.Result, name: str) -> None:
    made: Figure = getattr(result.plot, name)()
    assert made.axes[0].get_xlabel()
    assert made.axes[0].get_ylabel()
    assert made.axes[0].lines


def test_the_axis_of_delay_runs_backwards(runs: tb.Runs) -> None:
    left, right = runs.plot.throughput_delay().axes[0].get_xlim()
    assert left > right


def test_goodput_may_stand_in_place_of_throughput(runs: tb.Runs) -> None:
    axis = runs.plot.throughput_delay(by="group", rate="goodput").axes[0]
    assert axis.get_ylabel() == "mean goodput per flow (Mbit/s)"
    drawn = np.sort(np.concatenate([np.asarray(line.get_ydata()) for line in axis.lines if line.get_alpha()]))
    assert drawn == pytest.approx(np.sort(runs.groups["goodput"].to_numpy()) / 1e6)
    assert drawn != pytest.approx(np.sort(runs.groups["throughput"].to_numpy()) / 1e6)
    with pytest.raises(KeyError, match=r"godput: no such rate; expected .*did you mean goodput"):
        runs.plot.throughput_delay(rate="godput")


def test_an_ellipse_is_that_of_the_covariance() -> None:
    random = np.random.default_rng(3)
    points = random.multivariate_normal([3.0, 5.0], [[4.0, 1.5], [1.5, 1.0]], size=4000)
    x, y = points.T
    ellipse = covariance_ellipse(x, y, 2.0)
    inside = ellipse.get_path().transformed(ellipse.get_patch_transform()).contains_points(points)
    # Within two standard deviations lies 1 - exp(-2) of a Gaussian in the plane.
    assert inside.mean() == pytest.approx(1.0 - np.exp(-2.0), abs=0.015)


def test_figures_say_what_they_cannot_draw(runs: tb.Runs) -> None:
    with pytest.raises(KeyError, match="did you mean buffer"):
        runs.plot.over("bufer")
    with pytest.raises(KeyError, match="no such metric"):
        runs.plot.heatmap("god")
    with pytest.raises(KeyError, match=r"^'?delay: no such metric.*did you mean queueing_delay\?"):
        runs.intervals("delay")
    with pytest.raises(KeyError, match="no such metric of flows or runs"):
        runs.plot.cdf("god")
    with pytest.raises(KeyError, match=r"godput: no such axis or metric; expected .*did you mean goodput"):
        runs.plot.over("godput")
    with pytest.raises(ValueError, match=r"x and y: .buffer, buffer. is not allowed"):
        runs.plot.heatmap(x="buffer", y="buffer")
    with pytest.raises(ValueError, match=r"x, y and by: .* is not allowed; expected three different axes of the sweep"):
        runs.plot.heatmap(x="buffer", by="buffer")
    with pytest.raises(KeyError, match=r"rtt95: no such delay; expected .*did you mean rtt_p95"):
        runs.plot.throughput_delay(delay="rtt95")
    with pytest.raises(ValueError, match="ellipse: -1 is not allowed"):
        runs.plot.throughput_delay(ellipse=-1)


def test_figures_of_a_run_without_time_series_say_why_there_are_none() -> None:
    short = tb.dumbbell(rate="10 Mbit/s", delay="5 ms", duration="50 ms").with_flows(tb.flows(2, "cubic"))
    with pytest.warns(tb.TailbackWarning, match="there are no time series"):
        result = short.run()
    for name in ("throughput", "queue", "window", "rtt", "goodput", "cdf", "fairness", "phase", "overview"):
        with pytest.raises(tb.NotFoundError, match=r"record\.bin of 0\.1 s is longer than the run of 0\.05 s"):
            getattr(result.plot, name)()
    with pytest.raises(tb.NotFoundError, match=r"record\.bin of 0\.1 s is longer than the run of 0\.05 s"):
        result.plot.cdf("rtt")


def test_a_metric_alone_is_drawn_over_the_first_axis(runs: tb.Runs) -> None:
    made = runs.plot.over("goodput")
    assert [axis.get_ylabel() for axis in made.axes] == ["goodput (Mbit/s)"]
    assert made.axes[0].get_xlabel() == "buffer (packets)"


def test_what_differs_by_powers_of_ten_stands_on_logarithmic_axes(runs: tb.Runs) -> None:
    """Intervals that reach below nothing do not decide where the axis ends; nor does a mean of nothing, which is counted."""
    first = pl.col("buffer").eq("10 packets") & pl.col("rate").eq("5 Mbit/s")
    goodput = 10.0 ** pl.col("seed")
    table = runs.table.with_columns(
        goodput=goodput, loss_rate=pl.when(first).then(0.0).otherwise(0.01), jain=pl.lit(0.0)
    )
    wide = tb.Runs(variants=runs.variants, table=table, flows=runs.flows, links=runs.links)
    made = wide.plot.over("buffer", "goodput", "loss_rate", "jain", log=True)
    assert [axis.get_yscale() for axis in made.axes] == ["log", "log", "linear"]
    low, high = made.axes[0].get_ylim()
    mean = (10.0 + 100.0 + 1000.0) / 3.0
    assert made.axes[0].get_ylabel() == "goodput (bit/s)"
    assert low == pytest.approx(mean / 1.3)
    assert high > mean
    heads = [axis.get_title(loc="left") for axis in made.axes]
    assert heads == [
        "",
        "1 of 4 means are 0, which has no place on a logarithmic axis",
        "4 of 4 means are 0, which has no place on a logarithmic axis",
    ]
    with pytest.raises(
        tb.NotFoundError, match=r"rate: no such metric, but an axis, which comes first: over\('rate', 'goodput'\)"
    ):
        runs.plot.over("goodput", "rate")


def test_errors_are_read_without_quotes_and_caught_as_ours(runs: tb.Runs, result: tb.Result) -> None:
    with pytest.raises(tb.TailbackError) as found:
        runs.summary("godput")
    assert str(found.value).startswith("godput: no such metric")
    with pytest.raises(tb.TailbackError, match=r"rtts: no such column of time series; expected .*did you mean rtt"):
        result.plot.cdf("rtts")
    with pytest.raises(ValueError, match="window: nan is not allowed"):
        result.plot.fairness(float("nan"))
    assert result.plot.fairness(1.0).axes[0].lines


def test_marks_at_the_top_are_whole(runs: tb.Runs) -> None:
    """Where all means are alike, and where they are all zero."""
    even = tb.Runs(
        variants=runs.variants, table=runs.table.with_columns(goodput=pl.lit(5e6)), flows=runs.flows, links=runs.links
    )
    low, high = even.plot.over("goodput").axes[0].get_ylim()
    assert low == 0.0
    assert high == pytest.approx(5.5)
    none = tb.Runs(
        variants=runs.variants, table=runs.table.with_columns(loss_rate=pl.lit(0.0)), flows=runs.flows, links=runs.links
    )
    assert none.plot.over("loss_rate").axes[0].get_ylim() == (0.0, 1.0)


@pytest.fixture(scope="module")
def three() -> tb.Runs:
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", duration="2 s").with_flows(tb.flows(1, "reno"))
    buffers, delays = ["10 packets", "40 packets"], ["5 ms", "20 ms", "50 ms"]
    return base.sweep(scheme=["cubic", "copa"], buffer=buffers, delay=delays, seeds=1, cache=False, jobs=1)


def test_a_heatmap_of_three_axes_has_a_panel_for_each_scheme(three: tb.Runs, tmp_path: Path) -> None:
    made = three.plot.heatmap("queueing_delay")
    panels = [axis for axis in made.axes if axis.get_title(loc="left")]
    assert [axis.get_title(loc="left") for axis in panels] == ["cubic", "copa"]
    assert [panels[0].get_xlabel(), panels[0].get_ylabel()] == ["buffer (packets)", "delay (ms)"]
    shown = {float(text.get_text()) for text in panels[1].texts}
    found = three.select(scheme="copa").table["queueing_delay"]
    assert shown == {float(f"{1e3 * value:.3g}") for value in found}
    # One scale of colours for all.
    assert len({panel.collections[0].get_clim() for panel in panels}) == 1
    save(made, tmp_path / "a.svg")
    assert b"<image" not in (tmp_path / "a.svg").read_bytes()


def test_a_heatmap_says_what_its_cells_are_means_over(three: tb.Runs) -> None:
    axis = Figure().subplots()
    three.plot.heatmap("queueing_delay", x="buffer", y="scheme", ax=axis)
    assert axis.get_title(loc="left") == "means over delay (5 ms to 50 ms)"
    axis = Figure().subplots()
    three.plot.heatmap("queueing_delay", ax=axis)
    assert axis.get_title(loc="left") == "means over scheme (cubic, copa)"
    by_delay = three.plot.heatmap("goodput", "scheme", "buffer")
    assert [axis.get_title(loc="left") for axis in by_delay.axes[:3]] == ["5 ms", "20 ms", "50 ms"]
    four = three.select(scheme="cubic").plot.heatmap("goodput", "buffer", "scheme", by="delay")
    assert four.get_suptitle() == ""
    with pytest.raises(KeyError, match="did you mean delay"):
        three.plot.heatmap(by="dely")


def test_sides_are_for_the_axes_with_the_most_values() -> None:
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", duration="1 s").with_flows(tb.flows(1, "reno"))
    buffers, delays = ["5 packets", "6 packets", "7 packets"], ["1 ms", "2 ms", "3 ms"]
    runs = base.sweep(rate=["5 Mbit/s", "6 Mbit/s"], buffer=buffers, delay=delays, cache=False, jobs=1)
    made = runs.plot.heatmap()
    assert [axis.get_title(loc="left") for axis in made.axes[:2]] == ["5 Mbit/s", "6 Mbit/s"]
    assert [made.axes[0].get_xlabel(), made.axes[0].get_ylabel()] == ["buffer (packets)", "delay (ms)"]


def test_many_names_leave_room_for_the_panels(three: tb.Runs, tmp_path: Path) -> None:
    few, many = three.select(scheme="copa").plot.throughput_delay(), three.plot.throughput_delay()
    heights = []
    for made in (few, many):
        save(made, tmp_path / "a.svg")
        heights.append(made.axes[0].get_window_extent().height)
    assert len(many.legends[0].get_texts()) == 12
    assert heights[1] == pytest.approx(heights[0], rel=0.1)


def test_figures_of_two_axes_are_as_they_were(runs: tb.Runs) -> None:
    made = runs.plot.heatmap()
    assert [axis.get_title(loc="left") for axis in made.axes] == ["", ""]
    assert [label.get_text() for label in made.axes[0].get_xticklabels()] == ["10 packets", "40 packets"]


def test_shares_and_distributions_do_not_mix_axes_in_silence(runs: tb.Runs) -> None:
    lines = [name for _, name in zip(*runs.plot.share("buffer").axes[0].get_legend_handles_labels(), strict=True)]
    assert sorted(lines) == ["cubic, 10 Mbit/s", "cubic, 5 Mbit/s", "reno, 10 Mbit/s", "reno, 5 Mbit/s"]
    assert (
        runs.plot.cdf(by="buffer").axes[0].get_title(loc="left")
        == "each line: all values of rate (5 Mbit/s, 10 Mbit/s)"
    )


def test_the_scatter_does_not_mix_axes_in_silence(runs: tb.Runs) -> None:
    said = runs.plot.throughput_delay(by="group").axes[0].get_title(loc="left")
    assert said.endswith("\n"), "a line of its own, for the note beside it"
    words = "each mark: all values of buffer (10 packets, 40 packets), rate (5 Mbit/s, 10 Mbit/s)"
    assert said.split() == words.split()
    assert runs.plot.throughput_delay().axes[0].get_title(loc="left") == ""


def test_no_delay_is_below_zero(runs: tb.Runs) -> None:
    axis = runs.plot.throughput_delay(by="rate", ellipse=4.0).axes[0]
    outlines = [one.get_path().transformed(one.get_patch_transform()) for one in axis.patches]
    assert min(outline.get_extents().x0 for outline in outlines) < 0.0, "an ellipse reaches below"
    high, low = axis.get_xlim()
    assert -0.05 * high < low <= 0.0
    assert axis.get_ylim()[0] >= 0.0


@pytest.fixture(scope="module")
def many() -> tb.Runs:
    """Ten schemes and fourteen buffers, more than there are colours or marks at hand."""
    base = tb.dumbbell(rate="2 Mbit/s", delay="10 ms", duration="1 s").with_flows(tb.flows(1, "reno"))
    names = "reno newreno sack cubic vegas bbr1 bbr3 copa illinois westwood-plus"
    buffers = [f"{5 * count} packets" for count in range(1, 15)]
    return base.sweep(scheme=names.split(), buffer=buffers, seeds=1, cache=False, jobs=1)


def looks_of(axis: Axes) -> list[tuple[object, ...]]:
    """How each series with a name looks, those without points left out."""
    drawn = [line for line in axis.get_lines() if np.isfinite(np.asarray(line.get_xdata(), dtype=float)).any()]
    return [
        (line.get_color(), line.get_marker(), line.get_markerfacecolor())
        for line in drawn
        if not str(line.get_label()).startswith("_")
    ]


@pytest.mark.parametrize("by", [None, "scheme", ["buffer", "scheme"]])
def test_every_series_has_a_look_of_its_own(many: tb.Runs, by: str | list[str] | None) -> None:
    looks = looks_of(many.plot.throughput_delay(by=by).axes[0])
    assert len(set(looks)) == len(looks) == (10 if by == "scheme" else 140)


def test_lines_over_a_field_differ_by_mark_too(many: tb.Runs) -> None:
    drawn = [container[0] for container in many.plot.over("buffer").axes[0].containers]
    looks = {(one.get_color(), one.get_marker(), one.get_markerfacecolor()) for one in drawn}
    assert len(looks) == len(drawn) == 10
    names = {tuple(line(index).values()) for index in range(48)}
    assert len(names) == 48


def test_more_series_than_looks_are_refused_or_taken_together(many: tb.Runs) -> None:
    wide = tb.Runs(
        variants=many.variants,
        table=pl.concat(
            [many.table.with_columns(scheme=pl.format("{}{}", pl.col("scheme"), pl.lit(n))) for n in range(3)]
        ),
        flows=many.flows,
        links=many.links,
    )
    with pytest.raises(ArgumentError, match="420 series"):
        wide.plot.throughput_delay(by=["scheme", "buffer"])
    axis = wide.plot.throughput_delay().axes[0]
    assert len(looks_of(axis)) == 30
    assert axis.get_title(loc="left") == "each mark: all values of buffer (5 packets to 70 packets)"


def test_a_legend_of_very_many_series_explains_colours_and_marks(many: tb.Runs, tmp_path: Path) -> None:
    made = many.plot.throughput_delay()
    save(made, tmp_path / "a.svg")
    # Empty ones fill up the row of the last colour.
    names = [text.get_text() for text in made.legends[0].get_texts() if text.get_text()]
    assert len(names) == 24
    assert made.axes[0].get_window_extent().height > 0.5 * 420
    shown = [trace["name"] for trace in interactive(made)["data"] if trace["showlegend"]]  # type: ignore[index]  # A figure of plotly is given as plain data.
    assert sorted(shown) == sorted(names)


def test_names_along_an_axis_do_not_lie_on_each_other(many: tb.Runs) -> None:
    for made in (many.plot.over("scheme"), many.plot.share("scheme")):
        made.draw_without_rendering()
        ticks = made.axes[-1].get_xticklabels()
        assert {tick.get_rotation() for tick in ticks} == {40.0}
    few = many.select(scheme=["reno", "cubic"]).plot.over("scheme")
    assert {tick.get_rotation() for tick in few.axes[-1].get_xticklabels()} == {0.0}


def test_numbers_along_a_logarithmic_axis_do_not_lie_on_each_other() -> None:
    values = pl.Series([10.0 * 1.25**step for step in range(22)])
    with style():
        made, (axis,) = figure()
        axis.plot(values, values)
        along("field", values).settle(axis)
        made.draw_without_rendering()
    boxes = [tick.get_window_extent() for tick in axis.get_xticklabels() if tick.get_text()]
    assert len(boxes) > 5
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_no_line_of_shares_leads_from_name_to_name() -> None:
    """Names have no order; marks at one name stand beside each other, as those of ``over`` do."""
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", duration="2 s").with_flows(
        tb.flows(1, "reno"), tb.flows(1, "cubic")
    )
    runs = base.sweep(queue=["drop-tail", "codel"], buffer=["10 packets", "40 packets"], seeds=1, cache=False, jobs=1)

    def marks(axis: Axes) -> list[Line2D]:
        return [drawn for drawn in axis.get_lines() if drawn.get_marker() not in {"None", "_", "|"}]

    named = marks(runs.plot.share("queue").axes[0])
    assert {drawn.get_linestyle() for drawn in named} == {"None"}
    assert len({float(np.asarray(drawn.get_xdata())[0]) for drawn in named}) == len(named) == 4
    assert "None" not in {drawn.get_linestyle() for drawn in marks(runs.plot.share("buffer").axes[0])}


def test_axes_of_completion_times_have_numbers_that_can_be_read() -> None:
    """On axes of ratios matplotlib writes powers of ten, and 4 × 10¹ in less than a decade."""
    files: dict[str, Any] = {"name": "files", "size": {"name": "pareto", "mean": "30 kB", "shape": 1.3}}
    files["pause"] = {"name": "exponential", "mean": "100 ms"}
    link = tb.dumbbell(rate="10 Mbit/s", delay="20 ms", duration="6 s")
    made = link.with_flows(tb.flows(3, "cubic", files)).run().plot.completion()
    made.draw_without_rendering()
    for axis in (made.axes[0].xaxis, made.axes[0].yaxis):
        texts = [tick.get_text() for tick in [*axis.get_ticklabels(), *axis.get_ticklabels(minor=True)]]
        assert sum(bool(text) for text in texts) >= 2
        assert all(float(text) > 0 for text in texts if text)
