"""Writes the plain data of a scenario as TOML, for the standard library only reads it. Reading is the core's, so that
there is one voice about what is allowed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_INLINE_LIMIT = 80
ORDER = ("name", "description", "duration", "warm_up", "seed", "topology", "flows", "aggregates", "record")
"""A scenario's fields as people read them: what it is, where, who, and what is written down."""


def dumps(data: Mapping[str, Any]) -> str:
    """TOML of nested mappings, lists, texts, numbers and truth values; nulls are left out.

    Tables come after plain values, and lists of tables become ``[[…]]``, as people write them.
    """
    return "\n".join(_table(data, ())).strip() + "\n"


def _table(data: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    lines: list[str] = []
    tables: list[tuple[str, Any]] = []
    for key, value in data.items():
        if value is None:
            continue
        if _is_tables(value) or (isinstance(value, Mapping) and (not path or len(_inline(value)) > _INLINE_LIMIT)):
            tables.append((key, value))
        else:
            lines.append(f"{_key(key)} = {_inline(value)}")
    for key, value in tables:
        name = ".".join(_key(part) for part in (*path, key))
        for entry in value if isinstance(value, Sequence) else [value]:
            head = f"[[{name}]]" if isinstance(value, Sequence) else f"[{name}]"
            lines += ["", head, *_table(entry, (*path, key))]
    return lines


def _is_tables(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(entry, Mapping) for entry in value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _inline(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        # TOML's words for what is not finite are Python's; a whole number needs its point to stay a float.
        return repr(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_inline(entry)}" for key, entry in value.items() if entry is not None)
        return f"{{ {inside} }}" if inside else "{}"
    return f"[{', '.join(_inline(entry) for entry in value)}]"


def _text(text: str) -> str:
    # JSON's escapes are TOML's, but TOML wants one for the delete character too.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
