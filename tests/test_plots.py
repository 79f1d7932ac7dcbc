"""Figures: what they show, and that they are fit for print."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

import tailback as tb
from tailback.plot import save
from tailback.plot.overtime import thinned
from tailback.plot.style import COLOURS, style
from tailback.report.svg import inlined


def test_overview_shows_all_four_with_units(result: tb.Result) -> None:
    axes = result.plot.overview().axes
    labels = [axis.get_ylabel() for axis in axes]
    assert labels == ["goodput (Mbit/s)", "queue (packets)", "window (kB)", "round trip time (ms)"]
    assert axes[-1].get_xlabel() == "time (s)"
    drawn = axes[0].get_lines()[0]
    assert np.asarray(drawn.get_ydata(), dtype=float).mean() * 1e6 == pytest.approx(
        result.series(flow="cubic-0")["goodput"].mean()
    )


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


def test_other_endings_are_refused(result: tb.Result, tmp_path: Path) -> None:
    with pytest.raises(tb.StorageError, match=r"\.svg, \.png, \.pdf"):
        save(result.plot.queue(), tmp_path / "figure.bmp")


def test_nothing_recorded_is_said(dumbbell: tb.Scenario) -> None:
    bare = dumbbell.replace(record={"flows": "none", "links": "none"}).run()
    with pytest.raises(KeyError, match="no time series"):
        bare.plot.overview()
    with pytest.raises(KeyError, match="recorded"):
        bare.plot.window()


def test_users_settings_are_left_alone() -> None:
    before = dict(mpl.rcParams)
    with style():
        assert mpl.rcParams["axes.grid"]
    assert dict(mpl.rcParams) == before


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
