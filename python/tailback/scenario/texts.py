"""What the text of a value means that somebody types behind a field's name. Which fields there are is in ``fields.py``: to read a
text needs no type of scenarios, and to import those takes longer than many a command."""

from __future__ import annotations

import json
import tomllib
from typing import Any


def from_text(text: str) -> Any:
    """The value in ``field=value`` of a command line: JSON where it reads as such (``3``, ``true``, ``["a"]``), a table
    or a list as scenario files have them (``{ from = "0 s", to = "2 s" }``), the text itself otherwise
    (``10 Mbit/s``)."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        pass
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
