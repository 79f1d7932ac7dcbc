"""What pages do in a real browser, on a phone's width too. Without a browser these tests are left out. How figures become
interactive is tested in ``test_interactive.py``."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tailback as tb
from tests.browser import Browser, needs_browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests here."""
    with Browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@needs_browser
@pytest.mark.parametrize(("width", "dark"), [(390, True), (1200, False)], ids=["a phone, dark", "a screen, light"])
def test_fits_the_screen_without_complaints_or_a_network(
    any_page: Path, browser: Browser, width: int, dark: bool
) -> None:
    browser.open(any_page, width=width, dark=dark)
    cut = "return [...document.querySelectorAll('.scroll, .still')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"
    if width < 600:  # A wide table may be pushed aside where there is a mouse to do so.
        assert browser.run(cut) == 0
    drawn = browser.draw_all()
    wide, figures, least, most = browser.run(
        """const boxes = [...document.querySelectorAll('figure .plot .main-svg')].map((e) => e.getBoundingClientRect());
        const widths = boxes.map((box) => box.width);
        return [document.documentElement.scrollWidth, document.querySelectorAll('figure').length,
                Math.min(...widths), Math.max(...widths)];"""
    )
    assert wide <= width
    assert drawn == figures > 0
    assert 0.75 * min(width, 900) <= least <= most <= width
    assert browser.complaints == []
    assert any_page.resolve().as_uri() in browser.asked
    assert [address for address in browser.asked if not address.startswith(("file:", "data:", "blob:"))] == []
    titles = browser.run("return [...document.querySelectorAll('.modebar-btn')].map((b) => b.dataset.title ?? '')")
    assert not [title for title in titles if "cloud" in title.lower() or "plotly" in title.lower()]


@needs_browser
def test_long_names_and_notes_are_whole_on_a_phone(tmp_path: Path, browser: Browser) -> None:
    """What tells flows apart may stand at the end of their names."""
    base = tb.dumbbell(rate="2 Mbit/s", delay="5 ms", buffer="10 packets", duration="1 s")
    name = "a-flow-with-a-name-as-long-as-people-write-them"
    both = base.with_flows(*(tb.flows(1, "reno", name=f"{name}-{number}") for number in (1, 2)))
    axes: dict[str, Any] = {"queue": ["drop-tail", "codel"], "buffer": [f"{size} packets" for size in (5, 10, 20)]}
    runs = both.sweep(**axes, seeds=1, jobs=1, cache=False, progress=False)
    browser.open(runs.report(tmp_path / "report"), width=390)
    assert browser.draw_all() >= 4
    entries, notes, cut = browser.run(
        """const texts = (what) => [...document.querySelectorAll(`figure .plot ${what}`)];
        const legend = texts('.legendtext'), notes = texts('.annotation-text');
        const right = document.querySelector('figure .plot .main-svg').getBoundingClientRect().right;
        const cut = [...legend, ...notes].filter((each) => each.getBoundingClientRect().right > right + 1);
        return [legend.map((e) => e.textContent), notes.map((e) => e.textContent), cut.map((e) => e.textContent)];"""
    )
    assert cut == []
    assert {f"{name}-1", f"{name}-2"} <= {entry.split(",")[0] for entry in entries}
    assert any("each line: all values of buffer" in note for note in notes)


