"""The documentation tells the truth: its Python and its commands run as they are written, but for how often runs are
repeated and how long some examples last, its scenarios load, its targets of make, the commands within its sentences, and its
local links exist."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tailback import cli
from tailback.papers.mtsc import fig_5
from tailback.report.drawn import Drawn
from tests.fewer_figures import leave

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
PAGES = [page for page in PAGES if "_build" not in page.parts and "generated" not in page.parts]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# ([\w-]+\.(?:py|toml))")
"""A block whose first line names a file is that file, or the next part of it."""
ELSEWHERE = {
    "make setup": "continuous integration has done it in a fresh clone, as part of `make test`, before this test runs",
    "make reproduce": "takes minutes; the tests of the papers make every item of it",
    "tailback shell --rate '20 Mbit/s' --delay '20 ms' --queue fq-codel --server 'iperf3 -s' -- "
    "sh -c 'iperf3 -c $TAILBACK_FAR'": "needs namespaces and iperf3; tests/shell/ does the same with programs of its own",
    **dict.fromkeys(
        ("tailback lab wire.toml", "tailback lab beside.toml", "tailback parity beside.toml"),
        "needs namespaces and real time; tests/test_lab.py does the same, quickly",
    ),
    **dict.fromkeys(
        ("tailback lab mine.toml --custom examples/gentle.py", "tailback parity mine.toml --custom examples/gentle.py"),
        "needs namespaces and real time; tests/custom/test_files_of_parts.py does the same, quickly",
    ),
    **dict.fromkeys(
        ("make comparison", "make comparison ARGS=--quick"),
        "takes minutes of all cores; tests/todays/ runs the same schemes",
    ),
    **dict.fromkeys(
        ("make home", "make home ARGS=--quick"),
        "takes minutes of all cores; tests/test_home.py builds every row and runs two, shorter",
    ),
    **dict.fromkeys(
        ("make queues", "make queues ARGS=--quick"),
        "takes minutes of all cores; tests/test_queues.py runs every scenario under one queue",
    ),
    "make media": "takes a minute of all cores; tests/test_media_cases.py builds every row and runs some",
    ".venv/bin/tailback reproduce mtsc/fig-5": "takes a minute of all cores; tests/papers/ does it with fewer packets",
    "cargo run --example custom_scheme": "the tests of Rust build this example and run what it runs",
    "source .venv/bin/activate": "changes a shell and does nothing else; commands here run in that environment",
}
"""What blocks of the documentation say and this test does not run, and who does."""
SEEDS = re.compile(r"(\bseeds=|--seeds )\d+")
REPEATING = re.compile(r"tailback (compare|sweep|tune) |python -m tailback\.papers\.packet_pair ")
"""Commands that repeat their runs. Two of each do here: more make intervals narrower, and find nothing new."""
TIME = re.compile(r'\b(duration|warm_up|start|stop|from|to|at) = "([\d.]+) s"')
SHORT = 10
"""Seconds. Scenarios that last for minutes run in so many here, with all that happens in them as many times sooner: that is
enough for what a page does with them. At their full length those of the guide for queues run once in tests/test_queues.py, and
the first example on the pages that are read first."""
LASTING = re.compile(r'\bduration="(\d+) s", warm_up="\d+ s"')
"""The same in Python, where all is there from the beginning."""
SECONDS = re.compile(r'"([\d.]+) s"')
INLINE = re.compile(r"`((?:\.venv/bin/)?(?:tailback|make|cargo|pip|python -m) [^`\n]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


def blocks(page: Path, *languages: str) -> list[str]:
    """The code blocks of a page in the given languages."""
    text = page.read_text(encoding="utf-8")
    return [body for language, body in BLOCK.findall(text) if language in languages]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def having(*languages: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, *languages)]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_local_links_lead_somewhere(page: Path) -> None:
    links = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    made = [link for link in links if "generated/" in link]  # Written by the build, which complains itself.
    missing = [link for link in links if link not in made and not (page.parent / link).exists()]
    assert not missing


def hurried(text: str) -> str:
    """A scenario of many seconds in few."""
    lasts = next(float(time) for field, time in TIME.findall(text) if field == "duration")
    return TIME.sub(lambda found: f'{found[1]} = "{float(found[2]) * SHORT / max(lasts, SHORT):g} s"', text)


def hurried_code(body: str) -> str:
    """The same of a block of Python."""
    others = SECONDS.findall(LASTING.sub("", body))
    if any(float(time) >= SHORT for time in others):
        return body
    return LASTING.sub(
        lambda found: found[0] if int(found[1]) <= SHORT else f'duration="{SHORT} s", warm_up="2 s"', body
    )


def lay_out(folder: Path, page: Path, *, whole: bool) -> None:
    """The examples, the first of them shorter but where it is to be whole; of the guide for queues those that the page's code
    names, shorter."""
    code = "\n".join(blocks(page, "python", "sh", "console"))
    folder.mkdir()
    for there in (ROOT / "examples").iterdir():
        if there.name == "dumbbell.toml" and not whole:
            (folder / there.name).write_text(hurried(there.read_text(encoding="utf-8")), encoding="utf-8")
        elif there.name != "rfc7928":
            (folder / there.name).symlink_to(there)
    (folder / "rfc7928").mkdir()
    for there in (ROOT / "examples" / "rfc7928").iterdir():
        if re.search(rf"\b{there.stem}\b", code):
            text = hurried(there.read_text(encoding="utf-8"))
            (folder / "rfc7928" / there.name).write_text(text, encoding="utf-8")


class Reader:
    """Somebody who types what a page says, from top to bottom, in one terminal and one Python session."""

    def __init__(self, page: Path, folder: Path) -> None:
        self._page, self._folder = page, folder
        # To start costs more than most commands: it is enough that it is tried on the pages that are read first.
        self._fresh = page.name in {"README.md", "quickstart.md"}
        lay_out(folder / "examples", page, whole=self._fresh)
        self._session: dict[str, Any] = {"__name__": "__example__"}

    def read(self) -> None:
        """Goes through the blocks."""
        for language, written in BLOCK.findall(self._page.read_text(encoding="utf-8")):
            body = SEEDS.sub(r"\g<1>2", written)
            if language == "python":
                self._python(body if self._fresh else hurried_code(body))
            elif language in {"sh", "console"}:
                for line in body.splitlines():
                    self._command(line.removeprefix("$ "))
            elif language == "toml" and (named := NAMED.match(body)):
                (self._folder / named[1]).write_text(body, encoding="utf-8")

    def _python(self, body: str) -> None:
        if named := NAMED.match(body):  # A file, or what is added to one.
            with (self._folder / named[1]).open("a", encoding="utf-8") as file:
                file.write(body)
        else:
            exec(compile(body, name(self._page), "exec"), self._session)

    def _command(self, line: str) -> None:
        words = shlex.split(line, comments=True)
        if not words or shlex.join(words) in ELSEWHERE:
            return
        if REPEATING.match(line) and "--seeds" not in words:
            words += ["--seeds", "2"]
        program = Path(words[0]).name
        match program:
            case "python":
                words = [sys.executable, *words[1:]]
            case "tailback" if self._fresh or "--custom" in words:  # Files must not meet the session's own parts.
                words = [sys.executable, "-m", "tailback", *words[1:]]
            case "tailback":
                done = CliRunner().invoke(cli.app, words[1:], catch_exceptions=False)
                assert done.exit_code == 0, f"{line}\n{done.output}"
                return
            case "pip":  # What it brings is used by the rest of the page; here, that it knows the extra.
                words = [sys.executable, "-m", "pip", *words[1:], "--no-index", "--no-deps", "--dry-run"]
            case _:
                pytest.fail(f"{line}: nobody runs this")
        said = ran(words, self._folder)
        assert "does not provide the extra" not in said


def ran(words: list[str], folder: Path) -> str:
    """What a command says, which must not fail."""
    environment = {**os.environ, "CARGO_NET_OFFLINE": "true", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_QUIET": "0"}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def check_report(report: Path) -> None:
    """It works without a network, and everything that it links to is there."""
    text = report.read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="(https?:)?//', text), report
    for link in re.findall(r'<a href="([^"#]+)"', text):
        assert (report.parent / link).exists(), (report, link)


def draw_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out of reports what a report of this page has shown already: the same figures of other runs find nothing new."""
    shown: set[str] = set()

    def new(found: list[Drawn]) -> list[Drawn]:
        left = [drawn for drawn in found if drawn.id not in shown]
        shown.update(drawn.id for drawn in left)
        return left

    leave(monkeypatch, new)


