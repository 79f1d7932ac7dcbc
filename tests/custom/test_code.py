"""Which code decides what a custom part does: runs that are kept hold for the same code only."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest

import tailback as tb
from tailback.custom import code, shipping
from tailback.custom.code import digest_of, modules_of
from tests.custom.custom_parts import Aimd, Fifo

PART = """import tailback as tb
{imports}
class WindowOfElsewhere(tb.Controller):
    def on_feedback(self, now, feedback, cx):
        pass
    def directive(self):
        {inside}
        return tb.Directive(window={window} * 1000.0)
"""
WAYS = {
    "import": ("import code_helper", "pass", "code_helper.SEGMENTS"),
    "from": ("from code_helper import SEGMENTS", "pass", "SEGMENTS"),
    "all": ("from code_helper import *", "pass", "SEGMENTS"),
    "within": ("", "from code_helper import SEGMENTS", "SEGMENTS"),
    "named": ("import importlib", "code_helper = importlib.import_module('code_helper')", "code_helper.SEGMENTS"),
    "package": ("from code_package import inner", "pass", "inner.SEGMENTS"),
    "relative": ("import code_package.outer", "pass", "code_package.outer.again()"),
    "later": ("", "import code_package.outer as outer", "outer.again()"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of modules that can be imported."""
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.startswith("code_")]:
        monkeypatch.delitem(sys.modules, name)
    package = tmp_path / "code_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text("from code_helper import SEGMENTS\n")
    (package / "outer.py").write_text("from .inner import SEGMENTS\ndef again():\n    return SEGMENTS\n")
    (tmp_path / "code_helper.py").write_text("SEGMENTS = 4\n")
    return tmp_path


def part_of(folder: Path, way: str) -> type[tb.Controller]:
    imports, inside, window = WAYS[way]
    (folder / f"code_by_{way}.py").write_text(PART.format(imports=imports, inside=inside, window=window))
    importlib.invalidate_caches()
    made: type[tb.Controller] = importlib.import_module(f"code_by_{way}").WindowOfElsewhere
    tb.register(made)
    return made


@pytest.mark.parametrize("way", WAYS)
def test_a_part_is_other_code_where_what_it_imports_is(way: str, folder: Path) -> None:
    part = part_of(folder, way)
    before = digest_of(part)
    assert before == digest_of(part)
    (folder / "code_helper.py").write_text("SEGMENTS = 40\n")
    assert digest_of(part) != before


def test_what_is_installed_is_no_code_of_a_part(folder: Path) -> None:
    part = part_of(folder, "import")
    assert set(modules_of(part)) == {"code_by_import", "code_helper"}
    (folder / "code_helper.py").write_text("import json\nimport numpy\nimport not_there\nSEGMENTS = 4\n")
    assert set(modules_of(part)) == {"code_by_import", "code_helper"}


def test_what_pip_put_into_another_folder_is_installed_too(folder: Path) -> None:
    """With ``pip install --target``, as a class's server may have its Jupyter."""
    part = part_of(folder, "package")
    assert "code_package.inner" in modules_of(part)
    before = digest_of(part)
    (folder / "another.dist-info").mkdir()
    (folder / "another.dist-info" / "RECORD").write_text(
        'code_package/__init__.py,sha256=a,0\ncode_package/inner.py,sha256=b,9\n"code, helped.py",,\n'
    )
    code._recorded.cache_clear()
    assert set(modules_of(part)) == {"code_by_package"}
    assert digest_of(part) != before


def test_files_are_parsed_once(folder: Path) -> None:
    """A sweep asks anew for each variant, and a notebook may hold hundreds of modules."""
    for count in range(300):
        (folder / f"code_many_{count}.py").write_text(f"# {count}")
    (folder / "code_helper.py").write_text(
        "".join(f"import code_many_{count}\n" for count in range(300)) + "SEGMENTS = 4"
    )
    part = part_of(folder, "import")
    assert len(modules_of(part)) == 302
    with mock.patch.object(ast, "parse", wraps=ast.parse) as parse:
        assert len(modules_of(part)) == 302
    assert parse.call_count == 0