@needs_browser
def test_figures_answer_and_give_their_data_when_alone(sweep: Path, browser: Browser, tmp_path: Path) -> None:
    alone = tmp_path / "passed-on.html"
    shutil.copy(sweep, alone)
    browser.open(alone)
    assert browser.draw_all() >= 5
    traces, saved, picture = browser.run(
        """const plot = document.querySelector('#throughput-delay .plot');
        const saved = {};
        const make = URL.createObjectURL;
        let made; URL.createObjectURL = (blob) => { made = blob; return make(blob); };
        const click = async (link) => {
          made = undefined; link.click();
          for (let wait = 0; !made && wait < 100; wait += 1) await new Promise((ready) => setTimeout(ready, 10));
          return made.text();
        };
        for (const link of document.querySelectorAll('a[data-packed]')) {
          saved[link.getAttribute('href')] = await click(link);
        }
        return [plot.data.map((trace) => [trace.name, trace.type]), saved, await click(document.querySelector('a.svg'))];"""
    )
    assert {kind for _, kind in traces} == {"scatter"}
    assert sum(name.startswith(("reno", "cubic")) for name, _ in traces) >= 8
    assert picture.startswith("<svg")
    assert "</svg>" in picture
    for name, text in saved.items():
        assert text == (sweep.parent / name).read_text(encoding="utf-8"), name
    cells = pl.read_csv(io.StringIO(saved["heatmap.csv"]))
    assert cells.filter(pl.col("kind") == "cell").height == 4
    shown = pl.read_csv(io.StringIO(saved["over-buffer.csv"]))
    assert {"5 packets", "20 packets"} <= {str(value) for value in shown["x"]} or shown["x"].n_unique() == 2
    assert (shown["low"] <= shown["high"]).all()


