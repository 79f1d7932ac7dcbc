"""Where ``tailback`` and ``python -m tailback`` begin: the command line is in ``cli``. Nothing else lives here."""

from __future__ import annotations

import atexit
import gc
import os
import sys

# Only what Python has already: whoever stops the command before ``main`` begins gets Python's own traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

STOPPED = 130
"""The exit status of what somebody stopped, as shells have it."""
SELDOM = 50_000
"""So many new objects before Python looks for circles among them that nobody holds any more. Importing makes hundreds of
thousands of objects that stay: at Python's own 700 a tenth of the time of a short command went into looking at them."""
SOON = 0.01
"""Seconds after which a call out of which nothing is raised is over."""


def main() -> None:
    """The entry point. Whoever stops it while it is still being imported gets a word and no traceback."""
    came: list[int] = []
    try:
        _note_interrupts(came)
        gc.set_threshold(SELDOM, *gc.get_threshold()[1:])
        _have_streams()
        from tailback.cli import main as run

        run()
    except KeyboardInterrupt:
        leave("tailback: stopped\n")
    except SystemExit as end:
        if end.code == STOPPED or (_nothing_left() and not end.code):
            leave(status=STOPPED if end.code == STOPPED else 0)
        raise
    except Exception:
        if came:  # Some libraries take an interrupt for a mistake of their caller's.
            leave("tailback: stopped\n")
        raise


def _note_interrupts(came: list[int]) -> None:
    """Lets interrupts be as Python has them, and be known of afterwards."""
    import signal

    def note(number: int, frame: Any) -> None:
        came.append(number)
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, note)
        if sys.unraisablehook is sys.__unraisablehook__:
            sys.unraisablehook = _interrupt_again


def _interrupt_again(lost: sys.UnraisableHookArgs) -> None:
    """Interrupts anew where one came in a call out of which nothing is raised, as Python makes them while it imports: the
    command would go on, with a traceback among what it says."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    import signal
    import threading

    again = threading.Timer(SOON, os.kill, (os.getpid(), signal.SIGINT))
    again.daemon = True
    again.start()


def _have_streams() -> None:
    """Puts the null device where standard input or output was closed: the next file to be opened would be taken for it, by this
    process and by those that it starts, which inherit the device."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(null, True)
            setattr(sys, name, os.fdopen(null, mode))


def leave(said: str = "", status: int = STOPPED) -> NoReturn:
    """Ends the process at once: to take apart all that was imported takes as long as a run, and somebody waits."""
    sys.stderr.write(said)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


def _nothing_left() -> bool:
    """Whether nobody misses what Python does as it ends: no threads to wait for, no output that cannot be written, and no
    code of the user's own, which may have left files open."""
    import threading

    registry = sys.modules.get("tailback.custom.registry")
    if threading.active_count() > 1 or (registry is not None and registry.has_parts()):
        return False
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return False
    return True


if __name__ == "__main__":
    main()
