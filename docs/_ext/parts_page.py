"""The reference of what custom parts are handed and answer, from the stub of the compiled core: its docstrings are the only
ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

LEAD = "What methods of custom parts are handed, and what they answer. Times are seconds, amounts bytes, rates bit/s."
_LINE = 44
"""Letters of a line of code that a phone shows whole."""


def text() -> str:
    """The page."""
    import tailback
    from tailback import custom

    stub = Path(tailback.__file__).with_name("_core.pyi").read_text(encoding="utf-8")
    classes = {node.name: node for node in ast.parse(stub).body if isinstance(node, ast.ClassDef)}
    parts = ["# What custom parts see", LEAD]
    for name in (name for name in custom.__all__ if name in classes):
        home = "tb" if name in tailback.__all__ else "tb.custom"
        parts += [f"## {home}.{name}", _plain(ast.get_docstring(classes[name]) or "")]
        made = _made(classes[name])
        if made:
            parts.append(f"```python\n{made}\n```")
        rows = [
            f"| `{_cell(left)}` | `{_cell(kind)}` | {_cell(_plain(said))} |"
            for left, kind, said in _members(classes[name])
        ]
        if rows:
            parts.append("\n".join(["| name | type | meaning |", "| --- | --- | --- |", *rows]))
    return "\n\n".join(parts) + "\n"


def _made(node: ast.ClassDef) -> str:
    """How a user makes one, an argument per line where one line is too long; nothing where only the core makes them."""
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and member.name == "__new__":
            told = _arguments(member.args)
            whole = f"{node.name}({', '.join(told)})"
            return whole if len(whole) <= _LINE else "\n".join([f"{node.name}(", *(f"    {one}," for one in told), ")"])
    return ""


def _arguments(given: ast.arguments) -> list[str]:
    """Each argument as it is written, without the first, which is the class."""
    own, named = given.args[1:], given.kwonlyargs
    values = [*([None] * (len(own) - len(given.defaults))), *given.defaults, *given.kw_defaults]
    said = [
        f"{ast.unparse(one)} = {ast.unparse(value)}" if value else ast.unparse(one)
        for one, value in zip([*own, *named], values, strict=True)
    ]
    return [*said[: len(own)], *(["*"] if named else []), *said[len(own) :]]


def _members(node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Name, type and docstring of each attribute and method."""
    for member, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(member, ast.AnnAssign):
            said = after.value if isinstance(after, ast.Expr) else None
            words = said.value if isinstance(said, ast.Constant) and isinstance(said.value, str) else ""
            yield ast.unparse(member.target), ast.unparse(member.annotation), words
        elif isinstance(member, ast.FunctionDef):
            kind = ast.unparse(member.returns) if member.returns else ""
            is_property = any(ast.unparse(decorator) == "property" for decorator in member.decorator_list)
            told = re.sub(r"^\w+, ", "", ast.unparse(member.args))
            if is_property:
                yield member.name, kind, ast.get_docstring(member) or ""
            elif not member.name.startswith("_"):
                yield f"{member.name}({'' if told == 'self' else told})", kind, ast.get_docstring(member) or ""


def _plain(said: str) -> str:
    """Without line ends, and with the marks of Markdown."""
    said = re.sub(r":\w+:`([^`]+)`", r"`\1`", said.replace("``", "`"))
    return re.sub(r"\s*\n(?!\n)\s*", " ", said.strip())


def _cell(said: str) -> str:
    return said.replace("|", "\\|").replace("\n", " ")
