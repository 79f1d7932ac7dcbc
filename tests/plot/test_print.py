"""Figures are fit for print: vectors, the same bytes for the same figure, readable in grey, in a size that users may choose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import tailback as tb
from tailback.plot import save
from tailback.plot.style import COLOURS, PAPER, Drawing, style
from tailback.report.svg import inlined


def test_notebooks_show_figures(result: tb.Result) -> None:
    assert result.plot.queue()._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]  # Of ours.


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_files_are_equal_for_equal_figures(result: tb.Result, tmp_path: Path, kind: str) -> None:
    for name in ("a", "b"):
        save(result.plot.queue(), tmp_path / f"{name}.{kind}")
    first, second = ((tmp_path / f"{name}.{kind}").read_bytes() for name in ("a", "b"))
    assert first == second
    assert len(first) > 1000


@pytest.mark.parametrize("name", ["throughput_delay", "over", "cdf", "fairness", "heatmap", "share"])
def test_figures_of_sweeps_are_vectors_with_units(runs: tb.Runs, tmp_path: Path, name: str) -> None:
    made = getattr(runs.plot, name)()
    save(made, tmp_path / "figure.svg")
    assert "<image" not in (tmp_path / "figure.svg").read_text(encoding="utf-8")
    plain = {"", "queue", "buffer", "Jain's index", "part of the flows", "goodput / fair share"}
    for axis in made.axes:
        for label in (axis.get_xlabel(), axis.get_ylabel()):
            assert label in plain or label.endswith(")"), label


@pytest.mark.parametrize("name", ["overview", "phase", "cdf", "fairness"])
def test_figures_of_results_are_vectors(result: tb.Result, tmp_path: Path, name: str) -> None:
    save(getattr(result.plot, name)(), tmp_path / "figure.svg")
    assert "<image" not in (tmp_path / "figure.svg").read_text(encoding="utf-8")


def test_marks_tell_two_axes_apart_in_grey_too(runs: tb.Runs) -> None:
    axis = runs.plot.throughput_delay(by=["queue", "buffer"]).axes[0]
    named = [line for line in axis.get_lines() if not str(line.get_label()).startswith("_")]
    hollow = {line.get_color(): line.get_markerfacecolor() == PAPER for line in named}
    assert sorted(hollow.values()) == [False, True]


def test_other_endings_are_refused(result: tb.Result, tmp_path: Path) -> None:
    with pytest.raises(tb.StorageError, match=r"\.svg, \.png, \.pdf"):
        save(result.plot.queue(), str(tmp_path / "figure.bmp"))


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


def test_inlined_figures_follow_the_page(result: tb.Result, tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    save(result.plot.queue(), file)
    inside = inlined(file.read_text(), "queue <of> A & B")
    assert inside.startswith("<svg")
    assert "currentColor" in inside
    assert "<title>queue &lt;of> A &amp; B</title>" in inside
    assert "fill: #ffffff" not in inside
    assert "<?xml" not in inside
