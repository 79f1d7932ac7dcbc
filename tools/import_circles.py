"""Circles among the modules of the Python package: who imports each other, at the top of a file or within a function.

What is imported for type checkers alone (``TYPE_CHECKING``) does not count: a table may name what draws it, and the picture
the table. Which circles are excused is said in check_architecture.py, which asks. Circles of Rust's modules are
module_circles.py's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from module_circles import strongly_connected  # type: ignore[import-not-found]

Graph = dict[tuple[str, ...], set[tuple[str, ...]]]


def import_circles(package: Path) -> list[list[str]]:
    """Every circle among the files of a package, each as the names of its modules, sorted."""
    files = {_name(path, package): path for path in package.rglob("*.py")}
    graph: Graph = {name: set() for name in files}
    for name, path in files.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for target in _imported(tree, package.name):
            found = _file_of(target, files)
            if found is not None and found != name:
                graph[name].add(found)
    return [sorted(".".join(name) or package.name for name in circle) for circle in strongly_connected(graph)]


def _name(path: Path, package: Path) -> tuple[str, ...]:
    parts = path.relative_to(package).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def _file_of(target: tuple[str, ...], files: dict[tuple[str, ...], Path]) -> tuple[str, ...] | None:
    """The file of a name: the module itself, or the one that defines it."""
    return next((name for name in (target, target[:-1]) if name in files), None)


def _imported(node: ast.AST, package: str) -> Iterator[tuple[str, ...]]:
    """What is imported from the package, as paths within it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.Import):
            names = [alias.name for alias in child.names]
        elif isinstance(child, ast.ImportFrom) and child.module:
            names = [f"{child.module}.{alias.name}" for alias in child.names]
        else:
            names = []
        for name in names:
            first, *rest = name.split(".")
            if first == package:
                yield tuple(rest)
        yield from _imported(child, package)
