"""Axes of figures: quantities to scale, ends where values can be, and labels and notes that lie on nothing else."""

from __future__ import annotations

import polars as pl
import pytest
from matplotlib.text import Text

import tailback as tb
from tailback.plot import figure, series
from tailback.plot.along import along
from tests.plot.drawing import lay_out, short_sweep


@pytest.mark.parametrize(
    ("values", "places", "label"),
    [
        (["10 packets", "40 packets"], [10, 40], "field (packets)"),
        (["500 kbit/s", "2 Mbit/s"], [0.5, 2], "field (Mbit/s)"),
        (["4 reno", "16 reno"], [4, 16], "field (reno)"),
        (["8 us", "40 us"], [8, 40], "field (µs)"),
        (["500 ns", "2 us"], [0.5, 2], "field (µs)"),
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


def test_long_labels_stay_beside_their_panel(runs: tb.Runs) -> None:
    made = runs.plot.over("buffer", "queueing_delay_p95", "goodput")
    made.draw_without_rendering()
    high, low = (axis.yaxis.label.get_window_extent() for axis in made.axes)
    assert low.y1 < high.y0


def test_what_each_mark_stands_for_does_not_cross_the_note_beside_it() -> None:
    runs = short_sweep(
        "reno", "cubic", rate=["1 Mbit/s", "2 Mbit/s"], delay=["5 ms", "10 ms"], buffer=["4 kB", "10 packets"]
    )
    made = runs.plot.throughput_delay(by="scheme")
    lay_out(made)
    words, note = (
        next(text for text in made.findobj(Text) if said in text.get_text()) for said in ("each mark", "better")
    )
    assert words.get_text().endswith("\n"), "the note stands on the last line"
    assert words.get_window_extent().x1 <= made.bbox.x1
    short = runs.plot.throughput_delay(by=["scheme", "rate", "delay"])
    lay_out(short)
    words = next(text for text in short.findobj(Text) if "each mark" in text.get_text())
    assert "\n" not in words.get_text()
    assert words.get_window_extent().x1 < note.get_window_extent().x0
    distribution = runs.plot.cdf(by="scheme")
    lay_out(distribution)
    words = next(text for text in distribution.findobj(Text) if "each line" in text.get_text())
    assert words.get_window_extent().x1 <= distribution.bbox.x1


def test_a_number_stays_with_its_unit_where_a_line_breaks() -> None:
    axis = figure()[1][0]
    series.head(axis, ", ".join(f"{rate} Mbit/s" for rate in range(60)), right="more")
    lines = axis.get_title(loc="left").splitlines()
    assert len(lines) > 4
    assert all(line.endswith("/s,") for line in lines[:-2])


def test_the_line_of_the_fair_share_is_not_the_edge_of_its_panel() -> None:
    base = tb.dumbbell(rate="2 Mbit/s", delay="5 ms", buffer="10 packets", duration="1 s")
    alone = base.with_flows(tb.flows(1, "reno"))
    runs = alone.sweep(buffer=["10 packets", "20 packets"], seeds=1, jobs=1, cache=False, progress=False)
    low, high = runs.plot.share().axes[0].get_ylim()
    assert low == 0.0
    assert high == pytest.approx(1.1)


def test_an_axis_of_parts_ends_where_they_do() -> None:
    """Of two seeds, intervals by Student's t are many times as wide as what is between them."""
    runs = short_sweep("reno", "cubic", buffer=["2 packets", "20 packets"], seeds=2)
    assert (runs.intervals("jain").select(pl.col("mean") + pl.col("half_width")).to_series() > 1.1).any()
    jain, used = runs.plot.over("buffer", "jain", "utilization", by="scheme").axes
    assert 0.0 <= jain.get_ylim()[0] < jain.get_ylim()[1] <= 1.05
    assert 0.0 <= used.get_ylim()[0] < used.get_ylim()[1] <= 105.0
