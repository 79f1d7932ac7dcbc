"""Drives tasks through an executor: few at a time, so that a killed sweep has lost little and a worker that dies takes
only suspects with it. Which tasks, and what is kept, is decided by callers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future

from tailback import processes
from tailback.pool import Pool, Serial, cores, first_done
from tailback.sweeps.work import Done, Task, work

AHEAD = 4
"""Tasks given to an executor per worker: enough that none waits for us."""
PRELOAD = (
    "tailback.memory",
    "tailback.processes",
    "tailback.sweeps.work",
    "tailback.sweeps.cache",
    "tailback.sweeps.measure",
)
"""What processes of our own import first."""
UNKNOWN_WORKERS = 16
"""Workers assumed of an executor that does not say."""


def make_ready(jobs: int | None) -> None:
    """Lets processes of our own begin to start while the caller still looks for the tasks."""
    if (jobs or cores()) > 1:
        processes.prepare(PRELOAD)


def drive(
    tasks: Iterable[Task],
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    work: Callable[[Task], Done] = work,
) -> Iterator[Done]:
    """What becomes of each task, as they finish.

    Args:
        tasks: what to do.
        jobs: processes; all cores where ``None``; 1 works in this one.
        executor: any with the interface of ``concurrent.futures.Executor``, in place of processes of our own.
        work: what to do with a task; never raises.
    """
    waiting = deque(tasks)
    if executor is not None:
        yield from _through(executor, waiting, AHEAD * _workers(executor), work, None)
        return
    suspects: deque[Task] = deque()
    while waiting:
        jobs = min(jobs or cores(), len(waiting))
        with Pool(jobs, preload=PRELOAD) as pool:
            yield from _through(pool.executor, waiting, AHEAD * jobs, work, suspects)
    # A worker died, and one of these was its death: each gets a process of its own.
    while suspects:
        alone, died = deque([suspects.popleft()]), deque[Task]()
        with Pool(2, preload=PRELOAD) as pool:
            yield from _through(pool.executor, alone, 1, work, died)
        for task in died:
            yield Done(task.number, error="the process that ran it died, out of memory perhaps", lasting=False)


def _through(
    executor: Executor, waiting: deque[Task], ahead: int, work: Callable[[Task], Done], suspects: deque[Task] | None
) -> Iterator[Done]:
    """Works off ``waiting``. Where our own executor breaks, those under way become suspects and the rest stays; where
    another's does, which is not ours to mend (``suspects`` is ``None``), whatever it refuses has failed."""
    if isinstance(executor, Serial):
        while waiting:
            yield executor.submit(work, waiting.popleft()).result()
        return
    under_way: dict[Future[Done], Task] = {}
    try:
        while waiting or under_way:
            refused = _submit(executor, waiting, under_way, ahead, work)
            if refused and not under_way:
                if suspects is not None:
                    return
                yield Done(waiting.popleft().number, error=refused, lasting=False)
                continue
            finished = first_done(under_way)
            for future in finished:
                error = future.exception()
                if error is None:
                    del under_way[future]
                    yield future.result()
                elif not isinstance(error, BrokenExecutor) or suspects is None:
                    task = under_way.pop(future)
                    yield Done(task.number, error=f"{type(error).__name__}: {error}", lasting=False)
            if suspects is not None and any(future in under_way for future in finished):
                suspects.extend(under_way.values())
                under_way.clear()
                return
    finally:
        for future in under_way:
            future.cancel()


def _submit(
    executor: Executor,
    waiting: deque[Task],
    under_way: dict[Future[Done], Task],
    ahead: int,
    work: Callable[[Task], Done],
) -> str:
    """Gives the executor what it may have; why it refused, where it is broken."""
    while waiting and len(under_way) < ahead:
        try:
            under_way[executor.submit(work, waiting[0])] = waiting[0]
        except BrokenExecutor as error:
            return f"{type(error).__name__}: {error}"
        waiting.popleft()
    return ""


def _workers(executor: Executor) -> int:
    known = getattr(executor, "_max_workers", None)
    return int(known) if isinstance(known, int) and known > 0 else UNKNOWN_WORKERS
