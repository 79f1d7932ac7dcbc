"""Writes the pages that come from the code: scenario fields, schemes, sources, queue disciplines, the command line, what
custom parts see, the gallery. A Sphinx extension.

Everything goes to docs/generated, which is not kept. What each kind of page says is decided in the modules beside this.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import command_page
import gallery_pages
import parts_page
import queue_pages

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def cell(text: object) -> str:
    """Text that may stand in a table of Markdown."""
    return str(text).replace("\n", " ").replace("|", "\\|")


def parameters(entry: Mapping[str, Any]) -> str:
    """The table of an entry's parameters."""
    if not entry["parameters"]:
        return "No parameters.\n"
    lines = ["| parameter | default | | meaning |", "| --- | --- | --- | --- |"]
    for item in entry["parameters"]:
        default = "" if item["default"] is None else f"`{json.dumps(item['default'], ensure_ascii=False)}`"
        lines.append(f"| `{item['name']}` | {cell(default)} | {cell(item['type'])} | {cell(item['summary'])} |")
    return "\n".join(lines) + "\n"


def listing(entries: list[dict[str, Any]], title: str, lead: str) -> str:
    """One page for all entries of a kind."""
    parts = [f"# {title}\n\n{lead}\n"]
    for entry in entries:
        source = f" Source: {entry['source']}." if entry["source"] else ""
        parts.append(f"## {entry['name']}\n\n{entry['summary'].rstrip('.')}.{source}\n\n{parameters(entry)}")
    return "\n".join(parts)


def columns(tables: Mapping[str, list[dict[str, str]]]) -> str:
    """One page for the columns of all tables of a result."""
    parts = ["# Columns\n\nWhat the tables of a result record. Rates and shares beside them are computed from these.\n"]
    for table, entries in tables.items():
        lines = ["| column | unit | kind | meaning |", "| --- | --- | --- | --- |"]
        for item in entries:
            lines.append(f"| `{item['name']}` | {item['unit']} | {item['kind']} | {cell(item['about'])} |")
        parts.append(f"## {table}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def write(folder: Path) -> None:
    """Writes all generated pages."""
    from tailback import _core
    from tailback.commands import reference
    from tailback.units import all_shown

    folder.mkdir(exist_ok=True)
    known = json.loads(_core.registry(), object_hook=all_shown)
    (folder / "scenario.md").write_text(
        reference.text(json.loads(_core.schema(), object_hook=all_shown)), encoding="utf-8"
    )
    (folder / "columns.md").write_text(columns(json.loads(_core.columns())), encoding="utf-8")
    lead = "Congestion control, by the names that scenarios use. `tailback schemes NAME` prints the same about one of them."
    (folder / "schemes.md").write_text(listing(known["schemes"], "Schemes", lead), encoding="utf-8")
    lead = "Applications, by the names that scenarios use. `tailback sources NAME` prints the same about one of them."
    (folder / "sources.md").write_text(listing(known["sources"], "Sources", lead), encoding="utf-8")
    (folder / "commands.md").write_text(command_page.text(), encoding="utf-8")
    (folder / "parts.md").write_text(parts_page.text(), encoding="utf-8")
    queue_pages.write(known["queues"], folder / "queues", parameters)
    gallery_pages.write(folder / "gallery")


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx calls this."""
    write(Path(app.srcdir) / "generated")
    return {"version": "1", "parallel_read_safe": True}


if __name__ == "__main__":
    write(Path(__file__).parent.parent / "generated")
