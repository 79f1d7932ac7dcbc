"""Where ``tailback`` and ``python -m tailback`` begin: the command line is in ``cli``. Nothing else lives here."""

import atexit
import os
import signal
import sys
from typing import Any, NoReturn

STOPPED = 130
"""The exit status of what somebody stopped, as shells have it."""


def main() -> None:
    """The entry point. Whoever stops it while it is still being imported gets a word and no traceback."""
    came: list[int] = []

    def note(number: int, frame: Any) -> None:
        came.append(number)
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, note)
    try:
        from tailback.cli import main as run

        run()
    except KeyboardInterrupt:
        leave("tailback: stopped\n")
    except SystemExit as end:
        if end.code == STOPPED:
            leave()
        raise
    except Exception:
        if came:  # Some libraries take an interrupt for a mistake of their caller's.
            leave("tailback: stopped\n")
        raise


def leave(said: str = "") -> NoReturn:
    """Ends the process at once: to take apart all that was imported takes as long as a run, and somebody waits."""
    sys.stderr.write(said)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(STOPPED)


if __name__ == "__main__":
    main()
