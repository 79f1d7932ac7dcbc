"""What runs within the namespaces: the router with the command, then the result and a summary on standard error. Started by
``launch.py`` only."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailback import _core
    from tailback.results import Result


STOPPED = 130
"""The exit status where somebody has stopped it before the command began."""


def main() -> int:
    """Does what the first argument says, in JSON; the command's exit status, or 1 where there was none."""
    from tailback.errors import TailbackError

    interrupts = _note_interrupts()
    told = json.loads(sys.argv[1])
    os.set_inheritable(told["held"], False)
    os.write(told["ready"], b"!")
    os.close(told["ready"])
    try:
        return _run(told | {"interrupts": interrupts})
    except TailbackError as error:
        print(f"tailback: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"tailback: {error}", file=sys.stderr)
        return 1


def _note_interrupts() -> int:
    """Has interrupts noted from here on, the one that waits too: the file from which something can then be read. Once there is
    a command, they are that one's."""
    interrupts, interrupted = os.pipe()
    os.set_blocking(interrupted, False)
    signal.set_wakeup_fd(interrupted, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    return interrupts


def _run(told: dict[str, Any]) -> int:
    from tailback import _core
    from tailback.custom import runs, shipping
    from tailback.errors import TailbackError

    with open(told["parts"], "rb") as file:
        file.seek(0)  # Whoever wrote it left off at its end.
        shipping.unpack(file.read())
    is_prompt = _sooner()
    began = time.monotonic()
    ended = runs.carry(lambda: _core.emulate(told["scenario"], json.dumps(told)), stuck=_give_up)
    wall = time.monotonic() - began
    _at_leisure(is_prompt)
    if ended is None:
        print("tailback: stopped", file=sys.stderr)
        return STOPPED
    raw, text = ended
    report = json.loads(text) | {"is_real_time": is_prompt, "made": {"command": "shell", "typed": told["typed"]}}
    from tailback.shell.summary import summary

    why = None if raw is None else _why_unsaved(raw, wall, report, Path(told["record"]))
    _tell(summary(report, None if why else told["record"]))
    if why is None:
        return int(report["status"])
    if not isinstance(why, TailbackError):
        raise why
    _tell(f"tailback: {why}")
    return int(report["status"]) or 1


def _why_unsaved(raw: _core.Result, wall: float, report: dict[str, Any], folder: Path) -> Exception | None:
    """Saves the result; what has kept it from being saved, if anything. Tables take longer to import than many a command takes:
    made where they are kept alone."""
    from tailback.results.from_core import result_of

    try:
        _save(result_of(raw, wall, real=report), folder)
    except Exception as error:  # Whatever it is, the summary is told first.
        return error
    return None


def _tell(summary: str) -> None:
    """Says it on standard error. Where nobody takes it, the exit status is the command's all the same."""
    try:
        print(summary, file=sys.stderr, flush=True)
    except OSError:
        # What is left of it would fail again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _give_up(said: str) -> None:
    """Ends it all, since a custom part does not come back."""
    print(f"tailback: {said}", file=sys.stderr, flush=True)
    os._exit(1)


def _sooner() -> bool:
    """Asks for this thread to be woken before others; whether it is granted. What it starts does not inherit it."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except OSError:
        return False
    return True


def _at_leisure(was_sooner: bool) -> None:
    if was_sooner:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def _save(result: Result, folder: Path) -> None:
    from tailback.commands.overview import draw_overview
    from tailback.results.store import save

    def draw(beside: Path) -> None:
        # What was measured beyond the budget is told, and not drawn.
        if result.real["valid"] and result.link_series.height:
            draw_overview(result, beside)

    save(result, folder, also=draw)
