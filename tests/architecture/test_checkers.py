"""The house's own checkers find what they are for: a wrong dependency, a clock, unsafe code, a licence not allowed."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def load(name: str) -> ModuleType:
    """A tool as a module; tools/ is not a package because its files are programs."""
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


architecture = load("check_architecture")
circles = load("module_circles")
imports = load("import_circles")
licences = load("check_licences")


def package(name: str, dependency: str, kind: str | None = None) -> dict[str, object]:
    described = {"name": dependency, "kind": kind, "optional": False}
    return {"name": f"tailback-{name}", "dependencies": [described], "features": {}}


@pytest.mark.parametrize(
    ("crate", "dependency", "kind", "faults"),
    [
        ("control", "tailback-core", None, 0),
        ("control", "tailback-sim", None, 1),
        ("control", "tailback-sim", "dev", 1),
        ("transport", "tailback-sim", None, 1),
        ("qdisc", "pyo3", None, 1),
        ("python", "pyo3", None, 0),
        ("sim", "tailback-net", None, 1),
        ("net", "tailback-sim", None, 1),
        ("net", "tailback-sim", "dev", 0),
        ("net", "tailback-net", "dev", 0),
        ("core", "tailback-core", "dev", 1),
        ("newcomer", "tailback-core", None, 1),
    ],
)
def test_dependencies_point_one_way(crate: str, dependency: str, kind: str | None, faults: int) -> None:
    assert len(list(architecture.dependency_faults([package(crate, dependency, kind)]))) == faults


@pytest.mark.parametrize(("feature", "faults"), [("as-tested", 0), ("more", 1)])
def test_what_tests_ask_of_shared_crates_may_be_asked_as_they_do(feature: str, faults: int) -> None:
    described = {"name": "rustix", "kind": None, "optional": True}
    packages = [{"name": "tailback-python", "dependencies": [described], "features": {feature: ["dep:rustix"]}}]
    assert len(list(architecture.dependency_faults(packages))) == faults


@pytest.mark.parametrize(
    ("crate", "text", "word"),
    [
        ("sim", "//! Holds this.\nlet t = Instant::now();\n", "clock"),
        ("sim", "//! Holds this.\nuse std::time::SystemTime;\n", "clock"),
        ("qdisc", "//! Holds this.\nunsafe { danger() }\n", "unsafe"),
        ("qdisc", "//! Holds this.\n#[allow(unsafe_code)]\n", "unsafe"),
        ("qdisc", "use core::mem;\n", "first line"),
        ("net", "//! Holds this.\nlet t = Instant::now();\n", ""),
        ("sim", "//! Holds this.\n// Instant::now() would be wrong here.\n", ""),
    ],
)
def test_rust_files_keep_the_rules(
    crate: str, text: str, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(architecture, "ROOT", tmp_path)
    path = tmp_path / "crates" / crate / "src" / "lib.rs"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    faults = list(architecture.rust_faults(path))
    assert len(faults) == (1 if word else 0)
    assert all(word in fault for fault in faults)


RUST = """//! Holds this.
pub struct Track { ring: u32 }
impl<T: Clone> Track<T> {
    pub(super) fn push(&mut self) {}
    const LONGEST: u32 = 3;
}
pub trait Gate: Send {
    fn open(&self);
}
impl Gate for Track {
    fn open(&self) {}
}
pub enum Kind {
    Data = 0,
    Ack(u32),
}
"""


def test_items_of_a_rust_file_are_found() -> None:
    assert architecture.rust_items(RUST) == {
        ("Track", "push"),
        ("Track", "LONGEST"),
        ("Track", "open"),
        ("Gate", "open"),
        ("Kind", "Data"),
        ("Kind", "Ack"),
    }


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("`crates/sim/src/direct.rs` · `Track::push`, `Track::LONGEST`", ""),
        ("`crates/sim/src/gone.rs`", "gone.rs"),
        ("see `Track::pop`", "Track::pop"),
        ("see `Kind::Ack` and `Kind::Nack`", "Kind::Nack"),
        ("`crates/sim/src/direct.rs` · `Other::run`", "does not define Other::run"),
        ("`crates/sim/src/direct.rs` · `Gate::open`; `crates/sim/src/other.rs` · `Other::run`", ""),
    ],
)
def test_pages_name_what_is_there(line: str, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(architecture, "ROOT", tmp_path)
    sources = {"direct.rs": RUST, "other.rs": "//! Holds that.\nimpl Other {\n    fn run() {}\n}\n"}
    folder = tmp_path / "crates" / "sim" / "src"
    folder.mkdir(parents=True)
    for name, text in sources.items():
        (folder / name).write_text(text, encoding="utf-8")
    known = {f"crates/sim/src/{name}": architecture.rust_items(text) for name, text in sources.items()}
    page = tmp_path / "walk.md"
    page.write_text(f"{line}\n", encoding="utf-8")
    faults = list(architecture.page_faults(page, known))
    assert len(faults) == (1 if word else 0), faults
    assert all(word in fault for fault in faults)


def test_heads_name_files_of_their_crate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(architecture, "ROOT", tmp_path)
    path = tmp_path / "crates" / "sim" / "src" / "lib.rs"
    path.parent.mkdir(parents=True)
    path.write_text("//! Holds this; that is in `lib.rs`, the rest in `gone.rs`.\n", encoding="utf-8")
    assert [fault for fault in architecture.head_faults(path) if "gone.rs" in fault] == list(
        architecture.head_faults(path)
    )
    assert len(list(architecture.head_faults(path))) == 1


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"a.rs": "use crate::b::B;", "b.rs": "use crate::a::A;"}, [["a", "b"]]),
        ({"a.rs": "use crate::b::B;", "b.rs": "use std::fmt;"}, []),
        # Through a re-export, through a tree of imports, and by a path without an import.
        ({"lib.rs": "pub use b::B;", "a.rs": "use crate::{B, c};", "b.rs": "fn f() { crate::a::g() }"}, [["a", "b"]]),
        (
            {"a.rs": "use super::b::{self, B};", "b.rs": "use crate::c::C;", "c.rs": "use crate::a::A;"},
            [["a", "b", "c"]],
        ),
        # A folder's file and its parts are one thing; two of its parts are not.
        ({"d/mod.rs": "use part::Part;", "d/part.rs": "use super::Whole;"}, []),
        (
            {"d/mod.rs": "", "d/one.rs": "use super::two::Two;", "d/two.rs": "use super::one::One;"},
            [["d::one", "d::two"]],
        ),
        # Neither tests nor comments import.
        (
            {
                "a.rs": "use crate::b::B;",
                "b.rs": "// use crate::a::A;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}",
            },
            [],
        ),
    ],
)
def test_circles_of_modules_are_found(files: dict[str, str], found: list[list[str]], tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"//! Holds this.\n{text}\n", encoding="utf-8")
    assert circles.circles(tmp_path) == found


def test_no_circle_is_excused_that_is_not_there(tmp_path: Path) -> None:
    crate = tmp_path / "control"
    (crate / "src").mkdir(parents=True)
    (crate / "src" / "lib.rs").write_text("//! Holds this.\n", encoding="utf-8")
    found = list(architecture.circle_faults(crate, circles.circles(crate / "src")))
    assert [fault for fault in found if fault.startswith(f"{tmp_path.name}/control: no circle") and "any more" in fault]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"a.py": "from p.b import B", "b.py": "import p.a"}, [["a", "b"]]),
        ({"a.py": "from p.b import B", "b.py": "import a, os"}, []),
        # Within a function, through a third, and between a folder's files.
        ({"a.py": "def f():\n    from p.d import c", "d/c.py": "class C:\n    from p import a"}, [["a", "d.c"]]),
        ({"a.py": "from p import b", "b.py": "from p.c import C", "c.py": "from p.a import A"}, [["a", "b", "c"]]),
        # What only type checkers import.
        ({"a.py": "from p.b import B", "b.py": "if TYPE_CHECKING:\n    from p.a import A"}, []),
        ({"__init__.py": "", "a.py": "from p import nothing", "b.py": "from p.a import A"}, []),
    ],
)
def test_circles_of_imports_are_found(files: dict[str, str], found: list[list[str]], tmp_path: Path) -> None:
    package = tmp_path / "p"
    for name, text in files.items():
        (package / name).parent.mkdir(exist_ok=True, parents=True)
        (package / name).write_text(text, encoding="utf-8")
    assert imports.import_circles(package) == found


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("MIT/Apache-2.0", True),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("(MIT OR Apache-2.0) AND LGPL-2.1", False),
        ("Apache-2.0 WITH LLVM-exception OR GPL-2.0", True),
        ("", False),
        ("MIT something else", False),
    ],
)
def test_licence_expressions_are_read_as_spdx(expression: str, allowed: bool) -> None:
    assert licences.satisfied(expression, licences.ALLOWED) is allowed