@pytest.mark.parametrize("jobs", [1, 2])
def test_kept_runs_hold_for_the_code_that_a_part_imports(jobs: int, folder: Path) -> None:
    part = part_of(folder, "import")
    base = tb.dumbbell(rate="10 Mbit/s", delay="20 ms", buffer="50 packets", duration="3 s").with_flows(
        tb.flows(1, "reno")
    )

    def goodput() -> float:
        runs = base.sweep(scheme=[part.scheme()], seeds=2, cache=folder / "runs", jobs=jobs)
        assert runs.failed.is_empty(), runs.failed["error"][0]
        found: float = runs.table["goodput"][0]
        return found

    before = goodput()
    (folder / "code_helper.py").write_text("SEGMENTS = 40\n")
    importlib.reload(sys.modules["code_helper"])
    assert goodput() > 2 * before


def test_a_class_that_a_function_makes_is_what_the_function_was_told(folder: Path) -> None:
    text = "import tailback as tb\ndef made(window):\n    class Local(tb.Controller):\n        size = window\n    return Local\n"
    (folder / "code_made.py").write_text(text)
    made = importlib.import_module("code_made").made
    four = made(4)
    assert digest_of(four) == digest_of(four) != digest_of(made(40))


def test_a_notebooks_class_is_what_its_cells_and_their_modules_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", notebook)
    cell = PART.format(imports="from code_helper import SEGMENTS as OTHER", inside="pass", window="SEGMENTS")
    exec(cell, vars(notebook))
    exec("import code_helper\nSEGMENTS = 4\n", vars(notebook))
    part = notebook.WindowOfElsewhere
    first = digest_of(part)
    assert first == digest_of(part)
    exec("SEGMENTS = 40\n", vars(notebook))
    second = digest_of(part)
    (folder / "code_helper.py").write_text("SEGMENTS = 40\n")
    assert len({first, second, digest_of(part)}) == 3


def test_a_class_typed_beside_a_script_is_what_was_typed_last(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = folder / "code_script.py"
    script.write_text(PART.format(imports="", inside="pass", window="4"))
    main = ModuleType("__main__")
    main.__file__ = str(script)
    monkeypatch.setitem(sys.modules, "__main__", main)
    exec(compile(script.read_text(), str(script), "exec"), vars(main))
    written = digest_of(main.WindowOfElsewhere)
    assert written == next(iter(modules_of(main.WindowOfElsewhere).values())), "of one in the file, the file's"
    typed = []
    for window in (5, 6):
        exec(compile(PART.format(imports="", inside="pass", window=window), "<stdin>", "exec"), vars(main))
        typed.append(digest_of(main.WindowOfElsewhere))
    assert len({written, *typed}) == 3, (
        "with kept runs of the one before, a sweep would have shown other code's figures"
    )
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    exec("class Short(WindowOfElsewhere):\n    size = 1\n", vars(main))
    short = digest_of(main.Short)
    exec("class Short(WindowOfElsewhere):\n    size = 2\n", vars(main))
    assert digest_of(main.Short) != short


def test_other_code_is_another_run(base: tb.Scenario, tmp_path: Path) -> None:
    names = shipping.named_in(base.replace(scheme=Aimd.scheme(), queue=Fifo.queue()).to_dict())
    assert names == {("scheme", "aimd"), ("queue", "fifo")}
    assert shipping.digest({("scheme", "aimd")}) != ""
    first = base.sweep(scheme=[Aimd.scheme()], seeds=1, cache=tmp_path, jobs=1)
    changed = type("Aimd", (Aimd,), {"__module__": __name__, "directive": lambda _: tb.Directive(window=5000.0)})
    again = base.sweep(scheme=[changed.scheme()], seeds=1, cache=tmp_path, jobs=1)  # type: ignore[attr-defined]  # The class is made at run time.
    tb.register(Aimd)
    assert first.table["hash"][0] != again.table["hash"][0]


@pytest.mark.parametrize("file", ["parents_of_parts", "receivers_of_parts", "children_of_parts"])
def test_a_part_is_other_code_where_any_file_of_its_classes_is(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "parents_of_parts": "import tailback as tb\nclass Parent(tb.Controller):\n    window = 10\n",
        "receivers_of_parts": "import tailback as tb\nclass Half(tb.FeedbackPolicy):\n    every = 10\n",
        "children_of_parts": "import receivers_of_parts, parents_of_parts\n"
        "class Part(parents_of_parts.Parent):\n    policy = receivers_of_parts.Half\n",
    }
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    part = importlib.import_module("children_of_parts").Part
    before = digest_of(part)
    assert before == digest_of(part)
    (tmp_path / f"{file}.py").write_text(files[file] + "# changed\n")
    assert digest_of(part) != before
