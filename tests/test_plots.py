"""Figures: what they show, and that they are fit for print."""

from __future__ import annotations

import copy
import dataclasses
import io
import itertools
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import tailback as tb
from tailback.plot import figure, overtime, save, series, transfers
from tailback.plot.along import along
from tailback.plot.overtime import thinned
from tailback.plot.style import COLOURS, PAPER, Drawing, style
from tailback.report.interactive import interactive
from tailback.report.svg import inlined
from tailback.results import metrics


def test_overview_shows_all_four_with_units(result: tb.Result) -> None:
    axes = result.plot.overview().axes
    labels = [axis.get_ylabel() for axis in axes]
    assert labels == ["throughput (Mbit/s)", "queue (packets)", "window (kB)", "round trip time (ms)"]
    assert axes[-1].get_xlabel() == "time (s)"
    drawn = axes[0].get_lines()[0]
    assert np.asarray(drawn.get_ydata(), dtype=float).mean() * 1e6 == pytest.approx(
        result.series(flow="cubic-0")["throughput"].mean()
    )


def test_axes_of_ones_own_are_drawn_on(result: tb.Result, runs: tb.Runs) -> None:
    mine = Figure()
    left, right = mine.subplots(1, 2)
    assert runs.plot.over("buffer", "goodput", ax=left) is mine
    assert result.plot.goodput(ax=right) is mine
    assert (left.get_xlabel(), right.get_xlabel()) == ("buffer (packets)", "time (s)")
    assert right.get_legend() is not None
    assert not mine.legends, "what stands above all panels is the caller's"
    with pytest.raises(tb.ArgumentError, match="ax: 2 axes are not allowed; expected 4 of them, one per panel"):
        result.plot.overview(ax=[left, right])
    with pytest.raises(tb.ArgumentError, match="expected axes of matplotlib"):
        result.plot.cdf(ax="left")  # type: ignore[arg-type]  # That is the mistake.
    with pytest.raises(
        tb.ArgumentError, match=r"^ax: 2 axes are not allowed; expected one of them, as in ax=axes\[0\]"
    ):
        result.plot.queue(ax=mine.subplots(1, 2))


def test_notebooks_show_figures(result: tb.Result) -> None:
    assert result.plot.queue()._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]  # Of ours.


def test_many_flows_become_bands() -> None:
    base = tb.dumbbell(rate="10 Mbit/s", delay="5 ms", duration="5 s")
    many = base.with_flows(tb.flows(10, "reno"), tb.flows(10, "cubic")).run()
    axis = many.plot.goodput().axes[0]
    assert [text.get_text() for text in many.plot.goodput().legends[0].get_texts()] == [
        "reno (mean of 10)",
        "cubic (mean of 10)",
    ]
    assert len(axis.collections) >= 2


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_files_are_equal_for_equal_figures(result: tb.Result, tmp_path: Path, kind: str) -> None:
    for name in ("a", "b"):
        save(result.plot.queue(), tmp_path / f"{name}.{kind}")
    first, second = ((tmp_path / f"{name}.{kind}").read_bytes() for name in ("a", "b"))
    assert first == second
    assert len(first) > 1000


@pytest.fixture(scope="module")
def runs() -> tb.Runs:
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", duration="4 s", warm_up="1 s")
    mixed = base.with_flows(tb.flows(1, "reno"), tb.flows(1, "cubic"))
    axes: dict[str, Any] = {"buffer": ["5 packets", "20 packets", "100 packets"], "queue": ["drop-tail", "codel"]}
    return mixed.sweep(**axes, seeds=3, jobs=1, cache=False, progress=False)


@pytest.mark.parametrize("name", ["throughput_delay", "over", "cdf", "fairness", "heatmap", "share"])
def test_figures_of_sweeps_are_vectors_with_units(runs: tb.Runs, tmp_path: Path, name: str) -> None:
    made = getattr(runs.plot, name)()
    save(made, tmp_path / "figure.svg")
    assert "<image" not in (tmp_path / "figure.svg").read_text(encoding="utf-8")
    plain = {"", "queue", "buffer", "Jain's index", "part of the flows", "goodput / fair share"}
    for axis in made.axes:
        for label in (axis.get_xlabel(), axis.get_ylabel()):
            assert label in plain or label.endswith(")"), label