@needs_browser
def test_pictures_stand_in_print_and_without_scripts(sweep: Path, browser: Browser, tmp_path: Path) -> None:
    browser.open(sweep)
    browser.draw_all()
    seen = "const shown = (what) => getComputedStyle(document.querySelector(what)).display !== 'none';"
    seen += "return [shown('figure .still'), shown('figure .plot')]"
    assert browser.run(seen) == [False, True]
    browser.print_like()
    assert browser.run(seen) == [True, False]
    browser.print(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").stat().st_size > 20_000
    assert sweep.read_text(encoding="utf-8").count('<div class="plot" hidden>') >= 5  # Until a script shows it.


@needs_browser
def test_letters_of_pictures_can_be_read_on_a_phone_without_scripts(any_page: Path, browser: Browser) -> None:
    browser.open(any_page, width=390, scripts=False)
    letters, page, pushed = browser.run(
        """const pictures = [...document.querySelectorAll('figure .still svg')];
        const scales = pictures.map((one) => one.getBoundingClientRect().width / one.viewBox.baseVal.width);
        return [8.5 * Math.min(...scales), document.documentElement.scrollWidth,
                pictures.every((one) => one.parentElement.scrollWidth > one.parentElement.clientWidth)];"""
    )
    assert letters >= 10.0, "numbers at axes have 8.5 units of a picture; here in pixels"
    assert page <= 390
    assert pushed


@needs_browser
def test_search_finds_and_hides(page: Path, browser: Browser) -> None:
    script = """
        const search = document.getElementById('search');
        const shown = () => [...document.querySelectorAll('article')].filter((a) => !a.hidden).map((a) => a.id);
        const found = {};
        for (const words of ['', 'M/M/1/n', 'eq-1 SACK', 'utilization burstiness', 'nowhere']) {
          search.value = words; search.dispatchEvent(new Event('input')); found[words] = shown();
        }
        found.planned = [...document.querySelectorAll('#planned details')].filter((d) => !d.hidden).length;
        return found;
    """
    browser.open(page)
    found = browser.run(script)
    assert found[""] == ["mtsc/fig-5", "pcc/eq-1", "tdqm/fig-6"]
    assert found["M/M/1/n"] == ["mtsc/fig-5"]
    assert found["eq-1 SACK"] == ["pcc/eq-1"]
    assert found["nowhere"] == []
    assert found["planned"] == 0


@needs_browser
@pytest.mark.parametrize("width", [390, 1200])
def test_search_in_a_sweep(sweep: Path, browser: Browser, width: int) -> None:
    browser.open(sweep, width=width)
    found = browser.run(
        """const search = document.getElementById('search');
        search.value = 'heatmap'; search.dispatchEvent(new Event('input'));
        return [...document.querySelectorAll('article')].filter((a) => !a.hidden).map((a) => a.id);"""
    )
    assert found == ["heatmap"]


@needs_browser
def test_dark_and_light(page: Path, browser: Browser) -> None:
    script = """
        const style = (what) => getComputedStyle(document.querySelector(what));
        const look = () => [style('body').backgroundColor, style('figure .still svg').color,
                            document.querySelector('figure .plot').layout?.font.color];
        const light = look();
        document.getElementById('theme').click();
        for (let wait = 0; look()[2] === light[2] && wait < 400; wait += 1) {
          await new Promise((ready) => setTimeout(ready, 25));  // Figures are drawn anew.
        }
        return [light, look()];
    """
    browser.open(page)
    browser.draw_all()
    light, dark = browser.run(script)
    assert light[0] != dark[0]
    assert light[1] != dark[1]  # The picture's text follows,
    assert light[2] != dark[2]  # and that of the interactive figure.


@needs_browser
@pytest.mark.parametrize("width", [400, 1200])
def test_a_heat_map_of_several_panels_fits_the_screen(four_axes_page: Path, browser: Browser, width: int) -> None:
    browser.open(four_axes_page, width=width)
    browser.draw_all()
    seen = browser.run(
        """const plot = document.querySelector('#heatmap .plot');
        return [plot.data.map((trace) => trace.type), document.documentElement.scrollWidth];"""
    )
    assert seen[0] == ["heatmap", "heatmap"]
    assert seen[1] <= width
    assert browser.complaints == []


@needs_browser
@pytest.mark.usefixtures("one_figure")
def test_on_a_phone_a_row_that_begins_with_a_value_has_its_name(browser: Browser, tmp_path: Path) -> None:
    base = tb.dumbbell(rate="5 Mbit/s", delay="5 ms", duration="2 s").with_flows(tb.flows(2, "reno"))
    browser.open(base.sweep(seeds=2).report(tmp_path / "plain"), width=390)
    first = "return getComputedStyle(document.querySelector('.stacked td:first-child'), '::before').content"
    assert browser.run(first) == '"goodput (Mbit/s)"'
    browser.open(base.sweep(buffer=["5 packets", "10 packets"], seeds=2).report(tmp_path / "swept"), width=390)
    assert browser.run(first) == "none", "a swept value says itself what the row is about"


SCHEMES, QUEUES = ["reno", "cubic", "vegas", "illinois"], ["drop-tail", "codel", "pie", "red"]


@pytest.fixture(scope="module")
def told_twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a sweep over two fields, which colours and marks tell apart."""
    base = tb.dumbbell(rate="2 Mbit/s", delay="5 ms", buffer="10 packets", duration="1 s").with_flows(
        tb.flows(1, "reno")
    )
    runs = base.sweep(scheme=SCHEMES, queue=QUEUES, seeds=1, jobs=1, cache=False, progress=False)
    return runs.report(tmp_path_factory.mktemp("both"))


@needs_browser
@pytest.mark.parametrize("width", [390, 1200])
def test_marks_are_told_below_colours_and_not_among_them(browser: Browser, told_twice: Path, width: int) -> None:
    browser.open(told_twice, width=width)
    browser.draw_all(most=1)
    found: list[tuple[str, float, float]] = browser.run(
        """const plot = document.querySelector('figure[data-plot] .plot');
        const entries = [...plot.querySelectorAll('.legendtext, .legend2text')];
        const panel = plot.querySelector('.nsewdrag').getBoundingClientRect();
        const boxes = entries.map((entry) => [entry.textContent, entry.getBoundingClientRect()]);
        return [['panel', panel.top, panel.bottom], ...boxes.map(([name, box]) => [name, box.top, box.bottom])];"""
    )
    edges = {name: (top, bottom) for name, top, bottom in found}
    assert list(edges) == ["panel", *SCHEMES, *QUEUES]
    assert max(edges[name][1] for name in SCHEMES) < min(edges[name][0] for name in QUEUES)
    assert max(edges[name][1] for name in QUEUES) < edges["panel"][0]
    assert edges["panel"][1] - edges["panel"][0] > 150
