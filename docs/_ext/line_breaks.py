"""Marks cells of tables and words of code by where their lines may be broken: ``figure`` for a cell that stays on one line,
``words`` and ``sentence`` for those that need room, ``whole`` for code whose words are short. A Sphinx extension; how each looks
is said in ``_static/pages.css``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

_FIGURE = 18
"""Letters of the longest cell that stays on one line: ``13.3 ± 13.7 Mbit/s``."""
_WORDS = 20
_SENTENCE = 48
"""Letters from which on a cell gets room for more than a word or two per line."""
_NAME = 32
"""Letters of the longest word of code that surely fits into a line of a phone."""


def kind(text: str) -> str:
    """What a cell holds, by its text; nothing where it may be as narrow as its longest word."""
    if len(text) <= _FIGURE and re.match(r"[-+−±]?\d", text):
        return "figure"
    return "sentence" if len(text) >= _SENTENCE else "words" if len(text) >= _WORDS else ""


def mark(app: Sphinx, tree: nodes.document) -> None:
    """Gives each cell and each piece of code of a page its mark."""
    del app
    from docutils import nodes

    for cell in tree.findall(nodes.entry):
        found = kind(cell.astext().strip())
        if found:
            cell["classes"].append(found)
    for code in tree.findall(nodes.literal):
        if max(map(len, code.astext().split()), default=0) <= _NAME:
            code["classes"].append("whole")


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("doctree-read", mark)
    return {"version": "1", "parallel_read_safe": True}
