"""The gallery: every script of docs/gallery run as it stands, its picture and what it printed beside its code."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent / "gallery"
LEAD = """One idea each: a complete script, what it printed, and the picture it drew. All of them were run when this page
was made, and the project's tests run them again. Take one, change a number, and look.
"""
ENVIRONMENT = {"MPLBACKEND": "Agg", "POLARS_FMT_TABLE_HIDE_DATAFRAME_SHAPE_INFORMATION": "1"}
"""What scripts run with besides."""


@dataclass(frozen=True)
class Example:
    """A script and what came of it."""

    name: str
    title: str
    text: str
    code: str
    printed: str
    picture: bytes


def scripts() -> list[Path]:
    """All scripts, in the order in which they are shown: their names begin with a number."""
    return sorted(SCRIPTS.glob("[0-9][0-9]_*.py"))


def run(script: Path) -> Example:
    """Runs a script in a folder of its own.

    Raises:
        RuntimeError: where it fails, or leaves no picture of its name; says what it complained about.
    """
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(script)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **ENVIRONMENT},
        )
        if done.returncode:
            raise RuntimeError(f"{script}: {done.stderr.strip()}")
        return example(script, done.stdout, Path(folder))


def example(script: Path, printed: str, folder: Path) -> Example:
    """A script that has run in ``folder`` and printed this.

    Raises:
        RuntimeError: where it left no picture of its name.
    """
    source = script.read_text(encoding="utf-8")
    title, _, text = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
    name = script.stem[3:]
    drawn = folder / f"{name}.svg"
    if not drawn.is_file():
        raise RuntimeError(f"{script}: drew no {name}.svg")
    code = source.split('"""', 2)[2].strip()
    return Example(name, title.rstrip("."), text.strip(), code, printed.strip(), drawn.read_bytes())


def write(folder: Path) -> None:
    """Runs all scripts and writes their pages with an index of pictures."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    examples = [run(script) for script in scripts()]
    for example in examples:
        (folder / f"{example.name}.svg").write_bytes(example.picture)
        (folder / f"{example.name}.md").write_text(page(example), encoding="utf-8")
    cards = "\n".join(
        f":::{{container}} card\n[![{example.title}]({example.name}.svg)]({example.name}.md)\n\n"
        f"[{example.title}]({example.name}.md)\n:::"
        for example in examples
    )
    cards = f"::::{{container}} gallery\n{cards}\n::::"
    names = "\n".join(example.name for example in examples)
    toc = f"```{{toctree}}\n:hidden:\n\n{names}\n```"
    (folder / "index.md").write_text(f"# Gallery\n\n{LEAD}\n{cards}\n\n{toc}\n", encoding="utf-8")


def page(example: Example) -> str:
    """One script's page."""
    parts = [
        f"# {example.title}",
        example.text,
        f"![{example.title}]({example.name}.svg)",
        f"```python\n{example.code}\n```",
        f"It printed:\n\n```text\n{example.printed}\n```",
    ]
    return "\n\n".join(parts) + "\n"
