"""What a worker does for one run of a sweep. Which runs there are is decided by ``design.py``; who runs them, by
``drive.py``."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailback.errors import PartError, TailbackError

if TYPE_CHECKING:
    from tailback.custom.shipping import Shipped
    from tailback.scenario import Scenario


@dataclass(frozen=True)
class Task:
    """One run to make."""

    number: int
    """Its row among the runs of the sweep."""
    scenario: str
    """The scenario as the core reads it."""
    seed: int
    """The seed."""
    key: str
    """Its name in the cache."""
    window: float
    """Seconds that the counters cover."""
    after: float
    """Bins of time series that end later belong to that window: those that lie in it by more than half."""
    parts: tuple[Shipped, ...] = ()
    """The custom parts that the scenario names."""
    memory: int | None = None
    """Bytes that it may take; what its process can have where nobody says."""
    warm_up: float = 0.0
    """Seconds at which the window begins."""
    custom: str = ""
    """Which custom parts it has, with which settings and code, in which sweep; empty where there are none."""
    here: Scenario | None = None
    """The scenario itself where it has custom parts, while the task is in the process that made it."""

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process."""
        return {**vars(self), "here": None}


_STUCK: dict[str, str] = {}
"""What was said of custom parts that did not come back from a call, by :attr:`Task.custom`. Each process finds out for itself."""


@dataclass(frozen=True)
class Done:
    """What became of a task."""

    number: int
    record: bytes = b""
    """What was measured, as it is kept (:func:`tailback.sweeps.cache.sealed`); nothing where the run failed."""
    error: str = ""
    """Why it failed; one line for what is the user's to mend, a traceback otherwise."""
    lasting: bool = True
    """Whether the same would happen again, so that the error may be kept."""


@dataclass(frozen=True)
class Made:
    """What became of tasks that were sent together."""

    done: list[Done]
    """In their order; those at the end that were not begun lack."""
    seconds: float
    """What one of them took, at the mean."""


@dataclass(frozen=True)
class Row:
    """One run of a sweep: which, and what came of it."""

    variant: int
    """Its variant's place."""
    seed: int
    """Its seed."""
    record: Mapping[str, Any] | None
    """What was kept of it."""
    error: str = ""
    """Why it failed."""


def work(task: Task) -> Done:
    """Makes one run. Never raises: whatever goes wrong is told."""
    # Not by who only drives: NumPy takes a while to import, and processes may start meanwhile.
    from tailback.custom import runs
    from tailback.custom.time_limit import CallTimeoutError
    from tailback.memory import budget
    from tailback.sweeps.cache import sealed
    from tailback.sweeps.measure import measured

    if task.custom in _STUCK:
        return Done(task.number, error=f"not tried, since with another seed: {_STUCK[task.custom]}", lasting=False)
    try:
        if task.parts and task.here is None:
            from tailback.custom.shipping import receive

            receive(task.parts)
        began = time.perf_counter()
        with task.here.as_made() if task.here is not None else nullcontext():
            raw = runs.run(task.scenario, task.seed, memory=budget(task.memory))
        wall = time.perf_counter() - began
        record = measured(raw, task.window, task.after, task.warm_up)
        told = {"seed": task.seed, "hash": raw.hash, "events": raw.events, "wall": wall, **record}
        return Done(task.number, sealed(task.key, told))
    except PartError as error:
        if task.custom and isinstance(error.__cause__, CallTimeoutError):
            _STUCK[task.custom] = str(error)
        return Done(task.number, error=_told(error))
    except TailbackError as error:
        return Done(task.number, error=str(error))
    except Exception as error:
        return Done(task.number, error=_told(error))


def several(work: Callable[[Task], Done], tasks: Sequence[Task], seconds: float) -> Made:
    """Does one after the other, and begins none when so many seconds have passed."""
    began, done = time.perf_counter(), []
    for task in tasks:
        done.append(work(task))
        took = time.perf_counter() - began
        if took >= seconds:
            break
    return Made(done, took / len(done))


def _told(error: Exception) -> str:
    """What a reader needs: the line of a custom part where one raised, and the way there."""
    from tailback.custom.registry import explained

    said = str(error) if isinstance(error, PartError) else explained(error)
    return f"{said}\n{''.join(traceback.format_exception(error)).strip()}"
