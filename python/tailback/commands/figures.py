"""``tailback plot``: figures of a saved result or sweep, each by its name."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from tailback.commands.quick import draws
from tailback.errors import TailbackError, refused, unknown
from tailback.paths import isdir
from tailback.saved import load


@draws
def draw_figures(
    folder: Path, words: Sequence[str], *, out: Path | None, kind: str, options: Sequence[str], trust: bool = False
) -> None:
    """Draws figures of what is in a folder and writes them beside it, or into ``out``.

    Raises:
        StorageError: where nothing of ours is there, or a figure cannot be written.
        TailbackError: for a figure that there is none of, or that what is there cannot show.
    """
    from tailback.plot.figures import names_of
    from tailback.plot.style import FORMATS, save
    from tailback.results.files import make_folder

    found = load(folder, trust=trust)
    plots = found.plot
    known = names_of(plots)
    if not words:
        typer.echo("\n".join(f"{name:18}{_said(getattr(plots, name))}" for name in known))
        return
    if kind not in FORMATS:
        raise refused("--kind", kind, f"one of {', '.join(FORMATS)}")
    if out is not None and out.suffix.removeprefix(".").lower() in FORMATS and not isdir(out):
        raise refused(
            "--out", str(out), f"a folder, in which each figure has its name; --kind is one of {', '.join(FORMATS)}"
        )
    for name, arguments in _figures(words, known):
        method = getattr(plots, name)
        positional, named = _bound(name, method, arguments, _options(options), known)
        try:
            made = method(*positional, **named)
        except TailbackError as error:
            raise TailbackError(f"{name}: {error}") from error
        target = (out or folder) / f"{name}.{kind}"
        was_there = isdir(target.parent)
        make_folder(target.parent)
        try:
            save(made, target)
        except TailbackError:
            if not was_there:
                with suppress(OSError):
                    target.parent.rmdir()
            raise
        typer.echo(str(target))


def _said(method: object) -> str:
    """The first paragraph of a method's docstring, on as many lines as it needs."""
    first = (inspect.getdoc(method) or "").split("\n\n", 1)[0]
    return textwrap.fill(
        " ".join(first.replace("``", "").split()), 78, initial_indent=" " * 18, subsequent_indent=" " * 18
    ).strip()


def _figures(words: Sequence[str], known: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The figures that are asked for, each with the words that follow it and are no figures themselves.

    Raises:
        NotFoundError: where the first word is no figure.
    """
    found: list[tuple[str, list[str]]] = []
    for word in words:
        if word in known:
            found.append((word, []))
        elif found:
            found[-1][1].append(word)
        else:
            raise unknown("figure", word, known)
    return found


def _bound(
    name: str, method: Callable[..., object], words: Sequence[str], options: Mapping[str, Any], known: Sequence[str]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a figure from the words after it and from options; a list of names may be an option too.

    Raises:
        TailbackError: for words that it does not take, or an option that it does not know.
    """
    parameters = {each: one for each, one in inspect.signature(method).parameters.items() if each != "ax"}
    several = next((each for each, one in parameters.items() if one.kind is one.VAR_POSITIONAL), None)
    for option in options:
        if option not in parameters:
            raise unknown(f"argument of {name}", option, parameters)
    places = [each for each, one in parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
    if len(words) > len(places) and several is None:
        takes = f"{name} takes {', '.join(places) or 'no words, but --set NAME=VALUE'}"
        raise unknown("figure", words[len(places)], known, f"; {takes}")
    named = dict(options)
    positional: list[Any] = list(words)
    if several in named:
        asked = named.pop(several)
        positional = [*positional, *[None] * (len(places) - len(positional))]
        positional += asked.replace(",", " ").split() if isinstance(asked, str) else asked
    return positional, named


def _options(texts: Sequence[str]) -> dict[str, Any]:
    from tailback.scenario.texts import from_text

    options: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign:
            raise refused("--set", text, "NAME=VALUE, as in by=scheme")
        if name.strip() in options:
            raise refused("--set", text, f"one value of {name.strip()}")
        options[name.strip()] = from_text(value.strip())
    return options