@pytest.mark.parametrize("page", having("python", "sh", "console"), ids=name)
def test_page_runs_as_written(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("TAILBACK_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(fig_5, "_effort", lambda _: (40_000, 2))  # As in tests/papers/test_reproduce.py.
    draw_once(monkeypatch)
    before = set(sys.modules)
    Reader(page, tmp_path).read()
    for report in tmp_path.rglob("index.html"):
        check_report(report)
    for module in set(sys.modules) - before:  # What a page wrote is its own.
        if str(getattr(sys.modules[module], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[module]


@pytest.mark.parametrize("page", having("toml"), ids=name)
def test_scenarios_load(page: Path, tmp_path: Path) -> None:
    from tailback import _core

    for body in blocks(page, "toml"):
        if "[topology]" not in body:
            continue
        path = tmp_path / "scenario.toml"
        path.write_text(body, encoding="utf-8")
        # Only a laboratory has the kernel's schemes.
        assert _core.load_lab(str(path)) if '"kernel-' in body else _core.load_toml(str(path))


def commands(page: Path) -> list[str]:
    """The commands of a page, in its blocks and within its sentences."""
    lines = [
        line.removeprefix("$ ").split(" #")[0] for body in blocks(page, "sh", "console") for line in body.splitlines()
    ]
    return [line.strip() for line in [*lines, *INLINE.findall(page.read_text(encoding="utf-8"))] if line.strip()]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_exist(page: Path) -> None:
    from typer.main import get_command

    from tailback.cli import app

    known = getattr(get_command(app), "commands", {})
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for line in commands(page):
        program, *words = line.split()
        if "--" in words:  # What is behind it is another program's.
            words = words[: words.index("--")]
        if program == "make":
            assert {word for word in words if "=" not in word and not word.startswith("-")} <= made, line
        elif program == "pip":
            assert set(re.findall(r"tailback\[(\w+)\]", line)) <= set(extras), line
        elif program.endswith("tailback") and not words[0].startswith("-") and words[0].islower():
            assert words[0] in known, line
            options = {option for parameter in known[words[0]].params for option in parameter.opts}
            assert {word.split("=")[0] for word in words if word.startswith("--")} <= options, line


def test_what_is_run_elsewhere_is_still_said() -> None:
    said = {shlex.join(shlex.split(line)) for page in PAGES for line in commands(page)}
    assert set(ELSEWHERE) <= said


def test_the_list_of_targets_is_whole() -> None:
    listed = set(re.findall(r"^  make ([a-z-]+) ", ran(["make", "help"], ROOT), re.MULTILINE))
    named = {line.split()[1] for page in PAGES for line in commands(page) if re.fullmatch(r"make [a-z-]+", line)}
    assert named <= listed
    assert {"help", "setup", "test", "reproduce"} <= listed


def test_a_crate_with_the_pages_manifest_can_build_the_rust_template(tmp_path: Path) -> None:
    # The template is an example of the workspace, which the tests of Rust compile and run. What is the page's own is the
    # manifest: that its dependencies are found, and that they are all that the code imports.
    (tmp_path / "tailback").symlink_to(ROOT)
    crate = tmp_path / "my-scheme"
    (crate / "src").mkdir(parents=True)
    manifest = next(body for body in blocks(ROOT / "docs" / "custom-controller.md", "toml") if "[package]" in body)
    (crate / "Cargo.toml").write_text(manifest, encoding="utf-8")
    code = (ROOT / "crates/scenario/examples/custom_scheme.rs").read_text(encoding="utf-8")
    (crate / "src/main.rs").write_text(code, encoding="utf-8")
    shutil.copy(ROOT / "Cargo.lock", crate)  # Without a network, the versions that are here must do.
    shutil.copy(ROOT / "rust-toolchain.toml", crate)
    found = ran(["cargo", "tree", "--depth", "1", "--prefix", "none", "--edges", "normal"], crate)
    depends = {line.split()[0].replace("-", "_") for line in found.splitlines() if " v" in line}
    assert {"my_scheme", "tailback_scenario"} <= depends
    imported = set(re.findall(r"^\s*use (\w+)::", code, re.MULTILINE)) | set(re.findall(r"\b(tailback_\w+)::", code))
    assert imported - {"std", "super"} <= depends
    editions = [tomllib.loads(text) for text in (manifest, (ROOT / "Cargo.toml").read_text(encoding="utf-8"))]
    assert editions[0]["package"]["edition"] == editions[1]["workspace"]["package"]["edition"]
