"""The group of commands, each built when somebody names it: to build all of them takes longer than many of them run. Which
commands there are stands beside this file."""

from __future__ import annotations

import inspect
import os
import re
import select
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

UNREAD = 128 + 13
"""The exit status of what nobody reads any more (SIGPIPE), as shells have it: of the first program in ``tailback run x | head``."""
STYLE: dict[str, Any] = {"rich_markup_mode": None, "pretty_exceptions_enable": False}
"""Help is plain text, as most commands print it: frames and colours would take longer than all the rest of it."""


class Commands(Mapping[str, Any]):
    """Commands by name, in the order in which they are listed, made of their functions when they are asked for."""

    def __init__(self, *functions: Callable[..., None], settings: Mapping[str, dict[str, Any]]) -> None:
        self._functions = {function.__name__: function for function in functions}
        self._settings = settings
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            alone = typer.Typer(add_completion=False, **STYLE)
            alone.command(name, context_settings=self._settings.get(name))(self._functions[name])
            self._built[name] = get_command(alone)
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def descriptions(self) -> list[tuple[str, str]]:
        """Their names, and the first paragraph of what each does; none is built for it."""
        docs = {name: inspect.getdoc(function) or "" for name, function in self._functions.items()}
        return [(name, doc.partition("\n\n")[0].replace("\n", " ")) for name, doc in docs.items()]


class Group(TyperGroup):
    """A group of such commands, which end without a traceback where somebody stops them, wherever they are."""

    lazily: Commands

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: Any = self.lazily

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, without building any."""
        del ctx
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the list of commands into the help, each description whole."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(self.lazily.descriptions())

    def make_context(self, *given: Any, **named: Any) -> Any:
        """Reads the command line, and prints help where it asks for that."""
        with _perhaps_unread():
            return super().make_context(*given, **named)

    def invoke(self, ctx: Any) -> object:
        """Runs the command; what a command says itself where it is stopped comes first."""
        try:
            with _perhaps_unread():
                return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = _plainly(error)
            raise
        except KeyboardInterrupt:
            typer.echo("tailback: stopped", err=True)
            raise typer.Exit(130) from None


@contextmanager
def _perhaps_unread() -> Iterator[None]:
    """Ends in silence where whoever read the output has gone. The library would give the status of an error."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError as error:
        if not _is_unread():
            # Some other pipe's end is a fault of ours, which the library would end with in silence.
            raise RuntimeError("a pipe broke that is not standard output") from error
        # What Python still holds goes nowhere: it would try again at exit, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(UNREAD) from None


def _is_unread() -> bool:
    """Whether nobody reads standard output or standard error any more."""
    ends = select.poll()
    for stream in (1, 2):
        ends.register(stream, 0)
    return any(what & (select.POLLERR | select.POLLHUP) for _, what in ends.poll(0))


def _plainly(error: typer.BadParameter) -> str:
    """What is wrong with a number, in the words of our own complaints: the value, and what is allowed."""
    kind = getattr(error.param, "type", None)
    value = re.match(r"(.+) is not (?:a valid (?:int|float)|in the range)", error.message)
    if value is None or kind is None:
        return error.message
    least, most = (getattr(kind, bound, None) for bound in ("min", "max"))
    number = "a number" if "float" in kind.name else "a whole number"
    bounds = [f"of at least {least}"] * (least is not None) + [f"of at most {most}"] * (most is not None)
    return f"{value[1]} is not allowed; expected {' '.join([number, ' and '.join(bounds)]).strip()}"


def group(lazily: Commands) -> type[Group]:
    """The class of the group of these commands."""
    return type("Listed", (Group,), {"lazily": lazily})
