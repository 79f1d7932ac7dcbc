"""What the pages of reports say, and that they ask no network for anything."""

from __future__ import annotations

import re
import warnings
from html import unescape
from pathlib import Path

import pytest

import tailback as tb
from tailback.errors import TailbackWarning
from tailback.plot.heatmap import ON_DARK, ON_LIGHT
from tailback.report.packed import unpacked
from tailback.report.svg import inlined


def test_no_page_names_a_network_address(any_page: Path) -> None:
    text = any_page.read_text(encoding="utf-8")
    outside = re.findall(r"""(?:src|href|action|data)\s*=\s*["']?\s*((?:https?:)?//[^"'\s>]+)""", text)
    assert outside == []
    assert "default-src 'none'" in text  # The browser would refuse besides.
    assert re.findall(r"url\(\s*['\"]?(?!#)", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)) == []
    # The library is inside, once, and is plotly's own.
    (library,) = re.findall(r'data-packed="plotly">([^<]+)<', text)
    assert unpacked(library).startswith("/**\n* plotly.js v")


def test_words_over_lines_keep_their_ground() -> None:
    svg = '<svg width="1"><path style="fill: #ffffff"/><path style="fill: #ffffff; opacity: 0.85"/></svg>'
    assert 'style="fill: none"/><path style="fill: var(--card); opacity: 0.85"' in inlined(svg, "x")


def test_numbers_in_cells_keep_their_colours(sweep: Path) -> None:
    text = sweep.read_text(encoding="utf-8")
    picture = text[text.index('id="heatmap"') :].partition("</svg>")[0]
    assert ON_DARK in picture
    assert ON_LIGHT in picture


def test_links_lead_to_files_of_the_folder(any_page: Path) -> None:
    links = [unescape(link) for link in re.findall(r'<a [^>]*\bhref="([^"]*)"', any_page.read_text(encoding="utf-8"))]
    assert links
    for link in links:
        assert link.startswith("#") or (any_page.parent / link).exists(), link


@pytest.mark.usefixtures("one_figure")
def test_tables_say_what_they_leave_out(tmp_path: Path) -> None:
    base = tb.dumbbell(rate="50 Mbit/s", delay="10 ms", duration="1 s")
    text = base.with_flows(tb.flows(41, "reno")).run().report(tmp_path / "one").read_text(encoding="utf-8")
    assert "The first 40 of 41 rows; all are in the data." in text
    many = base.with_flows(tb.flows(1, "reno")).sweep(
        buffer=[f"{n} packets" for n in range(5, 46)], cache=False, jobs=1
    )
    text = many.report(tmp_path / "many").read_text(encoding="utf-8")
    assert "Written out are the first 40 of 41 scenarios" in text


def test_says_what_matters(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "<strong>1</strong> of 3 claims reproduced, 1 not reproduced, 1 could not run." in text
    assert "a test &lt;with&gt; signs" in text
    assert "because &amp; only because" in text
    assert "(20 in all)" in text
    assert "<strong>1</strong> of 2 figures within their tolerance" in text
    assert "packet-pair/table-7" in text
    assert "1 stated, 1 inferred" in text


@pytest.mark.usefixtures("one_figure")
def test_a_metric_has_one_unit_in_all_tables_of_a_page(tmp_path: Path) -> None:
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", duration="4 s").with_flows(
        tb.flows(2, "reno"), tb.flows(2, "cubic", name="web")
    )
    runs = base.sweep(scheme=["reno", "newreno"], seeds=3, cache=False, jobs=1)
    text = runs.report(tmp_path).read_text(encoding="utf-8")
    heads = re.findall(r"<th[^>]*>([a-z0-9 ]+) <span class=\"muted\">\(([^)]+)\)</span></th>", text)
    units: dict[str, set[str]] = {}
    for metric, unit in heads:
        units.setdefault(metric, set()).add(unit)
    assert len(heads) > len(units), "several tables"
    assert all(len(found) == 1 for found in units.values()), units
    assert "flows 1" in text


@pytest.mark.usefixtures("one_figure")
def test_intervals_beyond_a_bound_are_told(tmp_path: Path) -> None:
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", duration="3 s").with_flows(
        tb.flows(4, "cubic", start={"from": "0 s", "to": "1 s"})
    )
    runs = base.sweep(seeds=2, cache=False, jobs=1)
    found = runs.intervals("jain")
    assert found["high"][0] > 1.0
    assert "beyond 1 of Jain" in runs.report(tmp_path).read_text(encoding="utf-8")


@pytest.mark.parametrize(("source", "duration", "figures"), [("bulk", "0.5 s", True), ("surge", "1 s", False)])
def test_a_page_of_a_run_too_short_for_windows_or_messages(
    source: str, duration: str, figures: bool, tmp_path: Path
) -> None:
    """Runs shorter than a second, and those in which nobody has received anything yet, have a page like others."""
    base = tb.dumbbell(rate="1 Mbit/s", delay="5 ms", buffer="10 packets", duration=duration)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TailbackWarning)
        result = base.with_flows(tb.flows(3, "cubic", source=source)).run()
    assert (result.flows["goodput_bytes"].sum() > 0) is figures
    page = result.report(tmp_path / "page").read_text(encoding="utf-8")
    assert ('id="fairness"' in page) is figures
