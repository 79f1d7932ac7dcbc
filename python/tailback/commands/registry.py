"""``tailback schemes``, ``queues`` and ``sources``: what a scenario can name."""

from __future__ import annotations

import json
from typing import Any

import typer


def show(kind: str, *, as_json: bool) -> None:
    """Prints the registered schemes, queues or sources with their parameters."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from tailback import _core

    entries: list[dict[str, Any]] = json.loads(_core.registry())[kind]
    if as_json:
        typer.echo(json.dumps(entries, indent=1, ensure_ascii=False))
        return
    console = Console(highlight=False)
    for entry in entries:
        source = f"  [dim]{entry['source']}[/dim]" if entry.get("source") else ""
        console.print(f"[bold]{entry['name']}[/bold]{source}")
        console.print(Text("  " + _plain(entry["summary"])))
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for _ in range(4):
            table.add_column(overflow="fold")
        for parameter in entry["parameters"]:
            default = parameter.get("default")
            written = "" if default is None else default if isinstance(default, str) else json.dumps(default)
            table.add_row(
                "   ", parameter["name"], Text(written, style="cyan"), Text(_plain(parameter["summary"]), style="dim")
            )
        if table.row_count:
            console.print(table)
        if entry.get("state"):
            console.print(Text(f"  State that record.queue_state records: {', '.join(entry['state'])}", style="dim"))
        console.print()


def _plain(text: str) -> str:
    return " ".join(text.split())
