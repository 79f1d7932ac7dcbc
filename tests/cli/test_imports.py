"""What commands import: each package takes time before the first word is printed, so a command has those that it needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HELP_MAY_IMPORT = {"annotated_doc", "colorama", "shellingham", "tailback", "typer", "typing_extensions"}
"""The packages, other than Python's own, that --help may cost: each takes longer than Python itself."""


@pytest.mark.parametrize("words", [["--help"], [], ["run", "--help"], ["run"]])
def test_help_imports_only_what_it_needs(words: list[str]) -> None:
    imported = _imported(words)
    foreign = {name.partition(".")[0] for name in imported} - set(sys.stdlib_module_names)
    assert {name for name in foreign if not name.startswith("_")} <= HELP_MAY_IMPORT
    assert not imported & {"tailback._core", "asyncio"}


@pytest.mark.parametrize(
    ("words", "left_out"),
    [
        (["schemes", "cubic"], {"numpy", "polars", "pydantic", "matplotlib"}),
        (["run", "small.toml", "--no-plot"], {"pydantic", "matplotlib", "scipy", "tailback.scenario._models"}),
        (["run", "small.toml"], {"pydantic", "scipy", "matplotlib.pyplot"}),
        (["send", "small.toml", "127.0.0.1:9", "--plaintext", "--patience", "0.1 s"], {"pydantic", "polars", "numpy"}),
        (["shell", "--rate", "fast"], {"pydantic", "polars", "numpy"}),
    ],
)
def test_commands_import_only_what_they_need(here: Path, words: list[str], left_out: set[str]) -> None:
    del here
    assert _imported(words) & left_out == set()


def _imported(words: list[str]) -> set[str]:
    """The modules that a command imports, in a process of its own."""
    code = f"import sys; sys.argv = ['tailback', *{words}]; import tailback.cli\n"
    code += "try: tailback.cli.main()\nexcept SystemExit: pass\n"
    code += "print('imported:', *sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env=_paths())
    assert "Usage: tailback" in done.stdout + done.stderr or len(words) > 1
    return set(done.stdout.splitlines()[-1].split()[1:])


def _paths() -> dict[str, str]:
    """Finds packages without ``site``, which may import whatever an environment asks for."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