def test_overview_shows_each_queue_of_a_link_that_has_several() -> None:
    link = tb.dumbbell(rate="10 Mbit/s", delay="5 ms", queue="dualpi2", duration="4 s", warm_up="2 s")
    both = link.with_flows(tb.flows(1, "prague"), tb.flows(1, "cubic"))
    axes = both.replace(record={"queue_state": True}).run().plot.overview().axes
    assert axes[1].get_ylabel() == "queue's delay (ms)"
    legend = axes[1].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["r0->r1, classic", "r0->r1, l4s"]


@pytest.mark.parametrize("name", ["overview", "phase", "cdf", "fairness"])
def test_figures_of_results_are_vectors(result: tb.Result, tmp_path: Path, name: str) -> None:
    save(getattr(result.plot, name)(), tmp_path / "figure.svg")
    assert "<image" not in (tmp_path / "figure.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("values", "places", "label"),
    [
        (["10 packets", "40 packets"], [10, 40], "field (packets)"),
        (["500 kbit/s", "2 Mbit/s"], [0.5, 2], "field (Mbit/s)"),
        (["4 reno", "16 reno"], [4, 16], "field (reno)"),
        ([1.0, 2.5], [1.0, 2.5], "field"),
        (["10 packets", "1 BDP"], None, "field"),
        (["5 ms", "1 Mbit/s"], None, "field"),
        (["red", "codel"], None, "field"),
    ],
)
def test_quantities_stand_to_scale(values: list[object], places: list[float] | None, label: str) -> None:
    found = along("field", pl.Series(values))
    assert found.label == label
    assert list(found.places.values()) == (places if places is not None else list(range(len(values))))
    assert (found.names is None) == (places is not None)


def test_marks_tell_two_axes_apart(runs: tb.Runs) -> None:
    axis = runs.plot.throughput_delay(by=["queue", "buffer"]).axes[0]
    named = [line for line in axis.get_lines() if not str(line.get_label()).startswith("_")]
    assert len({(line.get_color(), line.get_marker()) for line in named}) == len(named) == 6
    assert len({line.get_color() for line in named}) == 2


def test_marks_tell_two_axes_apart_in_grey_too(runs: tb.Runs) -> None:
    axis = runs.plot.throughput_delay(by=["queue", "buffer"]).axes[0]
    named = [line for line in axis.get_lines() if not str(line.get_label()).startswith("_")]
    hollow = {line.get_color(): line.get_markerfacecolor() == PAPER for line in named}
    assert sorted(hollow.values()) == [False, True]


def test_legends_read_row_by_row(result: tb.Result) -> None:
    made = result.plot.goodput(ax=Figure().subplots())
    flows = [str(line.get_label()) for line in made.axes[0].get_lines()]
    legend = made.axes[0].get_legend()
    assert legend is not None
    assert sorted(text.get_text() for text in legend.get_texts()) == sorted(flows)
    six = [f"flow {number}" for number in range(6)]
    axis = Figure().subplots()
    for name in six:
        axis.plot([0, 1], label=name)
    series.legend(axis.figure, [axis])  # type: ignore[arg-type]  # A whole figure.
    legend = axis.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [six[n] for n in (0, 2, 4, 1, 3, 5)], "in two columns"


def test_long_labels_stay_beside_their_panel(runs: tb.Runs) -> None:
    made = runs.plot.over("buffer", "queueing_delay_p95", "goodput")
    made.draw_without_rendering()
    high, low = (axis.yaxis.label.get_window_extent() for axis in made.axes)
    assert low.y1 < high.y0


