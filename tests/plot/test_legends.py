"""Legends: how series are told apart and called, and how their entries stand."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

import tailback as tb
from tailback.plot import figure, series
from tailback.plot.style import style
from tailback.report.interactive import interactive
from tests.plot.drawing import lay_out, short_sweep


def test_marks_tell_two_axes_apart(runs: tb.Runs) -> None:
    axis = runs.plot.throughput_delay(by=["queue", "buffer"]).axes[0]
    named = [line for line in axis.get_lines() if not str(line.get_label()).startswith("_")]
    assert len({(line.get_color(), line.get_marker()) for line in named}) == len(named) == 6
    assert len({line.get_color() for line in named}) == 2


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
            lay_out(made)
            box = made.legends[0].get_window_extent()
            assert box.x1 <= made.bbox.x1
            assert len({round(text.get_window_extent().x0) for text in made.legends[0].get_texts()}) == columns


def _rows_of(made: Figure) -> list[list[str]]:
    """The legend's entries as they stand, from top to bottom and from left to right."""
    lay_out(made)
    rows: dict[int, list[tuple[float, str]]] = {}
    for text in made.legends[0].get_texts():
        box = text.get_window_extent()
        if text.get_text():
            rows.setdefault(-round(box.y0), []).append((box.x0, text.get_text()))
    return [[name for _, name in sorted(row)] for _, row in sorted(rows.items())]


def test_rows_of_a_legend_hold_colours_or_marks_and_not_both() -> None:
    schemes = ["reno", "cubic", "vegas", "illinois", "compound", "copa"]
    runs = short_sweep(*schemes, queue=["drop-tail", "codel", "pie"])
    made = runs.plot.throughput_delay()
    rows = _rows_of(made)
    assert [name for row in rows for name in row] == [*schemes, "drop-tail", "codel", "pie"]
    assert not any(set(row) & set(schemes) and set(row) - set(schemes) for row in rows), rows
    traces = interactive(made)
    assert traces is not None
    assert "" not in {trace["name"] for trace in traces["data"] if trace["showlegend"]}


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
