"""What terminals get: progress bars, any width, and letters that they lack."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tests.cli.command import SCENARIO


def test_a_bar_only_for_what_takes_long(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from tailback import progress

    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with progress.Bar("counting for a log file", 10) as bar:
        now[0] = 3.0
        bar.advance()
        assert bar._progress is None
    now[0] = 0.0
    monkeypatch.setattr(progress, "_seen", lambda: True)
    with progress.Bar("counting", 10) as bar:
        now[0] = 1.9
        bar.advance()
        assert bar._progress is None
        now[0] = 2.1
        bar.advance()
        assert bar._progress is not None
    assert capsys.readouterr().out == ""


def test_a_notebook_has_a_line_that_needs_no_widgets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    """JupyterLab comes without ipywidgets; rich then warned, with a path of its own, and showed nothing."""
    from tailback import progress

    shown: list[str] = []
    show = SimpleNamespace(update=lambda data, **_: shown.append(data["text/plain"]))
    parts: dict[str, dict[str, object]] = {"ipykernel": {}, "IPython": {}, "IPython.core": {}}
    parts["IPython.core.getipython"] = {"get_ipython": lambda: shown}
    parts["IPython.display"] = {"display": lambda *_, **__: show}
    for name, values in parts.items():
        monkeypatch.setitem(sys.modules, name, module := ModuleType(name))
        vars(module).update(values)
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with progress.Bar("20 runs", 20) as bar:
        for now[0] in (1.0, 3.0, 3.1, 3.2, 4.0):
            bar.advance()
    assert shown == ["20 runs: 10 %, about 27 s left", "20 runs: 25 %, about 12 s left", ""]
    assert capsys.readouterr() == ("", "")
    assert not recwarn.list


@pytest.mark.parametrize("columns", ["30", "200"])
def test_no_width_leaves_anything_out(here: Path, columns: str) -> None:
    (here / "long.toml").write_text(SCENARIO.replace('name = "sack"', 'name = "selective-acknowledgements"'))
    environment = {**os.environ, "COLUMNS": columns, "FORCE_COLOR": "", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "tailback.cli", "run", "long.toml", "--no-plot"]
    out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    for word in ("selective-acknowledgements-0", "throughput", "utilization", "r0->r1", "mean queue"):
        assert word in out
    assert "…" not in out
    assert "\x1b" not in out
    assert f"Saved in {Path('out', 'long-seed-1')}" in out


def test_letters_that_a_locale_lacks_do_no_harm(here: Path) -> None:
    del here
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for words in (["schemes"], ["--help"], ["run", "none.toml"]):
        command = [sys.executable, "-m", "tailback.cli", *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr
        assert done.returncode == (words[0] == "run")


def test_signs_that_an_output_lacks_become_words() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "COLUMNS": "100"}
    code = (
        "from tailback import cli; from tailback.commands.letters import HANDLER, written; import sys;"
        "sys.stdout.reconfigure(errors=HANDLER); print('0.14 \u00b1 0.03 \u2713 \u4e00');"
        "print(written('[red]\u2717[/red]', 'latin-1'), written('\u00b1', 'latin-1') == '\u00b1')"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["0.14 +- 0.03 yes ?", "[red]no[/red] True"]
    from tailback.commands.letters import HANDLER

    words = "import sys, tailback.cli as c; c.app = lambda **_: print('5 \u00b1 1'); c.main()"
    done = subprocess.run([sys.executable, "-c", words], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "5 +- 1\n", HANDLER


def test_names_of_items_stay_whole_on_a_narrow_terminal() -> None:
    environment = {**os.environ, "COLUMNS": "60", "FORCE_COLOR": "1", "TERM": "xterm"}
    command = [sys.executable, "-m", "tailback.cli", "reproduce", "mtsc", "--list"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "mtsc/estimators" in done.stdout or "mtsc/fig-5" in done.stdout
    assert "…" not in done.stdout