def test_phase_says_what_it_shows(result: tb.Result) -> None:
    assert result.plot.phase().axes[0].get_ylabel().startswith("sum of windows (")
    assert result.plot.phase(flow="cubic-0").axes[0].get_ylabel().startswith("window of cubic-0 (")


def test_figures_count_the_bins_that_metrics_count() -> None:
    """The warm-up ends within the third second, and more than half of that lies before."""
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", buffer="50 packets", duration="6 s", warm_up="2.7 s")
    made = base.replace(bin="1 s").with_flows(tb.flows(1, "reno")).run()
    counted = made.series(link=made.shown_link, after_warm_up=True)["time"].to_list()
    assert counted == pytest.approx([4.0, 5.0, 6.0])
    assert len(np.asarray(made.plot.phase().axes[0].collections[0].get_offsets())) == len(counted)

    peak = made.link_series.with_columns(
        queue_bytes=pl.when(pl.col("time").round() == 3.0).then(1e9).otherwise(6250.0), drain=pl.lit(float("nan"))
    )
    axis = Figure().subplots()
    overtime.queue_delays(axis, dataclasses.replace(made, link_series=peak), None)
    rates = made.links.join(made.link_series.select("link").unique(), on="link")["rate"].to_numpy()
    assert axis.get_ylim()[1] == pytest.approx(1.6 * 1e3 * 50e3 / rates.min()), "not the peak of the third second"

    axis = Figure().subplots()
    axis.plot([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [90.0, 90.0, 90.0, 1.0, 2.0, 1.0], label="a flow")
    overtime.fit(axis, made)
    assert axis.get_ylim()[1] == pytest.approx(2.5)


def test_other_endings_are_refused(result: tb.Result, tmp_path: Path) -> None:
    with pytest.raises(tb.StorageError, match=r"\.svg, \.png, \.pdf"):
        save(result.plot.queue(), str(tmp_path / "figure.bmp"))


def test_nothing_recorded_is_said(dumbbell: tb.Scenario) -> None:
    bare = dumbbell.replace(record={"flows": "none", "links": "none"}).run()
    with pytest.raises(KeyError, match="no time series"):
        bare.plot.overview()
    with pytest.raises(KeyError, match="recorded"):
        bare.plot.window()


def test_saving_draws_once(result: tb.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []
    whole = Figure.draw

    def counted(figure: Figure, renderer: Any) -> None:
        drawn.append(figure)
        whole(figure, renderer)

    monkeypatch.setattr(Figure, "draw", counted)
    save(result.plot.overview(), tmp_path / "once.svg")
    assert len(drawn) == 1
    # As matplotlib itself saves it: the layout is that of a whole drawing that leaves no mark.
    monkeypatch.setattr(Drawing, "draw", counted)
    save(result.plot.overview(), tmp_path / "twice.svg")
    assert len(drawn) == 3
    assert (tmp_path / "once.svg").read_bytes() == (tmp_path / "twice.svg").read_bytes()


def test_users_settings_are_left_alone() -> None:
    before = dict(mpl.rcParams)
    with style():
        assert mpl.rcParams["axes.grid"]
    assert dict(mpl.rcParams) == before


def test_size_and_letters_are_the_users_where_they_say_so(result: tb.Result, runs: tb.Runs, tmp_path: Path) -> None:
    usual, panels = runs.plot.share(), result.plot.overview()
    own: dict[Any, Any] = {
        "figure.figsize": (3.2, 1.8),
        "figure.dpi": 150,
        "font.size": 18,
        "font.family": ["monospace"],
    }
    with mpl.rc_context({**own, "axes.grid": False, "lines.linewidth": 9}):
        made, larger = runs.plot.share(), result.plot.overview()
        with mpl.rc_context({"axes.labelsize": 5}):
            small = runs.plot.share()
        page = runs.report(tmp_path / "page")
    assert made.get_figwidth() == pytest.approx(usual.get_figwidth() / 2)
    assert made.get_figheight() >= usual.get_figheight() / 2, "large names take rows of their own"
    assert larger.get_figwidth() == pytest.approx(panels.get_figwidth() / 2)
    assert made.dpi == 150
    axis, before = made.axes[0], usual.axes[0]
    for name in ("xaxis", "yaxis"):
        label, was = getattr(axis, name).label, getattr(before, name).label
        assert label.get_fontsize() == pytest.approx(2 * was.get_fontsize())
        assert label.get_fontfamily() == ["monospace"]
    assert small.axes[0].xaxis.label.get_fontsize() == 5
    assert axis.lines[0].get_linewidth() == before.lines[0].get_linewidth()
    assert axis.lines[0].get_markersize() == before.lines[0].get_markersize()
    assert axis.xaxis.get_gridlines()[0].get_visible()
    runs.report(tmp_path / "usual")
    figure = next(page.parent.rglob("*.svg")).relative_to(page.parent)
    assert (page.parent / figure).read_bytes() == (tmp_path / "usual" / figure).read_bytes(), (
        "pages are laid out for theirs"
    )


def test_colours_can_be_told_apart_in_grey() -> None:
    # Neighbours in the order of use differ in lightness, and every line has dashes of its own besides.
    rgb = np.array([[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in COLOURS[:4]])
    grey = rgb @ [0.2126, 0.7152, 0.0722]
    assert (np.abs(np.diff(grey)) > 0.04).all()


def test_long_series_keep_their_mean_and_extremes() -> None:
    time = np.arange(100_000, dtype=np.float64)
    values = np.sin(time / 50)
    when, mean, low, high = thinned(time, values, 1000)
    assert when.size == 1000
    assert mean.mean() == pytest.approx(values.mean(), abs=1e-3)
    assert (low.min(), high.max()) == pytest.approx((-1, 1), abs=1e-3)


def test_inlined_figures_follow_the_page(result: tb.Result, tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    save(result.plot.queue(), file)
    inside = inlined(file.read_text(), "queue <of> A & B")
    assert inside.startswith("<svg")
    assert "currentColor" in inside
    assert "<title>queue &lt;of> A &amp; B</title>" in inside
    assert "fill: #ffffff" not in inside
    assert "<?xml" not in inside


def test_a_figure_that_there_is_none_of_is_told_with_those_that_there_are(result: tb.Result, runs: tb.Runs) -> None:
    wrong, of_results = "througput", "window"
    with pytest.raises(
        tb.NotFoundError, match=r"^througput: no such figure of a result; .*\(did you mean throughput\?\)$"
    ):
        getattr(result.plot, wrong)
    with pytest.raises(tb.NotFoundError, match=r"^window: no such figure of a sweep; expected one of cdf, .*heatmap"):
        getattr(runs.plot, of_results)
    # As Python and notebooks want it, which ask for what they can use.
    assert not hasattr(result.plot, "nothing")
    assert not hasattr(result.plot, "_repr_html_")
    assert "overview" in dir(copy.copy(result.plot))
    with pytest.raises(tb.ArgumentError, match=r"plot\.cdf\(\) for example; others are .*overview"):
        result.plot(kind="overview")


def _short(*schemes: str, seeds: int = 1, **axes: Any) -> tb.Runs:
    """Runs of which only the names are looked at."""
    base = tb.dumbbell(rate="2 Mbit/s", delay="5 ms", buffer="10 packets", duration="1 s")
    flows = base.with_flows(tb.flows(2, "reno", start={"from": "0 s", "to": "0.5 s"}))
    return flows.sweep(scheme=list(schemes), **axes, seeds=seeds, jobs=1, cache=False, progress=False)


def _drawn(made: Figure) -> None:
    """Gives all parts of a figure their places."""
    made.savefig(io.BytesIO(), dpi=made.dpi)


def test_what_each_mark_stands_for_does_not_cross_the_note_beside_it() -> None:
    runs = _short(
        "reno", "cubic", rate=["1 Mbit/s", "2 Mbit/s"], delay=["5 ms", "10 ms"], buffer=["4 kB", "10 packets"]
    )
    made = runs.plot.throughput_delay(by="scheme")
    _drawn(made)
    words, note = (
        next(text for text in made.findobj(Text) if said in text.get_text()) for said in ("each mark", "better")
    )
    assert words.get_text().endswith("\n"), "the note stands on the last line"
    assert words.get_window_extent().x1 <= made.bbox.x1
    short = runs.plot.throughput_delay(by=["scheme", "rate", "delay"])
    _drawn(short)
    words = next(text for text in short.findobj(Text) if "each mark" in text.get_text())
    assert "\n" not in words.get_text()
    assert words.get_window_extent().x1 < note.get_window_extent().x0
    distribution = runs.plot.cdf(by="scheme")
    _drawn(distribution)
    words = next(text for text in distribution.findobj(Text) if "each line" in text.get_text())
    assert words.get_window_extent().x1 <= distribution.bbox.x1


def test_a_number_stays_with_its_unit_where_a_line_breaks() -> None:
    axis = figure()[1][0]
    series.head(axis, ", ".join(f"{rate} Mbit/s" for rate in range(60)), right="more")
    lines = axis.get_title(loc="left").splitlines()
    assert len(lines) > 4
    assert all(line.endswith("/s,") for line in lines[:-2])


def test_a_legend_of_many_series_leaves_the_figure_to_the_data() -> None:
    schemes = ("reno", "cubic", "vegas", "illinois", "compound")
    runs = _short(*schemes, queue=["drop-tail", "codel", "pie"], rate=["1 Mbit/s", "2 Mbit/s"])
    for made in (runs.plot.throughput_delay(), runs.plot.over("rate", "goodput"), runs.plot.over("queue", "goodput")):
        _drawn(made)
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


def test_values_that_colours_and_marks_share_are_told_apart_in_the_legend() -> None:
    base = tb.dumbbell(rate="2 Mbit/s", delay="5 ms", buffer="10 packets", duration="1 s")
    both = base.with_flows(tb.flows(1, "reno", name="a"), tb.flows(1, "reno", name="b"))
    schemes: dict[str, Any] = {f"flows[{n}].scheme": ["reno", "cubic", "vegas", "westwood-plus"] for n in (0, 1)}
    runs = both.sweep(**schemes, seeds=1, jobs=1, cache=False, progress=False)
    made = runs.plot.throughput_delay(by=["flows[0].scheme", "flows[1].scheme"])
    names = [text.get_text() for text in made.legends[0].get_texts()]
    assert len(names) == 8
    assert {"flows[0].scheme reno", "flows[1].scheme reno"} <= set(names)


def test_names_in_a_legend_stand_side_by_side_where_they_fit() -> None:
    with style():
        for name, columns in (("packets", 5), ("reno, 1 Mbit/s, 10 ms, 10 packets", 2), ("n" * 70, 1)):
            made, axes = figure()
            for number in range(10):
                axes[0].plot([0, 1], label=f"{number} {name}")
            series.legend(made, axes)
            _drawn(made)
            box = made.legends[0].get_window_extent()
            assert box.x1 <= made.bbox.x1
            assert len({round(text.get_window_extent().x0) for text in made.legends[0].get_texts()}) == columns


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


def _rows_of(made: Figure) -> list[list[str]]:
    """The legend's entries as they stand, from top to bottom and from left to right."""
    _drawn(made)
    rows: dict[int, list[tuple[float, str]]] = {}
    for text in made.legends[0].get_texts():
        box = text.get_window_extent()
        if text.get_text():
            rows.setdefault(-round(box.y0), []).append((box.x0, text.get_text()))
    return [[name for _, name in sorted(row)] for _, row in sorted(rows.items())]


def test_rows_of_a_legend_hold_colours_or_marks_and_not_both() -> None:
    schemes = ["reno", "cubic", "vegas", "illinois", "compound", "copa"]
    runs = _short(*schemes, queue=["drop-tail", "codel", "pie"])
    made = runs.plot.throughput_delay()
    rows = _rows_of(made)
    assert [name for row in rows for name in row] == [*schemes, "drop-tail", "codel", "pie"]
    assert not any(set(row) & set(schemes) and set(row) - set(schemes) for row in rows), rows
    traces = interactive(made)
    assert traces is not None
    assert "" not in {trace["name"] for trace in traces["data"] if trace["showlegend"]}


def test_the_line_of_the_fair_share_is_not_the_edge_of_its_panel() -> None:
    base = tb.dumbbell(rate="2 Mbit/s", delay="5 ms", buffer="10 packets", duration="1 s")
    alone = base.with_flows(tb.flows(1, "reno"))
    runs = alone.sweep(buffer=["10 packets", "20 packets"], seeds=1, jobs=1, cache=False, progress=False)
    low, high = runs.plot.share().axes[0].get_ylim()
    assert low == 0.0
    assert high == pytest.approx(1.1)


def test_an_axis_of_parts_ends_where_they_do() -> None:
    """Of two seeds, intervals by Student's t are many times as wide as what is between them."""
    runs = _short("reno", "cubic", buffer=["2 packets", "20 packets"], seeds=2)
    assert (runs.intervals("jain").select(pl.col("mean") + pl.col("half_width")).to_series() > 1.1).any()
    jain, used = runs.plot.over("buffer", "jain", "utilization", by="scheme").axes
    assert 0.0 <= jain.get_ylim()[0] < jain.get_ylim()[1] <= 1.05
    assert 0.0 <= used.get_ylim()[0] < used.get_ylim()[1] <= 105.0


def test_flows_that_are_called_like_another_scheme_are_called_so_everywhere() -> None:
    base = tb.dumbbell(rate="2 Mbit/s", delay="5 ms", buffer="10 packets", duration="2 s")
    few = base.with_flows(tb.flows(2, "bbr1", name="reno"), tb.flows(1, "cubic")).run()
    for made in (few.plot.cdf("goodput"), few.plot.throughput()):
        assert [text.get_text() for text in made.legends[0].get_texts()] == ["reno-0 (bbr1)", "reno-1 (bbr1)", "cubic"]
    many = base.with_flows(tb.flows(9, "bbr1", name="reno"), tb.flows(1, "cubic")).run()
    drawn = [text.get_text() for text in many.plot.cdf("goodput").legends[0].get_texts()]
    assert drawn == ["reno (bbr1)", "cubic"]
    shown = many.plot.window().legends[0].get_texts()
    assert shown[0].get_text() == "reno (bbr1) (mean of 9)"


def test_figures_without_anything_in_them_say_why(dumbbell: tb.Scenario) -> None:
    bare = dumbbell.replace(record={"flows": "none", "links": "none"}).run()
    with pytest.raises(tb.NotFoundError, match=r"^no goodput was recorded after warm_up; expected record\.flows"):
        bare.plot.cdf("goodput")
    with pytest.raises(tb.NotFoundError, match=r"^nothing to compare: in no window were two recorded flows there"):
        bare.plot.fairness()
    base = tb.dumbbell(rate="2 Mbit/s", delay="5 ms", buffer="10 packets", duration="2 s")
    with pytest.raises(tb.NotFoundError, match=r"^nothing to compare"):
        base.with_flows(tb.flows(1, "reno")).run().plot.fairness()


def test_files_of_one_size_stand_where_they_are() -> None:
    base = tb.dumbbell(rate="2 Mbit/s", delay="5 ms", buffer="10 packets", duration="5 s")
    files = {"name": "files", "size": "20 kB", "pause": "100 ms"}
    dots, median, p95 = base.with_flows(tb.flows(2, "reno", files)).run().plot.completion().axes[0].get_lines()
    assert set(np.asarray(dots.get_xdata())) == {20.0}
    for steps in (median, p95):
        assert np.asarray(steps.get_xdata()) == pytest.approx([20.0])


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
    _drawn(made)
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
