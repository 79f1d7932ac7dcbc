"""A transfer that the system tells to end, as where a service is stopped or a terminal is closed: it ends as with Ctrl-C. What is
said then is the commands' business."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_ENDING: Final = (signal.SIGTERM, signal.SIGHUP)


class Told(KeyboardInterrupt):
    """The system has told this process to end, by a signal of this number."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def heeding() -> Iterator[None]:
    """Raises :class:`Told` where such a signal comes. One that is ignored, as with ``nohup``, stays so."""
    if threading.current_thread() is not threading.main_thread():  # Where Python sets no signals.
        yield
        return

    def end(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)  # Who says it again does not wait until the other end has heard.
        raise Told(number)

    heeded = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    for number in heeded:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, signal.SIG_DFL)
