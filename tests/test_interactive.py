"""Figures taken over for plotly.js: the same points, axes and names, in what its own schema accepts."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from tailback.plot import figure, save, style
from tailback.report.figure import drawn, script_safe, shown, take_over
from tailback.report.interactive import interactive, legend_note
from tailback.report.marks import marked
from tailback.report.packed import packed, unpacked


def made(*, rows: int = 1, **layout: Any) -> tuple[Figure, list[Axes]]:
    with style():
        return figure(rows, **layout)


def taken(one: Figure) -> dict[str, Any]:
    """The figure for plotly.js, accepted by plotly's schema and by JSON."""
    plot = interactive(one)
    assert plot is not None
    json.dumps(plot, allow_nan=False)
    go.Figure(data=plot["data"], layout=plot["layout"])
    return plot


def test_lines_keep_points_gaps_and_steps() -> None:
    one, (axis,) = made()
    axis.plot([1, 2, 3], [4.0, math.nan, 6.0], label="a", drawstyle="steps-post", linestyle="--", color="#123456")
    axis.plot([1, 2], [0, 1], label="_hidden", marker="s", linestyle="none")
    axis.legend()
    first, second = taken(one)["data"]
    assert (first["x"], first["y"]) == ([1, 2, 3], [4, None, 6])
    assert (first["name"], first["showlegend"], second["showlegend"]) == ("a", True, False)
    assert first["line"]["shape"] == "hv"
    assert first["line"]["color"] == "#123456"
    assert first["line"]["dash"]
    assert (second["mode"], second["marker"]["symbol"]) == ("markers", "square")


def test_a_figure_that_was_saved_has_its_notes_where_it_has_them_laid_out_anew(tmp_path: Path) -> None:
    """An SVG is drawn with other letters, and 72 of its units are an inch."""
    one, (axis,) = made()
    axis.plot([1, 2], [3, 4])
    axis.text(0.9, 0.9, "of the panel", transform=axis.transAxes, ha="right", va="top")
    axis.text(1.2, 3.1, "of data,\nin two lines")
    axis.annotate("beside a corner", (1, 1), xycoords="axes fraction", xytext=(-6, 4), textcoords="offset points")
    save(one, tmp_path / "one.svg")
    there = interactive(one, laid_out=True)
    anew = interactive(one)
    assert there is not None
    assert anew is not None
    for note, other in zip(there["layout"]["annotations"], anew["layout"]["annotations"], strict=True):
        assert (note["text"], note["x"], note["y"]) == (
            other["text"],
            pytest.approx(other["x"], abs=0.002),
            pytest.approx(other["y"], abs=0.002),
        )
        assert (note.get("xshift"), note.get("yshift")) == (other.get("xshift"), other.get("yshift"))
    assert {**there["layout"], "annotations": []} == {**anew["layout"], "annotations": []}


def test_intervals_are_told_with_their_values() -> None:
    one, (axis,) = made()
    axis.errorbar([1, 2, 3], [10, 20, 30], yerr=[1, math.nan, 3], label="mean")
    (trace,) = taken(one)["data"]
    assert trace["error_y"]["array"] == [1, None, 3]
    table = drawn(take_over(one))
    assert table["low"].to_list() == [9, None, 27]
    assert table["high"].to_list() == [11, None, 33]


@pytest.mark.parametrize(("scale", "foot"), [("linear", 0.0), ("log", 0.1)])
def test_bars_stand_on_something(scale: str, foot: float) -> None:
    one, (axis,) = made()
    axis.bar([1, 2], [1, 10], width=0.5)
    axis.set_yscale(scale)
    axis.set_ylim(foot, 20)
    (trace,) = taken(one)["data"]
    assert trace["base"] == [foot, foot]
    np.testing.assert_allclose(np.add(trace["base"], trace["y"]), [1, 10])


def test_areas_spans_and_segments() -> None:
    one, (axis,) = made()
    axis.fill_between([0, 1], [0, 0], [1, 1], alpha=0.5)
    axis.add_patch(Ellipse((1, 1), 2, 1))
    axis.vlines([1, 2], 0, 1)
    axis.axhline(0.5)
    axis.axvspan(0, 1)
    axis.scatter([0, 1], [1, 2], c=[5, 6], cmap="viridis")
    plot = taken(one)
    assert len(plot["data"]) == 4
    ellipse = next(trace for trace in plot["data"] if len(trace["x"]) > 20)
    assert (min(ellipse["x"]), max(ellipse["x"])) == pytest.approx((0, 2), abs=0.02)
    assert {shape["type"] for shape in plot["layout"]["shapes"]} == {"line", "rect"}
    assert all("domain" in shape["xref"] + shape["yref"] for shape in plot["layout"]["shapes"])


