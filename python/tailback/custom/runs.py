"""A run with custom parts in it, simulated or with real packets: whatever they raise becomes a :class:`PartError`. Registering
parts is the business of ``registry.py``."""

from __future__ import annotations

import gc
import math
import traceback
from collections.abc import Callable
from types import CodeType
from typing import TypeVar

from tailback import _core
from tailback.callers import is_ours
from tailback.custom.registry import explained, has_parts
from tailback.custom.time_limit import Watched, limit
from tailback.errors import PartError, TailbackError

T = TypeVar("T")


class _Follow:
    """Who follows the progress, whose errors are no part's."""

    def __init__(self, progress: Callable[[float], object]) -> None:
        self.progress = progress
        self.raised: BaseException | None = None

    def __call__(self, share: float) -> None:
        """Passes the part of the run that is done on."""
        try:
            self.progress(share)
        except BaseException as error:
            self.raised = error
            raise


def run(
    scenario: str,
    seed: int | None = None,
    progress: Callable[[float], object] | None = None,
    memory: int | None = None,
) -> _core.Result:
    """Simulates a scenario written as JSON, as :func:`tailback._core.run` does.

    Raises:
        ScenarioError: where the scenario makes no sense.
        PartError: where a custom part raised something, answered what is not allowed, or did not come back from a call
            within the time limit (``time_limit.py``); what was raised is the cause.
    """
    follow = progress and _Follow(progress)
    seconds = limit() if has_parts() else math.inf
    try:
        with Watched(seconds, apart=_Follow.__call__.__code__):
            return _core.run(scenario, seed=seed, progress=follow, memory=memory)
    except KeyboardInterrupt:
        raise
    except TailbackError as error:
        if (follow and error is follow.raised) or not has_parts() or not _of_a_part(error):
            raise
        raise PartError(explained(error)) from error
    # Whatever it is, SystemExit too: it ends this run and nothing else.
    except BaseException as error:
        if (follow and error is follow.raised) or not has_parts():
            raise
        raise PartError(explained(error)) from error


def _of_a_part(error: BaseException) -> bool:
    """Whether an error of ours was raised by what a part called, and not by the core, which has no lines of Python."""
    return any(not is_ours(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(error.__traceback__))


def carry(work: Callable[[], T], *, apart: CodeType | None = None, stuck: Callable[[str], object] | None = None) -> T:
    """Does work of the core with real packets, in which custom parts may be called from several threads.

    Args:
        work: calls the core.
        apart: code that the core calls and that is no part's.
        stuck: hears of a part's call that does not come back and cannot be interrupted; by default it is said on standard
            error.

    Raises:
        PartError: as :func:`run`.
    """
    if not has_parts():
        return work()
    # The collector of garbage else looks through all that there is now, for some ten milliseconds, while packets wait.
    gc.collect()
    gc.freeze()
    try:
        with Watched(limit(), apart, threads=True, stuck=stuck):
            return work()
    except _core.PartFailedError as error:
        cause = error.__cause__ or error
        raise PartError(explained(cause)) from cause
    finally:
        gc.unfreeze()
