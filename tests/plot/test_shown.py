"""Figures: what of results and sweeps they show, and what they say where there is nothing to show."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

import tailback as tb
from tailback.plot import overtime


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


def test_overview_shows_each_queue_of_a_link_that_has_several() -> None:
    link = tb.dumbbell(rate="10 Mbit/s", delay="5 ms", queue="dualpi2", duration="4 s", warm_up="2 s")
    both = link.with_flows(tb.flows(1, "prague"), tb.flows(1, "cubic"))
    axes = both.replace(record={"queue_state": True}).run().plot.overview().axes
    assert axes[1].get_ylabel() == "queue's delay (ms)"
    legend = axes[1].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["r0->r1, classic", "r0->r1, l4s"]


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


def test_nothing_recorded_is_said(dumbbell: tb.Scenario) -> None:
    bare = dumbbell.replace(record={"flows": "none", "links": "none"}).run()
    with pytest.raises(KeyError, match="no time series"):
        bare.plot.overview()
    with pytest.raises(KeyError, match="recorded"):
        bare.plot.window()


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


def test_figures_without_anything_in_them_say_why(dumbbell: tb.Scenario) -> None:
    bare = dumbbell.replace(record={"flows": "none", "links": "none"}).run()
    with pytest.raises(tb.NotFoundError, match=r"^no goodput was recorded after warm_up; expected record\.flows"):
        bare.plot.cdf("goodput")
    with pytest.raises(tb.NotFoundError, match=r"^nothing to compare: in no window were two recorded flows there"):
        bare.plot.fairness()
    base = tb.dumbbell(rate="2 Mbit/s", delay="5 ms", buffer="10 packets", duration="2 s")
    with pytest.raises(tb.NotFoundError, match=r"^nothing to compare"):
        base.with_flows(tb.flows(1, "reno")).run().plot.fairness()


@pytest.mark.parametrize("size", [20, 40])
def test_files_of_one_size_stand_where_they_are(size: int) -> None:
    """The mean of those of 40 kB differs from them in its last digit, and is no other size."""
    base = tb.dumbbell(rate="2 Mbit/s", delay="5 ms", buffer="10 packets", duration="5 s")
    files = {"name": "files", "size": f"{size} kB", "pause": "100 ms"}
    axis = base.with_flows(tb.flows(2, "reno", files)).run().plot.completion().axes[0]
    dots, *percentiles = axis.get_lines()
    assert set(np.asarray(dots.get_xdata())) == {size}
    assert [drawn.get_label() for drawn in percentiles] == ["median", "95th percentile", "99th percentile"]
    for steps in percentiles:
        assert np.asarray(steps.get_xdata()) == pytest.approx([size])
    least, most = axis.get_xlim()
    assert least < 0.9 * size
    assert most > 1.1 * size


def short_run(**fields: Any) -> tb.Result:
    """A run as in a data centre."""
    files = {"name": "files", "size": "20 kB", "pause": "50 us"}
    base = tb.dumbbell(
        rate="10 Gbit/s",
        delay="8 us",
        buffer="1 MB",
        access={"rate": "25 Gbit/s", "delay": "1 us"},
        **{
            "queue": {"name": "step", "threshold": "97.5 kB"},
            "duration": "20 ms",
            "warm_up": "5 ms",
            "record": {"bin": "50 us"},
            **fields,
        },
    )
    return base.with_flows(tb.flows(2, "dctcp"), tb.flows(1, "dctcp", files)).run()


@pytest.mark.parametrize(
    ("duration", "warm_up", "width", "unit"), [("20 ms", "5 ms", "50 us", "ms"), ("400 us", "100 us", "10 us", "µs")]
)
def test_short_runs_have_their_time_in_a_unit_that_suits_it(duration: str, warm_up: str, width: str, unit: str) -> None:
    result = short_run(duration=duration, warm_up=warm_up, record={"bin": width})
    for made in (result.plot.overview(), result.plot.rtt(), result.plot.queue()):
        axis = made.axes[-1]
        assert axis.get_xlabel() == f"time ({unit})"
        number, warm = float(duration.split(maxsplit=1)[0]), float(warm_up.split(maxsplit=1)[0])
        assert axis.get_xlim() == pytest.approx((0.0, number))
        assert np.asarray(axis.get_lines()[0].get_xdata())[-1] == pytest.approx(number)
        shade = axis.patches[0].get_extents().transformed(axis.transData.inverted())
        assert shade.x1 == pytest.approx(warm)
    assert result.duration == pytest.approx(float(duration.split(maxsplit=1)[0]) * {"ms": 1e-3, "µs": 1e-6}[unit])


def test_rates_of_short_runs_are_drawn_as_finely_as_they_are_rates() -> None:
    result = short_run()
    points = np.asarray(result.plot.throughput().axes[0].get_lines()[0].get_xdata())
    # Ten round trips of 20 µs, which are more than a hundred packets of 1.2 µs.
    assert points.size == 100
    slow = tb.dumbbell(rate="10 Mbit/s", delay="20 ms", duration="4 s", record={"bin": "10 ms"})
    points = np.asarray(slow.with_flows(tb.flows(1, "reno")).run().plot.throughput().axes[0].get_lines()[0].get_xdata())
    assert points.size == 40, "a tenth of a second each"


def test_completion_times_of_microseconds_are_drawn_in_them() -> None:
    result = short_run()
    axis = result.plot.completion().axes[0]
    assert axis.get_ylabel() == "completion time (µs)"
    times = result.counted_messages()["completion_time"].to_numpy() * 1e6
    assert np.sort(np.asarray(axis.get_lines()[0].get_ydata())) == pytest.approx(np.sort(times))
    assert np.asarray(axis.get_lines()[1].get_ydata()).max() <= times.max()


def test_delays_of_queues_below_a_millisecond_are_drawn_in_microseconds() -> None:
    result = short_run(queue="dualpi2", record={"bin": "50 us", "queue_state": True})
    panels = {axis.get_ylabel(): axis for axis in result.plot.overview().axes}
    axis = panels["queue's delay (µs)"]
    highest = max(float(np.max(np.asarray(line.get_ydata()), initial=0.0)) for line in axis.get_lines())
    assert 1.0 < highest < 1000.0


def test_fairness_of_a_short_run_is_told_in_the_units_of_its_windows() -> None:
    axis = short_run().plot.fairness().axes[0]
    assert axis.get_xlabel() == "time (ms)"
    assert axis.get_xlim() == pytest.approx((0.0, 20.0))
    labels = [str(line.get_label()) for line in axis.get_lines()]
    assert labels == ["in windows of 0.05 ms", "in windows of 0.25 ms", "in windows of 1 ms"]
    assert np.asarray(axis.get_lines()[0].get_xdata()).max() == pytest.approx(20.0)
