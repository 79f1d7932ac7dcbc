"""Scenario files as the core reads them. Scenarios as objects are in ``scenario.py``."""

from __future__ import annotations

from pathlib import Path

from tailback import _core
from tailback.errors import ScenarioError, StorageError
from tailback.paths import exists, isfile, why_not
from tailback.results.files import path_of


def read(path: str | Path) -> str:
    """The scenario in a TOML file as JSON, checked and complete; paths of traces in it are relative to the file.

    Raises:
        ScenarioError: everything that is wrong with it.
        StorageError: where there is no such file, or what is there is none: a folder, a pipe, a device.
    """
    file = path_of("path", path)
    expect_file(file)
    try:
        return _core.load_toml(str(file))
    except ScenarioError as error:
        from tailback.scenario.problems import with_way  # Which is slow to import, and needed for errors alone.

        raise ScenarioError([with_way(problem) for problem in error.problems], error.source) from None


def expect_file(file: Path) -> None:
    """Complains where there is no file to read a scenario from.

    Raises:
        StorageError: where there is no such file, or what is there is none: a folder, a pipe, a device.
    """
    if str(file) == "-" and not exists(file):
        raise StorageError("-: standard input is not read; expected a scenario in TOML, in a file")
    if not isfile(file):
        found = why_not(file)
        if not found:
            kinds = {"a folder": file.is_dir(), "a pipe": file.is_fifo()}
            found = f"is {next((kind for kind, so in kinds.items() if so), 'no regular file')}"
        raise StorageError(f"{file}: {found}; expected a scenario in TOML")
