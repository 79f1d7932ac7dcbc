"""Makes ``--help`` quick. The help itself is typer's."""

from __future__ import annotations

import importlib
import sys
import types

_UNUSED = {"rich.markdown": ("Markdown",), "rich.traceback": ("Traceback",)}
"""What typer imports for its help and our help never uses, since it is no Markdown and shows no traceback: with what these
import in turn, a third of all the time."""


def prepare(words: list[str]) -> None:
    """Imports what typer needs to print help, where the words of a command line ask for it, without what it does not."""
    if words and not {"-h", "--help"} & set(words):
        return
    absent = {name: classes for name, classes in _UNUSED.items() if name not in sys.modules}
    for name, classes in absent.items():
        stand_in = types.ModuleType(name)
        vars(stand_in).update({each: type(each, (), {}) for each in classes})
        sys.modules[name] = stand_in
    try:
        importlib.import_module("typer.rich_utils")
    finally:
        for name in absent:
            del sys.modules[name]  # Whoever asks for them later gets the real ones.
