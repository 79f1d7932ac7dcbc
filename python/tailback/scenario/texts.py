"""What the text of a value means that somebody types behind a field's name. Which fields there are is in ``fields.py``: to read a
text needs no type of scenarios, and to import those takes longer than many a command."""

from __future__ import annotations

import json
import tomllib
from typing import Any, Final

_BRACKETS: Final = {"{": "}", "[": "]"}


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


def split(text: str) -> list[str]:
    """The texts between commas, except for commas within a table, a list or quotes: ``{ name = "red", min = "5 packets" },
    codel`` are two."""
    parts, begin, closing, quote = [], 0, list[str](), ""
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif closing and letter in "\"'":
            quote = letter
        elif letter in _BRACKETS:
            closing.append(_BRACKETS[letter])
        elif closing and letter == closing[-1]:
            closing.pop()
        elif letter == "," and not closing:
            parts.append(text[begin:at])
            begin = at + 1
    return [*parts, text[begin:]]
