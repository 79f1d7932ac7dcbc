"""What the documentation's own extensions of Sphinx do to a page: cells that stay whole, and attributes that are told whole."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

import line_breaks  # type: ignore[import-not-found] # noqa: E402 (the documentation's own, beside its pages)

MODULE = '''
class Thing:
    """A thing."""

    size: int = 3
    """How large it is: in bytes."""

    @property
    def colour(self) -> str:
        """What is seen of it: a word."""
        return "red"

    def grow(self, much: int) -> None:
        """Grows.

        Args:
            much: by how much.
        """
'''
PAGE = """
# Page

Use `--in-place-of nada` or `a_name_that_is_longer_than_a_line_of_a_phone_is`.

| scheme | used | why |
| --- | --- | --- |
| reno | 0.75 ± 0.25 | it halves its window whenever a packet is lost, as in the textbook |

```{eval-rst}
.. autoclass:: thing_of_a_page.Thing
   :members:
```
"""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("13.3 ± 13.7 Mbit/s", "figure"),
        ("−0.5 to 0.5", "figure"),
        ("drop-tail", ""),
        ("35, -0.47 ± 2.8; 65, +0.47 ± 2.8", "words"),
        ("the rate follows, without oscillation, in all cases", "sentence"),
    ],
)
def test_a_cell_is_told_by_its_text(text: str, kind: str) -> None:
    assert line_breaks.kind(text) == kind


def test_a_page_is_marked_and_attributes_are_whole(tmp_path: Path) -> None:
    application = pytest.importorskip("sphinx.application", reason="the documentation's packages are not installed")
    (tmp_path / "thing_of_a_page.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "index.md").write_text(PAGE, encoding="utf-8")
    extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "line_breaks", "whole_attributes"]
    sys.path.insert(0, str(tmp_path))
    try:
        app = application.Sphinx(
            *(str(tmp_path), None, str(tmp_path / "out"), str(tmp_path / "trees"), "html"),
            confoverrides={"extensions": extensions, "autodoc_typehints": "none"},
            status=None,
            warningiserror=True,
        )
        app.build()
    finally:
        sys.path.remove(str(tmp_path))
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert re.search(r'<td class="figure"><p>0.75 ± 0.25', page)
    assert re.search(r'<td class="sentence"><p>it halves', page)
    assert re.search(r'<code class="[^"]*whole[^"]*"><span class="pre">--in-place-of', page)
    assert not re.search(r'<code class="[^"]*whole[^"]*"><span class="pre">a_name', page), "it would leave the page"
    said = re.sub(r"<[^>]+>", "", page)
    assert "How large it is: in bytes." in said
    assert "What is seen of it: a word." in said
    assert "Type:" not in said, "what stands before a colon is no type"
    assert "Parameters:" in said, "other docstrings are read as before"
