"""What the fields of scenario types say of themselves, for ``help`` and notebooks: read where they are written, when somebody
asks. Which fields there are, and what they may be, is not here."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Iterator, Mapping


@functools.cache
def _texts(module: str) -> Mapping[str, Mapping[str, str]]:
    """Class, field, and the text below the field."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError):  # Where the code was typed, or is shipped without its text.
        return {}
    return {node.name: dict(_of_class(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _of_class(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, text in zip(node.body, node.body[1:], strict=False):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str):
            yield field.target.id, text.value.value


def field_texts(kind: type) -> dict[str, str]:
    """What stands below each field of a class, in one line, the nearest class first where several have it."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base.__module__ in sys.modules:
            found.update(_texts(base.__module__).get(base.__name__, {}))
    return {name: " ".join(text.split()) for name, text in found.items()}
