"""The stub of what custom parts see has the fields that the compiled classes have, each with its docstring."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tailback import _core, custom

STUB = Path(custom.__file__).parents[1] / "_core.pyi"
CLASSES = {
    node.name: node
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body
    if isinstance(node, ast.ClassDef) and node.name in custom.__all__
}


def members(node: ast.ClassDef) -> dict[str, bool]:
    """Public attributes and methods, and whether each is explained."""
    found = {}
    for member, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(member, ast.AnnAssign):
            found[ast.unparse(member.target)] = isinstance(after, ast.Expr)
        elif isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
            found[member.name] = bool(ast.get_docstring(member))
    return found


@pytest.mark.parametrize("name", CLASSES)
def test_the_stub_is_whole(name: str) -> None:
    compiled = {member for member in dir(getattr(_core, name)) if not member.startswith("_")}
    told = members(CLASSES[name])
    assert set(told) == compiled
    assert all(told.values()), [member for member, explained in told.items() if not explained]
