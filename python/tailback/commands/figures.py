"""``tailback plot``: figures of a saved result or sweep, each by its name."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tailback.errors import StorageError, TailbackError, one_of

if TYPE_CHECKING:
    from tailback.results import Result
    from tailback.sweeps import Runs


def draw_figures(folder: Path, names: Sequence[str], *, out: Path | None, kind: str, options: Sequence[str]) -> None:
    """Draws figures of what is in a folder and writes them beside it, or into ``out``.

    Raises:
        StorageError: where nothing of ours is there, or a figure cannot be written.
        TailbackError: for a figure that there is none of, or that what is there cannot show.
    """
    from tailback.plot.style import save

    found = load(folder)
    plots = found.plot
    known = figures_of(plots)
    if not names:
        typer.echo("\n".join(f"{name:18}{_said(getattr(plots, name))}" for name in known))
        return
    for name in names:
        if name not in known:
            raise TailbackError(f"{name}: no such figure; expected {one_of(name, known)}")
        try:
            made = getattr(plots, name)(**_options(options))
        except (KeyError, ValueError, TypeError) as error:
            raise TailbackError(f"{name}: {error.args[0] if error.args else error}") from error
        target = (out or folder) / f"{name}.{kind}"
        target.parent.mkdir(parents=True, exist_ok=True)
        save(made, target)
        typer.echo(str(target))


def load(folder: Path) -> Result | Runs:
    """The result or sweep in a folder.

    Raises:
        StorageError: where there is neither.
    """
    from tailback.results.store import ABOUT as RESULT
    from tailback.results.store import load as load_result
    from tailback.sweeps.store import ABOUT as SWEEP
    from tailback.sweeps.store import load as load_sweep

    if (folder / SWEEP).is_file():
        return load_sweep(folder)
    if (folder / RESULT).is_file():
        return load_result(folder)
    raise StorageError(f"{folder}: holds neither a result nor a sweep; `tailback run` and `tailback sweep` write them")


def figures_of(plots: object) -> list[str]:
    """The names of the figures that there are."""
    return [name for name in dir(plots) if not name.startswith("_")]


def _said(method: object) -> str:
    """The first paragraph of a method's docstring, on as many lines as it needs."""
    first = (inspect.getdoc(method) or "").split("\n\n", 1)[0]
    return textwrap.fill(" ".join(first.split()), 78, initial_indent=" " * 18, subsequent_indent=" " * 18).strip()


def _options(texts: Sequence[str]) -> dict[str, Any]:
    from tailback.scenario.fields import from_text

    return {name.strip(): from_text(value.strip()) for name, _, value in (text.partition("=") for text in texts)}
