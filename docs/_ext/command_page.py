"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

LEAD = "`tailback --help` and `tailback COMMAND --help` say the same."


def text() -> str:
    """The page."""
    from typer.main import get_command

    from tailback.cli import app

    commands = getattr(get_command(app), "commands", {})
    parts = ["# Command line", LEAD]
    for name, command in commands.items():
        parts += [f"## tailback {name}", _plain(command.help or "")]
        rows = list(_rows(command))
        if rows:
            parts.append("\n".join(["| | | default |", "| --- | --- | --- |", *rows]))
    return "\n\n".join(parts) + "\n"


def _rows(command: Any) -> Iterator[str]:
    for parameter in command.params:
        if getattr(parameter, "hidden", False) or parameter.name == "help":
            continue
        if parameter.param_type_name == "argument":
            said = f"`{_cell(parameter.metavar or str(parameter.name).upper())}`"
        else:
            names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
            said = names if parameter.is_flag else f"{names} {_cell(parameter.metavar or str(parameter.name).upper())}"
        told = getattr(parameter, "show_default", None)
        default = parameter.default if not isinstance(told, str) else told
        shown = "" if not default or callable(default) else "on" if default is True else f"`{default}`"
        yield f"| {said} | {_cell(_plain(parameter.help or ''))} | {_cell(shown)} |"


def _plain(told: str) -> str:
    return re.sub(r"\s*\n(?!\n)\s*", " ", told.strip())


def _cell(told: str) -> str:
    return told.replace("|", "\\|")
