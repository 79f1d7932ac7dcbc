"""Every script of the gallery runs, prints something, and draws a vector picture that its page shows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

import gallery_pages  # type: ignore[import-not-found] # noqa: E402 (the documentation's own, beside its pages)

SCRIPTS = gallery_pages.scripts()


def test_there_are_enough() -> None:
    assert len(SCRIPTS) >= 12
    names = [script.stem[3:] for script in SCRIPTS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_runs_and_draws(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILBACK_CACHE", str(tmp_path))
    example = gallery_pages.run(script)
    assert example.title
    assert example.text
    assert example.printed
    picture = example.picture.decode()
    assert picture.count("<path") > 20
    assert "<image" not in picture
    page = gallery_pages.page(example)
    assert f"({example.name}.svg)" in page
    assert "import tailback as tb" in page
    assert len(example.code.splitlines()) <= 45
