"""A limit on how long one call of a custom part may take. Without it a call that does not come back holds its run for ever,
and nobody knows which part it is. Parts after which simulated time stands still are found by the core."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType, TracebackType
from typing import Final

from tailback.callers import is_ours
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
    calls too and that is no part's. With ``threads``, those that the core has begun call parts, too: what is outermost in
    them is a part's method. ``stuck`` hears of a call that cannot be interrupted.
    """

    def __init__(
        self,
        seconds: float,
        apart: CodeType | None = None,
        *,
        threads: bool = False,
        stuck: Callable[[str], object] | None = None,
    ) -> None:
        self._limit, self._apart = seconds, apart
        self._has_threads, self._stuck = threads, stuck or _tell
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
        seen: dict[int, _Seen] = {}
        while not self._done.wait(min(self._limit / 4, _LONGEST_LOOK)):
            calls = self._calls()
            now = time.monotonic()
            seen = {
                thread: known if (known := seen.get(thread)) and known.call is call else _Seen(call, now)
                for thread, call in calls.items()
            }
            for thread, one in seen.items():
                if now - one.since >= self._limit and not _is_debugged(one.call):
                    one.told += 1
                    self._interrupt(thread, one)

    def _calls(self) -> dict[int, FrameType]:
        """By thread, the frame of the part's method that the run has called, if it is in one."""
        frames = sys._current_frames()
        wanted = frames if self._has_threads else {self._id: frames.get(self._id)}
        calls = ((thread, self._call(thread, frame)) for thread, frame in wanted.items())
        return {thread: call for thread, call in calls if call is not None}

    def _call(self, thread: int, frame: FrameType | None) -> FrameType | None:
        outermost, call = None, None
        while frame is not None and frame is not self._run:
            outermost = frame
            call = call if is_ours(frame.f_code.co_filename) else frame
            frame = frame.f_back
        if outermost is None or outermost.f_code is self._apart:
            return None
        is_run = frame is not None
        # Threads that Python has begun are the parts' own, or this one.
        is_core = thread != self._id and outermost.f_code.co_filename != threading.__file__
        return call if is_run or is_core else None

    def _interrupt(self, thread: int, seen: _Seen) -> None:
        """Raises the error within the call; where that changes nothing, since the call waits outside Python, says so."""
        import ctypes

        code = seen.call.f_code
        said = f"{code.co_qualname} has not come back for {self._limit:g} s"
        error = type("CallTimeoutError", (CallTimeoutError,), {"said": f"{said} ({VARIABLE}, 0 for no limit)"})
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
        if seen.told == 3:
            place = f"{code.co_filename}, line {code.co_firstlineno}"
            self._stuck(f"{said} and cannot be interrupted where it is ({place})")


@dataclass
class _Seen:
    """A call that was seen in a thread."""

    call: FrameType
    since: float
    told: int = 0
    """How often it was interrupted."""


def _tell(said: str) -> None:
    print(f"tailback: {said}", file=sys.stderr, flush=True)


def _is_debugged(call: FrameType) -> bool:
    """Whether somebody looks at it step by step."""
    return call.f_trace is not None