def test_a_band_of_nothing_but_gaps_is_left_out() -> None:
    one, (axis,) = made()
    axis.plot([1, 2], [1, 2])
    axis.fill_between([1, 2], [math.nan, math.nan], [math.nan, math.nan])
    assert len(taken(one)["data"]) == 1


def test_cells_and_their_names() -> None:
    one, (axis,) = made()
    axis.pcolormesh([-0.5, 0.5, 1.5], [-0.5, 0.5], np.array([[3.0, 4.0]]))
    axis.set_xticks([0, 1], ["left", "right"])
    axis.text(0, 0, "3")
    plot = taken(one)
    assert plot["data"][0]["z"] == [[3, 4]]
    assert plot["layout"]["xaxis"]["ticktext"] == ["left", "right"]
    assert (plot["layout"]["annotations"][0]["text"], plot["layout"]["annotations"][0]["x"]) == ("3", 0)
    assert drawn(take_over(one)).select("x", "value").rows() == [("left", 3.0), ("right", 4.0)]


def test_notes_stand_where_they_were_put_to_the_last_bit() -> None:
    one, (axis,) = made()
    axis.set_xlim(0.1, 0.7)
    places = [(0.1 * number, 0.3 * number) for number in range(1, 7)]
    for place in places:
        axis.text(*place, "here")
        axis.annotate("there", place)
    notes = taken(one)["layout"]["annotations"]
    assert [(note["x"], note["y"]) for note in notes] == [place for place in places for _ in range(2)]


def test_axes_keep_scale_direction_and_links() -> None:
    one, (top, bottom) = made(rows=2, sharex=True)
    top.plot([1, 10], [1, 2])
    bottom.plot([1, 10], [1, 100])
    bottom.set_xscale("log")
    bottom.set_xlim(10, 1)
    bottom.set_xlabel("time (s)")
    top.set_ylabel("a (b)")
    layout = taken(one)["layout"]
    assert layout["xaxis2"]["type"] == "log"
    assert layout["xaxis2"]["range"] == [1, 0]
    assert layout["xaxis2"]["matches"] == "x"
    assert layout["xaxis"]["showticklabels"] is False
    assert set(drawn(take_over(one))["x_axis"]) == {"time (s)"}


def test_what_has_no_counterpart_stays_a_picture() -> None:
    one, (axis,) = made()
    axis.imshow([[1, 2], [3, 4]])
    assert interactive(one) is None
    assert drawn(take_over(one)).is_empty()
    one, (axis,) = made()
    axis.set_xscale("symlog")
    assert interactive(one) is None


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a < b & c", "a &lt; b &amp; c"),
        (r"throughput $\gamma_k/\mu$", "throughput γ<sub>k</sub>/μ"),
        ("$z^2-z+\\alpha$", "z<sup>2</sup>−z+α"),
        (r"estimate $\hat{n}_b$", "estimate n<sub>b</sub>"),
        ("two\nlines", "two<br>lines"),
        (r"5 \$", "5 $"),
    ],
)
def test_labels(text: str, html: str) -> None:
    assert marked(text) == html


def test_legend_titles_go_below() -> None:
    one, (axis,) = made()
    axis.plot([0, 1], [0, 1], label="a")
    axis.legend(title="marks: here\nlines: there")
    assert legend_note(one) == "marks: here, lines: there"


def test_packing_is_lossless_repeatable_and_safe_in_a_page() -> None:
    text = "é</script>" * 100
    assert unpacked(packed(text)) == text
    assert packed(text) == packed(text)
    assert json.loads(script_safe(json.dumps({"a": "</script><!--"}))) == {"a": "</script><!--"}
    assert "</script>" not in script_safe(json.dumps("</script>"))


@pytest.mark.parametrize(
    ("instead", "said"),
    [
        (KeyError("xaxis"), "(KeyError: 'xaxis')"),
        ({"data": [float("nan")], "layout": {}}, "(ValueError: "),
        ({"data": [object()], "layout": {}}, "(TypeError: "),
    ],
)
def test_a_figure_that_cannot_be_taken_over_is_a_picture_with_a_word(
    instead: Exception | dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Any, **__: Any) -> Any:
        if isinstance(instead, Exception):
            raise instead
        return instead

    one, (axis,) = made()
    axis.plot([0, 1], [0, 1])
    save(one, tmp_path / "one.svg")
    monkeypatch.setattr("tailback.report.figure.interactive", broken)
    told = shown(one, tmp_path / "one.svg", tmp_path, name="one", title="One", data=[])
    assert told.plot == ""
    assert "<svg" in told.picture
    assert told.note.startswith("this figure cannot be shown interactively " + said)
    assert told.note.endswith("; the picture is whole")
