"""The report in a real browser, on a phone's width too; without one, these tests are left out."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tailback.papers import ledger
from tailback.papers.item import Check, Outcome, Parameter
from tailback.papers.reproduce import Verdict
from tailback.plot import figure, save, style
from tailback.report import write_report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --disable-quic --allow-file-access-from-files --virtual-time-budget=4000 --dump-dom"
)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


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
            Verdict(claim, "quick", 1.0, 3, parameters, outcome, figure=out / "figure.svg", data=out / "data.parquet")
        )
    broken = next(claim for claim in ledger.claims() if claim.id == "tdqm/fig-6")
    verdicts.append(Verdict(broken, "quick", error="not yet built"))
    row = {"setup": "dumbbell/sack", "quantity": "loss, %", "reference": "1", "measured": "2", "tolerance": "± 0.1"}
    return write_report(
        verdicts, out, [{**row, "agrees": True, "remark": ""}, {**row, "agrees": False, "remark": "so"}]
    )


def in_browser(page: Path, script: str, width: int = 1200) -> Any:
    """What a script finds in the page, shown in a frame of that width."""
    probed = page.with_name("probed.html")
    tell = f"parent.postMessage(JSON.stringify((() => {{ {script} }})()), '*')"
    probe = f"<script>addEventListener('load', () => {tell})</script>"
    probed.write_text(page.read_text(encoding="utf-8").replace("</body>", probe + "</body>"), encoding="utf-8")
    outer = page.with_name("outer.html")
    outer.write_text(
        f"<body><pre id=found></pre><iframe src=probed.html width={width} height=800></iframe><script>"
        "onmessage = (event) => document.getElementById('found').textContent = event.data</script>"
    )
    command = [str(CHROMIUM), *FLAGS.split(), f"--user-data-dir={page.parent / 'profile'}", outer.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr
    return json.loads(unescape(found[1]))


@needs_browser
@pytest.mark.parametrize("width", [360, 1200])
def test_fits_the_screen(page: Path, width: int) -> None:
    wide, figure_width = in_browser(
        page,
        "const figure = document.querySelector('figure svg').getBoundingClientRect();"
        "return [document.documentElement.scrollWidth, figure.width]",
        width,
    )
    assert wide <= width
    assert 0.75 * min(width, 700) <= figure_width <= width


@needs_browser
def test_search_finds_and_hides(page: Path) -> None:
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
    found = in_browser(page, script)
    assert found[""] == ["mtsc/fig-5", "pcc/eq-1", "tdqm/fig-6"]
    assert found["M/M/1/n"] == ["mtsc/fig-5"]
    assert found["eq-1 SACK"] == ["pcc/eq-1"]
    assert found["nowhere"] == []
    assert found["planned"] == 0


@needs_browser
def test_dark_and_light(page: Path) -> None:
    script = """
        const style = (what) => getComputedStyle(document.querySelector(what));
        const look = () => [style('body').backgroundColor, style('figure svg').color];
        document.documentElement.dataset.theme = 'light'; const light = look();
        document.getElementById('theme').click(); return [light, look()];
    """
    light, dark = in_browser(page, script)
    assert light[0] != dark[0]
    assert light[1] != dark[1]  # The figure's text follows.


@needs_browser
def test_links_lead_to_files_of_the_folder(page: Path) -> None:
    links = in_browser(page, "return [...document.querySelectorAll('a')].map((a) => a.getAttribute('href'))")
    for link in links:
        assert link.startswith("#") or (page.parent / link).exists() or link.endswith(".csv"), link


def test_says_what_matters(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert (
        "<strong>1</strong> of 3 claims reproduced, <strong>1</strong> not, <strong>1</strong> could not run." in text
    )
    assert "a test &lt;with&gt; signs" in text
    assert "because &amp; only because" in text
    assert "(20 in all)" in text
    assert "<strong>1</strong> of 2 figures within their tolerance" in text
    assert "packet-pair/table-7" in text
    assert "http://" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)
