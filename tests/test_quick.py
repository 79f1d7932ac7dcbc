"""What commands leave out of the libraries that they import, of their pictures' drawing and of their end: nobody may see it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.axis import Axis

import tailback as tb
from tailback.plot import figure, held, save, style
from tailback.results import versions


def python(code: str, **environment: str) -> str:
    """What a Python process of its own prints."""
    variables = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**variables, **environment})
    return done.stdout.strip()


def test_matplotlib_without_documentation_draws_the_same(tmp_path: Path, result: tb.Result) -> None:
    result.save(tmp_path / "result")
    draw = (
        "from pathlib import Path\n"
        "import tailback as tb\n"
        "from tailback.plot.style import save\n"
        f"save(tb.load(Path({str(tmp_path / 'result')!r})).plot.overview(), Path({str(tmp_path)!r}) / 'NAME.svg')\n"
    )
    quick = "from tailback.commands.quick import matplotlib_undocumented\nmatplotlib_undocumented()\n"
    python(draw.replace("NAME", "whole"))
    python(quick + draw.replace("NAME", "quick"))
    assert (tmp_path / "quick.svg").read_bytes() == (tmp_path / "whole.svg").read_bytes()


def test_only_while_it_is_imported_matplotlib_goes_undocumented() -> None:
    told = python(
        "from tailback.commands.quick import matplotlib_undocumented\n"
        "matplotlib_undocumented()\n"
        "from matplotlib.artist import Artist, kwdoc\n"
        "from matplotlib.lines import Line2D\n"
        "class Later(Line2D): pass\n"
        "line = Line2D([], [])\n"
        "line.set(linewidth=3.0, color='red')\n"
        "try: line.set(no_such_thing=1)\n"
        "except AttributeError: print('refused')\n"
        "print('linewidth' in kwdoc(Line2D), 'linewidth' in (Line2D.set.__doc__ or ''), 'linewidth' in Later.set.__doc__,\n"
        "    line.get_linewidth())"
    )
    # The class that was made at the import has no documentation of ``set``, and one made later its own.
    assert told.split() == ["refused", "True", "False", "True", "3.0"]


def test_what_draws_begins_without_documentation() -> None:
    told = python(
        "from tailback.commands.quick import draws\n"
        "@draws\n"
        "def part(name):\n"
        "    from matplotlib.lines import Line2D\n"
        "    return name in (Line2D.set.__doc__ or '')\n"
        "print(part('linewidth'))"
    )
    assert told == "False"


@pytest.mark.parametrize(("said", "threads"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "2"}, "2")])
def test_numpy_has_no_threads_unless_somebody_asks(said: dict[str, str], threads: str) -> None:
    told = python(
        "import os\n"
        "from tailback.commands.quick import numpy_alone\n"
        "from tailback.commands import quick\n"
        "find = quick.importlib.import_module\n"
        "def seen(name):\n"
        "    print(os.environ['OPENBLAS_NUM_THREADS'])\n"
        "    return find(name)\n"
        "if 'OPENBLAS_NUM_THREADS' in os.environ: print(os.environ['OPENBLAS_NUM_THREADS'])\n"
        "quick.importlib.import_module = seen\n"
        "numpy_alone()\n"
        "print(os.environ.get('OPENBLAS_NUM_THREADS'))",
        **said,
    )
    assert told.split() == [threads, said.get("OPENBLAS_NUM_THREADS", "None")]


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_pictures_are_the_same_where_ticks_are_held(
    result: tb.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    found: list[object] = []
    find = Axis._update_ticks  # type: ignore[attr-defined]  # A method that its types do not tell of.

    def counted(axis: Axis) -> object:
        found.append(axis)
        return find(axis)

    monkeypatch.setattr(Axis, "_update_ticks", counted)
    save(result.plot.overview(), tmp_path / f"held.{kind}")
    few, found[:] = len(found), []
    monkeypatch.setattr(held, "_UPDATE", "_of_another_version")
    save(result.plot.overview(), tmp_path / f"each.{kind}")
    assert (tmp_path / f"held.{kind}").read_bytes() == (tmp_path / f"each.{kind}").read_bytes()
    assert 3 * few < len(found)


def test_a_panel_that_is_laid_out_smaller_gets_fewer_ticks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(name: str) -> bytes:
        with style():
            made, [axis] = figure(height=1.6)
            axis.set_ylim(0.0, 97.0)
            axis.set_title("a title\nthat takes\nmuch of the height")
            save(made, tmp_path / name)
        return (tmp_path / name).read_bytes()

    first = draw("held.svg")
    monkeypatch.setattr(held, "_UPDATE", "_of_another_version")
    assert draw("each.svg") == first


def test_axes_are_left_as_they_were(result: tb.Result, tmp_path: Path) -> None:
    made = result.plot.overview()
    save(made, tmp_path / "first.svg")
    assert not any("_update_ticks" in vars(axis) for panel in made.axes for axis in (panel.xaxis, panel.yaxis))
    made.axes[0].set_ylim(0.0, 100.0)
    save(made, tmp_path / "second.svg")
    assert (tmp_path / "first.svg").read_bytes() != (tmp_path / "second.svg").read_bytes()


@pytest.mark.parametrize(
    ("told", "revision"),
    [
        ("# branch.oid 0123456789abcdef\n# branch.head main\n", "0123456789ab"),
        ("# branch.oid 0123456789abcdef\n# branch.head main\n1 .M N... a.py\n", "0123456789ab+changes"),
        ("# branch.oid (initial)\n# branch.head main\n", ""),
        ("", ""),
    ],
)
def test_one_word_of_git_tells_the_revision(monkeypatch: pytest.MonkeyPatch, told: str, revision: str) -> None:
    if not (Path(tb.__file__).resolve().parents[2] / ".git").exists():
        pytest.skip("not a clone")
    monkeypatch.setattr("tailback._core.revision", lambda: "")
    monkeypatch.setattr(versions, "_git", lambda *_: told)
    assert versions._revision() == revision


ENDING = """
import atexit, sys, tailback.__main__ as entry
from tailback import cli
def commanded():
    print("all that was said")
    atexit.register(print, "the end")
    BEFORE
    sys.exit(STATUS)
cli.main = commanded
class Late:
    def __del__(self): print("taken apart")
kept = Late()
entry.main()
"""


@pytest.mark.parametrize(
    ("before", "status", "taken_apart"),
    [
        ("pass", 0, False),
        ("pass", 3, True),
        # Code of the user's own may hold files that Python closes as it ends.
        ("from tailback.custom import registry; registry.has_parts = lambda: True", 0, True),
        ("import threading, time; threading.Thread(target=time.sleep, args=(0.2,)).start()", 0, True),
    ],
)
def test_commands_end_without_taking_all_apart(before: str, status: int, taken_apart: bool) -> None:
    code = ENDING.replace("BEFORE", before).replace("STATUS", str(status))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert done.stdout.splitlines() == ["all that was said", "the end"] + ["taken apart"] * taken_apart
