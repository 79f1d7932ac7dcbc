"""The documentation tells the truth: its Python and its commands run as they are written, its scenarios load, its
targets of make and its local links exist."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
PAGES = [page for page in PAGES if "_build" not in page.parts and "generated" not in page.parts]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# ([\w-]+\.(?:py|toml))")
"""A block whose first line names a file is that file, or the next part of it."""
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


class Reader:
    """Somebody who types what a page says, from top to bottom, in one terminal and one Python session."""

    def __init__(self, page: Path, folder: Path) -> None:
        self._page, self._folder = page, folder
        (folder / "examples").symlink_to(ROOT / "examples")
        self._session: dict[str, Any] = {"__name__": "__example__"}

    def read(self) -> None:
        """Goes through the blocks."""
        for language, body in BLOCK.findall(self._page.read_text(encoding="utf-8")):
            if language == "python":
                self._python(body)
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
        if not words or Path(words[0]).name not in {"tailback", "python"}:
            return  # make, cargo and the like, which are known to exist.
        if Path(words[0]).name == "tailback":
            words = ["python", "-m", "tailback.cli", *words[1:]]
        done = subprocess.run(
            [sys.executable, *words[1:]], cwd=self._folder, capture_output=True, text=True, check=False, timeout=600
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", having("python", "sh", "console"), ids=name)
def test_page_runs_as_written(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("TAILBACK_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    Reader(page, tmp_path).read()
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
        assert _core.load_toml(str(path))


@pytest.mark.parametrize("page", having("sh", "console"), ids=name)
def test_commands_exist(page: Path) -> None:
    from typer.main import get_command

    from tailback.cli import app

    known = set(getattr(get_command(app), "commands", {}))
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for body in blocks(page, "sh", "console"):
        for line in body.splitlines():
            command = line.strip().removeprefix("$ ").split("#")[0].split()
            if not command:
                continue
            if command[0] == "make":
                targets = [word for word in command[1:] if "=" not in word and not word.startswith("-")]
                assert set(targets) <= made, line
            elif command[0].endswith("tailback") and len(command) > 1 and not command[1].startswith("-"):
                assert command[1] in known, line
