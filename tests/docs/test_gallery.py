"""Every script of the gallery runs, prints something, and draws a vector picture that its page shows. The scripts run in
this process, since to import the libraries takes longer than most of them; and two runs of each variant do: more make
intervals narrower, and find nothing new."""

from __future__ import annotations

import re
import runpy
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
def test_script_runs_and_draws(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {**gallery_pages.ENVIRONMENT, "TAILBACK_CACHE": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    fewer = tmp_path / script.name
    fewer.write_text(re.sub(r"\bseeds=\d+", "seeds=2", script.read_text(encoding="utf-8")), encoding="utf-8")
    runpy.run_path(str(fewer), run_name="__main__")
    example = gallery_pages.example(fewer, capsys.readouterr().out, tmp_path)
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


def test_scales_of_colours_are_not_turned_round_on_dark_pages() -> None:
    """There the style inverts figures: light would mean small where the text and the page in daylight say large."""
    style = (Path(gallery_pages.__file__).resolve().parents[1] / "_static" / "pages.css").read_text(encoding="utf-8")
    kept = next(line for line in style.splitlines() if "filter: none !important" in line and "@media" not in line)
    scaled = [
        path for path in SCRIPTS if any(word in path.read_text(encoding="utf-8") for word in (".heatmap(", ".phase("))
    ]
    assert scaled
    for script in scaled:
        assert f'/{script.stem[3:]}.svg"' in kept
