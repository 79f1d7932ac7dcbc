"""Circles among the modules of a crate: which file imports which, and who imports each other around a circle.

A folder's files and the file that gathers them count as parts of one thing: a file may import what its folder's own file
defines, and that one names its parts. What is left, between siblings and between folders, must have an order. Which
circles are recursion of the matter is said in check_architecture.py, which asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

Name = tuple[str, ...]
"""A module by its path in the crate; the crate's root is empty."""
Graph = dict[Name, set[Name]]

_USE = re.compile(r"(pub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);")
_IN_LINE = re.compile(r"\bcrate::((?:\w+::)*\w+)")
_TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod \w+\s*\{")


def circles(sources: Path) -> list[list[str]]:
    """Every circle among the files of a folder ``src``, each as the names of its modules, sorted."""
    return [sorted("::".join(name) or "lib" for name in circle) for circle in strongly_connected(imports(sources))]


def imports(sources: Path) -> Graph:
    """Which module imports which, through re-exports, tests and a folder's own affairs left out."""
    files = {_name(path, sources): path for path in sources.rglob("*.rs")}
    named = {name: list(_named(path, name, files)) for name, path in files.items()}
    exported = {(name, path[-1]): path for name, found in named.items() for path, is_public in found if is_public}
    graph: Graph = {name: set() for name in files}
    for name, found in named.items():
        for path, is_public in found:
            target = _resolve(path, files, exported)
            is_within = target[: len(name)] == name or name[: len(target)] == target
            if not is_within and not (is_public and name == ()):
                graph[name].add(target)
    return graph


def _name(path: Path, sources: Path) -> Name:
    parts = path.relative_to(sources).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("lib", "mod", "main") else parts


def _named(path: Path, here: Name, files: dict[Name, Path]) -> Iterator[tuple[Name, bool]]:
    """The paths within the crate that a file names, and whether it passes them on."""
    text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
    text = _TESTS.split(text)[0]
    for public, tree in _USE.findall(text):
        for words in _flat((), tree):
            if inside := _inside(words, here, files):
                yield inside, bool(public)
    for words in _IN_LINE.findall(_USE.sub("", text)):
        yield tuple(words.split("::")), False


def _flat(prefix: Name, tree: str) -> Iterator[Name]:
    """The paths of a tree of imports: of ``a::{b, c::d}`` these are ``a::b`` and ``a::c::d``."""
    depth, start, branches = 0, 0, []
    for at, letter in enumerate(tree):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            branches.append(tree[start:at])
            start = at + 1
    for branch in (*branches, tree[start:]):
        head, brace, rest = branch.strip().partition("{")
        words = tuple(word for word in head.split(" as ")[0].strip().split("::") if word)
        if brace:
            yield from _flat((*prefix, *words), rest.rstrip()[:-1])
        elif words:
            yield (*prefix, *words)


def _inside(words: Name, here: Name, files: dict[Name, Path]) -> Name | None:
    """A path from the crate's root, or nothing where it leads out of the crate."""
    if words[0] == "crate":
        return words[1:]
    if words[0] == "self":
        return here + words[1:]
    if words[0] == "super":
        ups = next((n for n, word in enumerate(words) if word != "super"), len(words))
        return here[: len(here) - ups] + words[ups:]
    return here + words if (*here, words[0]) in files else None


def _resolve(path: Name, files: dict[Name, Path], exported: dict[tuple[Name, str], Name]) -> Name:
    """The module that defines what a path names."""
    for _ in range(8):
        module = next(path[:n] for n in range(len(path), -1, -1) if path[:n] in files)
        rest = path[len(module) :]
        further = exported.get((module, rest[0])) if rest else None
        if further is None or further == path:
            return module
        path = (*further, *rest[1:])
    return module


def strongly_connected(graph: Graph) -> list[list[Name]]:
    """The circles of a graph (Tarjan 1972)."""
    order: dict[Name, int] = {}
    low: dict[Name, int] = {}
    path: list[Name] = []
    found: list[list[Name]] = []

    def visit(name: Name) -> None:
        order[name] = low[name] = len(order)
        path.append(name)
        for other in graph[name]:
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in path:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            circle = path[path.index(name) :]
            del path[path.index(name) :]
            if len(circle) > 1:
                found.append(circle)

    for name in graph:
        if name not in order:
            visit(name)
    return found
