"""A limit on how long one call of a custom part may take. Without it a call that does not come back holds its run for ever,
and nobody knows which part it is. Parts after which simulated time stands still are found by the core."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from types import CodeType, FrameType, TracebackType
from typing import Final

from tailback.custom.registry import is_ours
from tailback.errors import refused

VARIABLE: Final = "TAILBACK_CALL_LIMIT"
DEFAULT: Final = 60.0
"""Seconds; a first call may well import a library that takes a while."""
_LONGEST_LOOK: Final = 1.0


class CallTimeoutError(BaseException):
    """Raised within a call that takes too long. No ``Exception``, which parts may catch without looking."""

    said = ""

    def __str__(self) -> str:
        """Which call."""
        return self.said


def limit() -> float:
    """Seconds that a call may take, by the variable ``TAILBACK_CALL_LIMIT``; infinity where that is 0.

    Raises:
        ArgumentError: where it is no such number.
    """
    said = os.environ.get(VARIABLE, "")
    if not said:
        return DEFAULT
    try:
        seconds = float(said)
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds < math.inf:
        raise refused(VARIABLE, said, "seconds of at least 0; 0 is no limit")
    return seconds or math.inf


class Watched:
    """Looks now and then, from a thread of its own, which call the run in this thread is in.

    The caller's frame is the run's: what it called, through the core, is a part's method. ``apart`` is code that the core
    calls too and that is no part's.
    """

    def __init__(self, seconds: float, apart: CodeType) -> None:
        self._limit, self._apart = seconds, apart
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, name="tailback-call-limit", daemon=True)
        self._run: FrameType | None = None
        self._id = 0

    def __enter__(self) -> None:
        """Begins to look."""
        if math.isfinite(self._limit):
            self._run, self._id = sys._getframe(1), threading.get_ident()
            self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends it."""
        self._done.set()
        if self._run is not None:
            self._thread.join()
            self._run = None

    def _look(self) -> None:
        seen, since, told = None, 0.0, 0
        while not self._done.wait(min(self._limit / 4, _LONGEST_LOOK)):
            call = self._call()
            if call is None or call is not seen:
                seen, since, told = call, time.monotonic(), 0
            elif time.monotonic() - since >= self._limit and not _is_debugged(call):
                told += 1
                self._interrupt(call, told)

    def _call(self) -> FrameType | None:
        """The frame of the part's method that the run has called, if it is in one."""
        frame, outermost, call = sys._current_frames().get(self._id), None, None
        while frame is not None and frame is not self._run:
            outermost = frame
            call = call if is_ours(frame.f_code.co_filename) else frame
            frame = frame.f_back
        is_apart = outermost is not None and outermost.f_code is self._apart
        return None if frame is None or is_apart else call

    def _interrupt(self, call: FrameType, told: int) -> None:
        """Raises the error within the call; where that changes nothing, since the call waits outside Python, says so."""
        import ctypes

        code = call.f_code
        said = f"{code.co_qualname} has not come back for {self._limit:g} s"
        error = type("CallTimeoutError", (CallTimeoutError,), {"said": f"{said} ({VARIABLE}, 0 for no limit)"})
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._id), ctypes.py_object(error))
        if told == 3:
            place = f"{code.co_filename}, line {code.co_firstlineno}"
            print(f"tailback: {said} and cannot be interrupted where it is ({place})", file=sys.stderr, flush=True)


def _is_debugged(call: FrameType) -> bool:
    """Whether somebody looks at it step by step."""
    return call.f_trace is not None
