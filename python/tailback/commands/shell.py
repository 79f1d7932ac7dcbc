"""``tailback shell``: a command behind an emulated link. The link's scenario and the namespaces are made in ``shell/``."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from tailback.custom import shipping
from tailback.errors import refused
from tailback.lab.run import lateness
from tailback.shell.launch import ShellError, launch, namespaces
from tailback.shell.links import Link, scenario_of


def run_shell(
    link: Link,
    command: Sequence[str],
    *,
    server: str | None,
    outside: bool | None,
    mtu: int,
    budget: str,
    record: Path | None,
) -> int:
    """Runs a command, or a shell where none is given, behind a link; its exit status.

    Raises:
        TailbackError: options that make no sense, or a system that does not let us.
    """
    median, p99 = lateness(budget)
    serving = None if server is None else _words(server)
    if record is not None:
        from tailback.results.store import expect_room

        expect_room(record.absolute())
    text = scenario_of(link)
    words = list(command) or [os.environ.get("SHELL", "/bin/sh")]
    how, is_free = namespaces()
    if outside and server is not None:
        raise refused("--server", server, "no server together with --outside, where others answer")
    if outside and not is_free:
        raise ShellError(
            "--outside needs power over the network that this process is in; expected root with the right CAP_NET_ADMIN, or "
            "a shell within a shell"
        )
    outward = is_free and server is None if outside is None else outside
    if outside is None and not outward and server is None:
        typer.echo(
            "tailback: the far end is a host of its own ($TAILBACK_FAR); to reach others takes root (see --outside)",
            err=True,
        )
    told = {
        "scenario": text,
        "outside": outward,
        "mtu": mtu,
        "command": _bytes(words),
        "typed": ["tailback", *map(_legible, sys.argv[1:])],
        "server": None if serving is None else _bytes(serving),
        "median_seconds": median,
        "p99_seconds": p99,
        "record": str(record.absolute()) if record else None,
    }
    return launch(how, told, shipping.pack(text))


def _bytes(words: Sequence[str]) -> list[list[int]]:
    """The words as the system has them: the name of a file may be no text."""
    return [list(os.fsencode(word)) for word in words]


def _legible(word: str) -> str:
    """The same where it is a text, and else with its bytes in it as ``\\xff``."""
    return os.fsencode(word).decode(errors="backslashreplace")


def _words(server: str) -> list[str]:
    try:
        words = shlex.split(server)
    except ValueError as error:
        raise refused("--server", server, f"a command as a shell reads it ({error})") from None
    if not words:
        raise refused("--server", server, "a command")
    return words
