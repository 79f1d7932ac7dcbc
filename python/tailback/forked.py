"""Whether this process can make tables. One that was forked from a process whose polars was at work cannot: the threads
that do the work did not come along, and it would wait for them for ever."""

from __future__ import annotations

import os
from pathlib import Path

from tailback.errors import TailbackError

_TASKS = Path("/proc/self/task")


class _State:
    """What is known of this process: whether its parent had threads of polars when it was forked."""

    parent_had_threads = False
    lost_threads = False


def _before() -> None:
    _State.parent_had_threads = _has_threads()


def _in_child() -> None:
    _State.lost_threads = _State.lost_threads or _State.parent_had_threads


def _has_threads() -> bool:
    """Whether polars has started its threads here, which it does with the first table that it works on."""
    try:
        return any(task.joinpath("comm").read_text().startswith("polars-") for task in _TASKS.iterdir())
    except OSError:  # No such folder on this system, or the thread is gone.
        return False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=_in_child)


def check() -> None:
    """Complains in a process that would wait for ever.

    Raises:
        TailbackError: with what to do instead.
    """
    if _State.lost_threads:
        raise TailbackError(
            "this process was forked from one that had made tables, whose threads did not come along: it would wait for "
            "them for ever. Expected a process that starts anew: multiprocessing.get_context('forkserver') or 'spawn' "
            "(mp_context= of ProcessPoolExecutor), or a sweep, which starts its own"
        )
