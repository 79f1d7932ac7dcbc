"""What tells somebody that work is being done: a progress bar, on a terminal or in a notebook, when something takes longer
than two seconds; and a line on a terminal for work that nobody can count."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 2.0
"""Seconds without a bar."""


class Bar:
    """Counts work done out of a total that may still grow. May be used from several threads."""

    def __init__(self, what: str, total: float = 0.0, *, show: bool = True) -> None:
        self._what, self._total, self._done, self._show = what, total, 0.0, show
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._lock:
            if self._progress is not None:
                self._progress.stop()

    def expect(self, more: float) -> None:
        """Adds to the total."""
        with self._lock:
            self._total += more
            self._update()

    def advance(self, by: float = 1.0) -> None:
        """Adds to what is done."""
        with self._lock:
            self._done += by
            self._update()

    def reach(self, done: float) -> None:
        """Sets what is done."""
        with self._lock:
            self._done = done
            self._update()

    def _update(self) -> None:
        if not (self._show and _seen()) or (self._progress is None and time.monotonic() - self._began < PATIENCE):
            return
        if self._progress is None:
            self._start()
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, total=self._total or None, completed=self._done)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        # Drawing takes milliseconds that workers would like to have: twice a second is enough for a reader.
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=2)
        self._task = self._progress.add_task(self._what, total=self._total or None)
        self._progress.start()


@contextmanager
def told(what: str) -> Iterator[None]:
    """Says on standard error, where that is a terminal, what is done inside; the line goes away with the end of it."""
    if not sys.stderr.isatty():
        yield
        return
    erases = os.environ.get("TERM", "dumb") != "dumb"
    print(f"{what} …", end="" if erases else "\n", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if erases:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _seen() -> bool:
    """Whether there is anybody to look at a bar: a log file has no use for it, and the drawing is not for nothing."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules
