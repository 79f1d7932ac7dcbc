"""What somebody sees of a transfer while it lasts: offers, refusals, other lengths of packets, and a bar with live rates on a
terminal. What is said at its end is in ``transfer.py``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_MOVED = ("moving", "checking")


def in_bytes(count: int) -> str:
    """So many bytes, to the last."""
    return f"{count:,} byte{'' if count == 1 else 's'}"


class Seen:
    """Hears from the core, and shows a bar with live rates to somebody on a terminal, unless it is to be ``quiet``."""

    def __init__(self, listening: Callable[[int], None] | None = None, *, quiet: bool = False) -> None:
        self._listening = listening
        self._is_seen = sys.stderr.isatty() and not quiet
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._what = ""
        self._packet: int | None = None
        self.has_begun = False
        """Whether bytes have moved."""

    def __enter__(self) -> Seen:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def hear(self, text: str) -> None:
        """What the core says, in JSON."""
        said = json.loads(text)
        phase = said["phase"]
        if phase == "listening":
            if self._listening is not None:
                self._listening(said["port"])
        elif phase == "offer":
            typer.echo(f"{said['name']}, {in_bytes(said['total'])}, comes under {said['scheme']}", err=True)
        elif phase == "refused":
            typer.echo(f"refused {said['name']}, and still waiting: {said['why']}", err=True)
        else:
            self.has_begun = self.has_begun or phase in _MOVED
            self._hear_of_packets(said["packet_bytes"])
            if self._is_seen and said["total"]:
                self._show(phase, said["done"], said["total"], said["rtt_seconds"])

    def _hear_of_packets(self, longest: int | None) -> None:
        """The longest packet, as long as it is known."""
        if longest is None:
            return
        if self._packet is not None and longest != self._packet:
            change = "shorter packets now" if longest < self._packet else "longer packets again"
            line = f"the path carries {change}: at most {longest:,} bytes each, and {self._packet:,} before"
            if self._progress is None:
                typer.echo(line, err=True)
            else:
                self._progress.console.print(line)
        self._packet = longest

    def _show(self, phase: str, done: int, total: int, rtt: float | None) -> None:
        progress = self._progress or self._begin()
        if self._task is None or phase != self._what:
            # A phase of its own, so that its rate is no mean with that of the one before.
            if self._task is not None:
                progress.remove_task(self._task)
            self._what = phase
            self._task = progress.add_task(phase, total=total, completed=done, rtt="")
        shown = "" if rtt is None else f"RTT {1e3 * rtt:.3g} ms"
        progress.update(self._task, completed=done, rtt=shown)

    def _begin(self) -> Progress:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TextColumn("{task.fields[rtt]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            refresh_per_second=4,
        )
        self._progress.start()
        return self._progress
