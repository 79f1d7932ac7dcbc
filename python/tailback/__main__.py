"""Where ``tailback`` and ``python -m tailback`` begin: the command line is in ``cli``. Nothing else lives here."""

import atexit
import os
import sys
from typing import NoReturn

STOPPED = 130
"""The exit status of what somebody stopped, as shells have it."""


def main() -> None:
    """The entry point. Whoever stops it while it is still being imported gets a word and no traceback."""
    try:
        from tailback.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("tailback: stopped\n")
        leave()
    except SystemExit as end:
        if end.code == STOPPED:
            leave()
        raise


def leave() -> NoReturn:
    """Ends the process at once: to take apart all that was imported takes as long as a run, and somebody waits."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(STOPPED)


if __name__ == "__main__":
    main()
