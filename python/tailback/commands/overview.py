"""The picture that commands lay beside a result which they keep. What it shows is the business of ``plot``; when there is one, of
each command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tailback.commands.quick import draws

if TYPE_CHECKING:
    from tailback.results import Result


@draws
def draw_overview(result: Result, folder: Path) -> None:
    """Writes ``overview.svg`` into the folder."""
    from tailback.plot.style import save

    save(result.plot.overview(), folder / "overview.svg")
