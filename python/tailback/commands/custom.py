"""Custom parts for the command line: every controller and queue discipline that a Python file defines. What a part must have
is checked in ``custom/registry.py``."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tailback.errors import PartError, StorageError, TailbackError
from tailback.paths import isfile, why_not


def use_files(files: Sequence[Path]) -> None:
    """Imports Python files and registers the parts that they define.

    Raises:
        StorageError: where a file is not there.
        TailbackError: where it cannot be imported, or defines no part.
        PartError: where two controllers, or two queues, have the same name, of which a scenario would mean the last.
    """
    from tailback.custom.registry import key_of, name_of, register

    found: dict[Any, tuple[Path, Any]] = {}
    for file in files:
        for part in _parts_of(file):
            other, known = found.setdefault(key_of(part), (file, part))
            if known is not part:
                raise PartError(
                    f"{file}: {part.__name__} is called {name_of(part)}, as {known.__name__} of {other} is; "
                    f'expected another name, such as name = "{name_of(part)}-2" in the class'
                )
            register(part)


def _parts_of(file: Path) -> list[Any]:
    from tailback.custom import Controller, QueueDiscipline
    from tailback.custom.registry import explained

    if not isfile(file):
        found = why_not(file) or "is a folder"
        raise StorageError(f"{file}: {found}; expected a Python file with your classes")
    if file.suffix != ".py":
        raise StorageError(f"{file}: is no Python file; expected one whose name ends in .py")
    known = sys.modules.get(file.stem)
    taken = known is not None and Path(known.__file__ or "").resolve() != file.resolve()
    if taken or file.stem in sys.stdlib_module_names:
        raise TailbackError(f"{file}: another module is called {file.stem}; expected a file of another name")
    # Found by name in the processes of a sweep too, which inherit the path.
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(file.stem)
    except Exception as error:
        raise TailbackError(f"{file}: cannot be imported: {explained(error)}") from error
    if Path(module.__file__ or "").resolve() != file.resolve():
        raise TailbackError(
            f"{file}: cannot be imported, for another module is called {file.stem}; expected another name"
        )
    own = [
        thing
        for thing in vars(module).values()
        if isinstance(thing, type)
        and issubclass(thing, Controller | QueueDiscipline)
        and thing.__module__ == module.__name__
    ]
    parts = [thing for thing in own if not inspect.isabstract(thing)]
    if own and not parts:
        lacking = ", ".join(sorted(own[-1].__abstractmethods__))
        raise PartError(
            f"{file}: {own[-1].__name__} lacks {lacking}; expected a class with all methods that a part needs"
        )
    if not parts:
        raise TailbackError(f"{file}: defines no part; expected a subclass of tailback.Controller or QueueDiscipline")
    return parts


def scheme_of(text: str) -> Any:
    """A scheme by its name, a custom one included, or as a JSON table.

    Raises:
        PartError: for a custom scheme that has settings without defaults; those need the table.
    """
    from tailback.custom.registry import scheme_of_name, table
    from tailback.scenario.texts import from_text

    custom = scheme_of_name(text)
    return table(custom, {}) if custom is not None else from_text(text)


@contextmanager
def part_errors() -> Iterator[None]:
    """What a custom part raises inside becomes an error that names the line; no traceback is needed then.

    Raises:
        PartError: for what was raised in a file of the user's.
    """
    from tailback.custom.registry import explained, has_parts

    try:
        yield
    except Exception as error:
        if isinstance(error, TailbackError) or not has_parts():
            raise
        raise PartError(explained(error)) from error
