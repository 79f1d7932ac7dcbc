"""The documentation tells the truth: its Python runs, its scenarios load, its commands and local links exist."""

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
PAGES = [page for page in PAGES if "_build" not in page.parts and "generated" not in page.parts]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", having("python"), ids=name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    namespace: dict[str, Any] = {"__name__": "__example__"}
    for body in blocks(page, "python"):
        exec(compile(body, name(page), "exec"), namespace)


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
