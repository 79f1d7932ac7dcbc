"""Keeps what is said of an attribute whole: napoleon takes what stands before a colon for its type. A Sphinx extension; all other
docstrings are napoleon's business."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

KINDS = ("attribute", "data", "property")
_written: dict[str, list[str]] = {}
"""The lines of each attribute, before napoleon saw them."""


def remember(app: Sphinx, *docstring: Any) -> None:
    """Before napoleon."""
    del app
    what, name, _, _, lines = docstring
    if what in KINDS:
        _written[name] = list(lines)


def restore(app: Sphinx, *docstring: Any) -> None:
    """After it."""
    del app
    what, name, _, _, lines = docstring
    if what in KINDS:
        lines[:] = _written.pop(name)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", remember, priority=400)  # Napoleon has 500.
    app.connect("autodoc-process-docstring", restore, priority=600)
    return {"version": "1", "parallel_read_safe": True}
