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
        self._line: _Line | None = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._lock:
            if self._progress is not None:
                self._progress.stop()
            if self._line is not None:
                self._line.show("")

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
        if not sys.stderr.isatty() and _in_notebook():
            self._update_line()
            return
        if self._progress is None:
            self._start()
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, total=self._total or None, completed=self._done)

    def _update_line(self) -> None:
        if self._line is None:
            self._line = _Line()
        elif not self._line.is_due():
            return
        spent = time.monotonic() - self._began
        part = min(self._done / self._total, 1.0) if self._total else 0.0
        left = f", about {spent * (1 / part - 1):.0f} s left" if part else ""
        self._line.show(f"{self._what}: {100 * part:.0f} %{left}")

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        # Drawing takes milliseconds that workers would like to have: twice a second is enough for a reader.
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=2)
        self._task = self._progress.add_task(self._what, total=self._total or None)
        self._progress.start()


class _Line:
    """A line in a notebook that changes in place. rich's bar there needs ipywidgets, which JupyterLab does not bring, and
    without them warns in place of a bar."""

    def __init__(self) -> None:
        from IPython.display import display

        self._shown = time.monotonic()
        self._handle = display({"text/plain": ""}, raw=True, display_id=True)

    def is_due(self) -> bool:
        """Whether it stood long enough to be read."""
        return time.monotonic() - self._shown > 0.5

    def show(self, text: str) -> None:
        self._shown = time.monotonic()
        self._handle.update({"text/plain": text}, raw=True)


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
    return sys.stderr.isatty() or _in_notebook()


def _in_notebook() -> bool:
    if "ipykernel" not in sys.modules:
        return False
    from IPython.core.getipython import get_ipython

    return get_ipython() is not None
