"""Reports: what their pages say, and what they do in a real browser, on a phone's width too. Without a browser the tests that need
one are left out. How figures become interactive is tested in ``test_interactive.py``."""

from __future__ import annotations

import dataclasses
import io
import re
import shlex
import shutil
import warnings
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import tailback as tb
from tailback import cli
from tailback.errors import TailbackWarning
from tailback.papers import ledger
from tailback.papers.item import Check, Outcome, Parameter
from tailback.papers.reproduce import Verdict
from tailback.plot import figure, save, style
from tailback.plot.heatmap import ON_DARK, ON_LIGHT
from tailback.report import write_report
from tailback.report.again import result_command, run_command
from tailback.report.packed import unpacked
from tailback.report.svg import inlined
from tests.browser import Browser, needs_browser


class Still(tb.Controller):
    """A window that never moves."""

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """Nothing to do."""

    def directive(self) -> tb.Directive:
        """Ten thousand bytes."""
        return tb.Directive(window=10_000)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with one item that holds, one that does not, one that could not run, and a comparison."""
    out = tmp_path_factory.mktemp("report")
    with style():
        made, (axis,) = figure()
        axis.plot([0, 1, 2], [0, 1, 4])
        axis.set_xlabel("time (s)")
    save(made, out / "figure.svg")
    (out / "data.parquet").write_bytes(b"")
    (out / "data.csv").write_text("x\n1\n", encoding="utf-8")
    verdicts = []
    for index, claim in enumerate(ledger.select(["mtsc/fig-5", "pcc/eq-1"])):
        checks = [Check("a test <with> signs", "1.0 ± 0.1", "0.9 to 1.1", index == 0)]
        outcome = Outcome(
            measured={key.split("[")[0]: [0.123456] * 20 for key in claim.measure},
            checks=checks,
            data=pl.DataFrame({"x": [1]}),
            units={},
            why="because & only because",
            scenario='duration = "1 s"',
        )
        parameters = (Parameter("alpha", "1.05", "stated", "§1"), Parameter("n", "10", "inferred", "chosen"))
        verdicts.append(
            Verdict(
                claim,
                "quick",
                1.0,
                3,
                parameters,
                outcome,
                figure=out / "figure.svg",
                data=out / "data.parquet",
                drawn=made,
            )
        )
    broken = next(claim for claim in ledger.claims() if claim.id == "tdqm/fig-6")
    verdicts.append(Verdict(broken, "quick", error="not yet built"))
    row = {"setup": "dumbbell/sack", "quantity": "loss, %", "reference": "1", "measured": "2", "tolerance": "± 0.1"}
    return write_report(
        verdicts, out, [{**row, "agrees": True, "remark": ""}, {**row, "agrees": False, "remark": "so"}]
    )


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a small sweep with two axes and two groups of flows."""
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", duration="4 s", warm_up="1 s")
    mixed = base.with_flows(tb.flows(1, "reno"), tb.flows(1, "cubic"))
    axes: dict[str, Any] = {"buffer": ["5 packets", "20 packets"], "rate": ["2 Mbit/s", "5 Mbit/s"]}
    runs = mixed.sweep(**axes, seeds=3, jobs=1, cache=False, progress=False)
    return runs.report(tmp_path_factory.mktemp("sweep report with a blank"))


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory, result: tb.Result) -> Path:
    """The report of a single run."""
    return result.report(tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests here."""
    with Browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(params=["page", "sweep", "one"])
def any_page(request: pytest.FixtureRequest) -> Path:
    """Each kind of report."""
    found: Path = request.getfixturevalue(request.param)
    return found


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


def test_no_page_names_a_network_address(any_page: Path) -> None:
    text = any_page.read_text(encoding="utf-8")
    outside = re.findall(r"""(?:src|href|action|data)\s*=\s*["']?\s*((?:https?:)?//[^"'\s>]+)""", text)
    assert outside == []
    assert "default-src 'none'" in text  # The browser would refuse besides.
    assert re.findall(r"url\(\s*['\"]?(?!#)", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)) == []
    # The library is inside, once, and is plotly's own.
    (library,) = re.findall(r'data-packed="plotly">([^<]+)<', text)
    assert unpacked(library).startswith("/**\n* plotly.js v")


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


def test_words_over_lines_keep_their_ground() -> None:
    svg = '<svg width="1"><path style="fill: #ffffff"/><path style="fill: #ffffff; opacity: 0.85"/></svg>'
    assert 'style="fill: none"/><path style="fill: var(--card); opacity: 0.85"' in inlined(svg, "x")


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


def test_numbers_in_cells_keep_their_colours(sweep: Path) -> None:
    text = sweep.read_text(encoding="utf-8")
    picture = text[text.index('id="heatmap"') :].partition("</svg>")[0]
    assert ON_DARK in picture
    assert ON_LIGHT in picture


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


def test_links_lead_to_files_of_the_folder(any_page: Path) -> None:
    links = [unescape(link) for link in re.findall(r'<a [^>]*\bhref="([^"]*)"', any_page.read_text(encoding="utf-8"))]
    assert links
    for link in links:
        assert link.startswith("#") or (any_page.parent / link).exists(), link


def test_commands_draw_the_figures_again(sweep: Path, tmp_path: Path) -> None:
    commands = re.findall(r"<code>(tailback plot .*?)</code>", sweep.read_text(encoding="utf-8"))
    assert len(commands) >= 5
    for command in commands:
        words = shlex.split(unescape(command))[1:]
        done = CliRunner().invoke(cli.app, [*words, "--out", str(tmp_path)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    drawn = sorted(path.stem for path in tmp_path.glob("*.svg"))
    assert drawn == ["cdf", "heatmap", "over", "share", "throughput_delay"]
    again = (tmp_path / "heatmap.svg").read_text(encoding="utf-8")
    assert len(again) == pytest.approx(len((sweep.parent / "heatmap.svg").read_text(encoding="utf-8")), rel=0.01)


@pytest.fixture(scope="module")
def four_axes() -> tb.Runs:
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", duration="1 s").with_flows(tb.flows(1, "reno"))
    return base.sweep(
        scheme=["reno", "cubic"],
        delay=["5 ms", "20 ms"],
        rate=["2 Mbit/s", "5 Mbit/s", "8 Mbit/s"],
        buffer=["5 packets", "20 packets", "40 packets"],
        cache=False,
        jobs=1,
    )


@pytest.fixture(scope="module")
def four_axes_page(four_axes: tb.Runs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its report."""
    return four_axes.report(tmp_path_factory.mktemp("four axes"))


def test_a_sweep_over_four_fields_has_a_heat_map(four_axes: tb.Runs, four_axes_page: Path) -> None:
    text = four_axes_page.read_text(encoding="utf-8")
    assert "Goodput over rate and buffer" in text
    assert "A panel for each value of scheme, on one scale of colours." in text
    assert "Cells are means over delay (5 ms, 20 ms) too." in text
    cells = pl.read_csv(four_axes_page.parent / "heatmap.csv").filter(pl.col("kind") == "cell")
    assert cells.height == 2 * 3 * 3
    found = four_axes.table.filter(scheme="cubic", rate="5 Mbit/s", buffer="5 packets")["goodput"].mean()
    assert isinstance(found, float)
    assert float(f"{found / 1e6:.6g}") in cells["value"].to_list()


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


def test_the_heat_map_of_a_report_can_be_chosen(four_axes: tb.Runs, result: tb.Result, tmp_path: Path) -> None:
    def report(folder: Path, *options: str) -> str:
        words = ["report", str(folder), "--out", str(tmp_path / "page"), *options]
        done = CliRunner().invoke(cli.app, words, catch_exceptions=True)
        return done.output + (str(done.exception) if done.exception else "")

    four_axes.save(tmp_path / "runs")
    report(tmp_path / "runs", "--metric", "utilization", "--x", "delay", "--y", "scheme", "--by", "rate")
    text = unescape((tmp_path / "page" / "index.html").read_text(encoding="utf-8"))
    assert "Utilization over delay and scheme" in text
    assert "heatmap utilization delay scheme --set by=rate</code>" in text
    assert "Cells are means over buffer (5 packets to 40 packets) too." in text
    shutil.rmtree(tmp_path / "page")
    assert "dely: no such axis" in report(tmp_path / "runs", "--x", "dely")
    assert "god: no such metric" in report(tmp_path / "runs", "--metric", "god")
    result.save(tmp_path / "one")
    assert "--by: 'rate' is not allowed; expected nothing for a single run" in report(tmp_path / "one", "--by", "rate")
    assert not (tmp_path / "page").exists()
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", duration="1 s").with_flows(tb.flows(1, "reno"))
    alone = base.sweep(buffer=["5 packets", "6 packets"], cache=False, jobs=1)
    with pytest.raises(tb.TailbackError, match=r"x and y: .* is not allowed; expected two axes of the sweep"):
        alone.report(tmp_path / "page", metric="utilization")
    assert not (tmp_path / "page").exists()


def test_scenarios_run_alone(one: Path, tmp_path: Path, result: tb.Result) -> None:
    (toml,) = re.findall(r"<pre>(.*?)</pre></details>", one.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "scenario.toml").write_text(unescape(toml), encoding="utf-8")
    assert tb.Scenario.from_toml(tmp_path / "scenario.toml").run(seed=result.seed).hash == result.hash


def test_custom_parts_come_with_their_file() -> None:
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", duration="1 s")
    plain, custom = base.with_flows(tb.flows(1, "sack")), base.with_flows(tb.flows(1, Still.scheme()))
    assert run_command("a b.toml", 3, [plain, None]) == "tailback run 'a b.toml' --seed 3"
    assert run_command("a.toml", 3, [plain, custom]) == "tailback run a.toml --custom test_report.py --seed 3"


@pytest.mark.usefixtures("one_figure")
def test_a_run_with_real_packets_is_made_again_with_real_packets(result: tb.Result, tmp_path: Path) -> None:
    group = result.scenario.to_dict()["flows"][0]["name"]
    made = {"command": "lab", "kernel": {group: "cubic"}, "budget": "1 ms, 2 ms"}
    real = dataclasses.replace(result, real={"valid": True, "made": made})
    file = str(tmp_path / "result" / "scenario.toml")
    words = ["tailback", "lab", file, "--seed", str(result.seed)]
    words += ["--set", "flows[0].scheme=kernel-cubic", "--budget", "1 ms, 2 ms"]
    assert shlex.split(result_command(real, file)) == words
    text = unescape(real.report(tmp_path).read_text(encoding="utf-8"))
    assert shlex.join(words) in text
    assert "tailback run" not in text
    assert "With real packets" in text
    assert f"{group} by kernel-cubic" in text
    typed = ["tailback", "shell", "--rate", "5 Mbit/s", "--", "curl", "a b"]
    shell = dataclasses.replace(result, real={"made": {"command": "shell", "typed": typed}})
    assert shlex.split(result_command(shell, file)) == typed
    older: list[dict[str, Any]] = [{"made": {"command": "send"}}, {"valid": True}]  # The latter does not say.
    for said in older:
        assert result_command(dataclasses.replace(result, real=said), file) == ""


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
def test_a_report_writes_over_nothing_but_a_report(result: tb.Result, tmp_path: Path) -> None:
    runs = (
        tb.Scenario.model_validate(result.scenario.to_dict())
        .replace(duration="2 s", warm_up="0 s")
        .sweep(buffer=["5 packets"], seeds=1, progress=False)
    )
    (tmp_path / "flows.csv").write_text("mine\n", encoding="utf-8")
    for told in (result, runs):
        with pytest.raises(tb.StorageError, match="exists and holds something else; expected a new or empty folder"):
            told.report(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["flows.csv"]
    assert (tmp_path / "flows.csv").read_text(encoding="utf-8") == "mine\n"
    assert result.report(tmp_path / "one") == runs.report(tmp_path / "one")
    result.save(tmp_path / "kept")
    with pytest.raises(tb.StorageError, match="exists and holds something else"):  # It is ours, and no report.
        result.report(tmp_path / "kept")


def test_a_file_in_the_way_of_a_report_is_told(result: tb.Result, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(tb.StorageError, match="taken: cannot be written"):
        result.report(tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


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


@pytest.mark.usefixtures("one_figure")
def test_a_report_that_is_stopped_leaves_nothing_and_is_in_nobodys_way(
    result: tb.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tailback.report import sweep as pages

    runs = tb.dumbbell(rate="5 Mbit/s", delay="5 ms", duration="2 s").with_flows(tb.flows(2, "cubic")).sweep(seeds=2)

    def stopped(*_: object, **__: object) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(pages, "write_page", stopped)
        for one in (result, runs):
            with pytest.raises(KeyboardInterrupt):
                one.report(tmp_path / "page")
            assert list(tmp_path.iterdir()) == []
    for one, saved in ((result, "result"), (runs, "runs")):
        page = one.report(tmp_path / saved)
        assert page == tmp_path / saved / "index.html"
        # What draws a figure again names the place where the page lies, not where it was made.
        assert f"tailback plot {tmp_path / saved / saved} " in page.read_text(encoding="utf-8")
        assert tb.load(tmp_path / saved / saved) is not None
        (tmp_path / saved / "mine.txt").write_text("kept")
        one.report(tmp_path / saved)
        assert (tmp_path / saved / "mine.txt").read_text() == "kept"


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
