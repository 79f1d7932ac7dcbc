"""Drives tasks through an executor: few at a time, so that a killed sweep has lost little and a worker that dies takes
only suspects with it. Which tasks, and what is kept, is decided by callers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait

from tailback.pool import Pool, Serial
from tailback.sweeps.work import Done, Task, work

AHEAD = 3
"""Tasks given to an executor per worker: enough that none waits for us."""
PRELOAD = "tailback.sweeps.work"
"""What processes of our own import first."""
UNKNOWN_WORKERS = 16
"""Workers assumed of an executor that does not say."""


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
        jobs = min(jobs or Pool().jobs, max(len(waiting), 1))
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
    """Works off ``waiting``; where the executor breaks, those under way become suspects and the rest stays."""
    if isinstance(executor, Serial):
        while waiting:
            yield executor.submit(work, waiting.popleft()).result()
        return
    under_way: dict[Future[Done], Task] = {}
    try:
        while waiting or under_way:
            while waiting and len(under_way) < ahead:
                task = waiting.popleft()
                try:
                    under_way[executor.submit(work, task)] = task
                except BrokenExecutor as broke:
                    if suspects is None and not under_way:  # Not ours to mend.
                        yield Done(task.number, error=f"{type(broke).__name__}: {broke}", lasting=False)
                        continue
                    waiting.appendleft(task)
                    if not under_way:
                        return
                    break
            finished, _ = wait(under_way, return_when=FIRST_COMPLETED)
            broken = False
            for future in finished:
                task = under_way.pop(future)
                error = future.exception()
                if error is None:
                    yield future.result()
                elif isinstance(error, BrokenExecutor) and suspects is not None:
                    broken = True
                    suspects.append(task)
                else:
                    yield Done(task.number, error=f"{type(error).__name__}: {error}", lasting=False)
            if broken and suspects is not None:
                suspects.extend(under_way.values())
                under_way.clear()
                return
    finally:
        for future in under_way:
            future.cancel()


def _workers(executor: Executor) -> int:
    known = getattr(executor, "_max_workers", None)
    return int(known) if isinstance(known, int) and known > 0 else UNKNOWN_WORKERS
