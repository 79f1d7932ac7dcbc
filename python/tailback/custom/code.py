"""The code that decides what a custom part does: the user's own modules, from those of its classes on along what they import.
How a part goes to other processes is the business of ``shipping.py``."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from tailback.custom.registry import Part

_NOT_OURS = frozenset({"tailback", *sys.stdlib_module_names})
"""Packages whose code is another matter: the engine's digest stands for the library, and Python's own is taken as fixed."""
_INSTALLED = {"site-packages", "dist-packages"}
"""Folders of what is installed, which is taken as fixed too."""
_IMPORTS: dict[tuple[str, str], tuple[str, ...]] = {}
"""What files import, by their digest and package: a sweep asks for each of its variants, and parsing takes milliseconds."""
_BY_NAME = {"import_module", "__import__"}
"""Functions that import what a text names."""


def modules_of(part: Part) -> dict[str, str]:
    """The user's modules that a part is made of, by name: a digest of each one's file.

    Imports inside functions count, and so does what is named in a call of ``importlib.import_module``. A name that is computed
    cannot be followed, nor can files that a part reads.
    """
    found: dict[str, str] = {}
    left = [*dict.fromkeys(made.__module__ for made in _made_of(part))]
    while left:
        name = left.pop()
        if name in found or name.partition(".")[0] in _NOT_OURS:
            continue
        spec = _spec(name)
        if spec is None:  # A notebook's cells.
            found[name] = ""
            left += _used_by(sys.modules[name]) if name in sys.modules else []
        elif spec.origin is not None and not _is_installed(Path(spec.origin)):
            found[name], imported = _read(name, spec)
            left += imported
    return found


def _is_installed(file: Path) -> bool:
    """Whether pip or the like put a file where it is, also outside the folders of that name, as with ``pip install --target``."""
    return not _INSTALLED.isdisjoint(file.parts) or any(
        file.relative_to(folder).as_posix() in _recorded(folder) for folder in file.parents
    )


@lru_cache(maxsize=1024)
def _recorded(folder: Path) -> frozenset[str]:
    """The files in a folder that distributions installed there list as theirs."""
    lists = [_lines(record) for record in folder.glob("*.dist-info/RECORD")]
    return frozenset(line.rsplit(",", 2)[0].strip('"') for lines in lists for line in lines)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def digest_of(part: Part, modules: Mapping[str, str] | None = None) -> str:
    """Of the files of :func:`modules_of`, in whatever folders they lie; and of the class itself where they do not settle what it
    is: where one was made by a function, or has no file. Of a part in one file it is this file's."""
    modules = modules_of(part) if modules is None else modules
    said = [*modules.values(), *(_by_value(made) for made in _made_of(part) if not _is_settled(made, modules))]
    return said[0] if len(said) == 1 else _digest(" ".join(said).encode())


def _is_settled(made: type, modules: Mapping[str, str]) -> bool:
    if made.__module__ not in modules:
        return True  # The library's.
    if not modules[made.__module__] or "<locals>" in made.__qualname__:
        return False
    return _is_from_its_file(made) and _is_what_is_there(made)


def _is_what_is_there(made: type) -> bool:
    """Whether its module has this class, and not another that took its place, as where the module was imported anew."""
    there: Any = sys.modules.get(made.__module__)
    for name in made.__qualname__.split("."):
        there = getattr(there, name, made)  # Where it was taken away, nothing took its place.
    return there is made


def _is_from_its_file(made: type) -> bool:
    """Whether a class was written in the file of its module. One that was typed beside a script, as in ``python -i`` or after
    IPython's ``%run``, is of the module ``__main__`` too."""
    functions = [inspect.unwrap(each) for each in vars(made).values() if isinstance(each, FunctionType)]
    files = {Path(each.__code__.co_filename).name for each in functions}
    if files:
        return Path(str(getattr(sys.modules.get(made.__module__), "__file__", ""))).name in files
    return made.__module__ != "__main__" or not hasattr(sys, "ps1")


def _made_of(part: Part) -> Iterator[type]:
    """The classes that a part is made of."""
    policy = getattr(part, "policy", None)
    report = getattr(policy, "Report", None)
    for thing in (part, policy, report):
        yield from inspect.getmro(thing) if isinstance(thing, type) else ()


def _spec(name: str) -> ModuleSpec | None:
    """Where a module is from, without importing it; nothing where there is none, or it has no file."""
    module = sys.modules.get(name)
    if module is None:
        return _found(name)
    if file := getattr(module, "__file__", None):  # A script that was started has no name that it could be found by.
        return ModuleSpec(name, None, origin=str(file), is_package=hasattr(module, "__path__"))
    return getattr(module, "__spec__", None)


def _found(name: str) -> ModuleSpec | None:
    """Where a module that is not imported yet would come from."""
    outer = name.rpartition(".")[0]
    try:
        if not outer:
            return importlib.util.find_spec(name)
        folders = getattr(sys.modules.get(outer), "__path__", None) or getattr(
            _spec(outer), "submodule_search_locations", None
        )
        return PathFinder.find_spec(name, [*folders]) if folders else None
    except (ImportError, ValueError):
        return None


def _read(name: str, spec: ModuleSpec) -> tuple[str, list[str]]:
    """A digest of a module's file, and the modules that it imports."""
    try:
        data = Path(str(spec.origin)).read_bytes()
    except OSError:  # Gone, or no file at all: no digest that another process, or a later one, could have.
        return secrets.token_hex(), []
    package = getattr(sys.modules.get(name), "__package__", None) or _package(name, spec)
    digest = _digest(data)
    if (digest, package) not in _IMPORTS:
        _IMPORTS[digest, package] = _imports(data, package)
    return digest, [found for found in _IMPORTS[digest, package] if _is_module(found)]


def _package(name: str, spec: ModuleSpec) -> str:
    return name if spec.submodule_search_locations is not None else name.rpartition(".")[0]


def _imports(source: bytes, package: str) -> tuple[str, ...]:
    """What a file in ``package`` may import: modules, and names that may be modules or not."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError):  # Compiled.
        return ()
    named = [name for node in nodes for name in _named(node, package)]
    return tuple(dict.fromkeys(outer for name in named for outer in _with_outer(name)))


def _named(node: ast.AST, package: str) -> Iterable[str]:
    match node:
        case ast.Import():
            return [alias.name for alias in node.names]
        case ast.ImportFrom():
            outer = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*outer, *([node.module] if node.module else [])])
            return [base, *(f"{base}.{alias.name}" for alias in node.names)]
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=[ast.Constant(value=str(name)), *_]):
            return [name] if called in _BY_NAME else []
    return []


def _with_outer(name: str) -> Iterator[str]:
    """A name and the packages that it is in, which run first."""
    words = name.split(".")
    yield from (".".join(words[:count]) for count in range(1, len(words) + 1) if all(words[:count]))


def _is_module(name: str) -> bool:
    return name.partition(".")[0] not in _NOT_OURS and (name in sys.modules or _spec(name) is not None)


def _used_by(module: ModuleType) -> list[str]:
    """The modules of what stands in a module without a file."""
    things = list(vars(module).values())
    names = [
        thing.__name__ if isinstance(thing, ModuleType) else getattr(thing, "__module__", None) for thing in things
    ]
    return [name for name in names if isinstance(name, str) and name in sys.modules]


def _by_value(made: type) -> str:
    """Of a class with all that its methods use, as it is in this process."""
    import cloudpickle

    try:
        return _digest(cloudpickle.dumps(made))
    except Exception:  # Whatever it holds that cannot be written down.
        return secrets.token_hex()


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
