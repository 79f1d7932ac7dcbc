"""Drives tasks through an executor: few at a time, so that a killed sweep has lost little and a worker that dies takes
only suspects with it. Which tasks, and what is kept, is decided by callers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from tailback import processes
from tailback.pool import TURN, Pool, Serial, cores
from tailback.sweeps.work import Done, Made, Task, several, work

AHEAD = 4
"""Messages given to an executor per worker: enough that none waits for us."""
TOGETHER = 5
"""Tasks in a message at most: if a worker dies, all that it and its like were given is made again."""
SECONDS = 0.5
"""A message holds what a worker makes in so long: short runs would otherwise cost their driver more than they say, and so
little is lost at most where a sweep is interrupted."""
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
        yield from _Way(executor, waiting, AHEAD * _workers(executor), work, None).results()
        return
    suspects: deque[Task] = deque()
    while waiting:
        jobs = min(jobs or cores(), len(waiting))
        with Pool(jobs, preload=PRELOAD) as pool:
            yield from _Way(pool.executor, waiting, AHEAD * jobs, work, suspects).results()
    # A worker died, and one of these was its death: each gets a process of its own.
    while suspects:
        alone, died = deque([suspects.popleft()]), deque[Task]()
        with Pool(2, preload=PRELOAD) as pool:
            yield from _Way(pool.executor, alone, 1, work, died).results()
        for task in died:
            yield Done(task.number, error="the process that ran it died, out of memory perhaps", lasting=False)


@dataclass
class _Way:
    """Works off ``waiting`` through an executor. Where our own executor breaks, those under way become suspects and the rest
    stays; where another's does, which is not ours to mend (``suspects`` is ``None``), whatever it refuses has failed."""

    executor: Executor
    waiting: deque[Task]
    ahead: int
    """Messages that may be under way."""
    work: Callable[[Task], Done]
    suspects: deque[Task] | None
    under_way: dict[Future[Made], list[Task]] = field(default_factory=dict)
    finished: SimpleQueue[Future[Made]] = field(default_factory=SimpleQueue)
    """Futures tell of themselves here: to wait for all of them anew for each costs more than the rest of the way."""
    together: int = 1
    """Tasks that the next message holds."""

    def results(self) -> Iterator[Done]:
        """What becomes of each."""
        if isinstance(self.executor, Serial):
            while self.waiting:
                yield self.executor.submit(self.work, self.waiting.popleft()).result()
            return
        try:
            while self.waiting or self.under_way:
                refused = self._submit()
                if refused and not self.under_way:
                    if self.suspects is not None:
                        return
                    yield Done(self.waiting.popleft().number, error=refused, lasting=False)
                    continue
                if (yield from self._settled()) and self.suspects is not None:
                    self.suspects.extend(task for tasks in self.under_way.values() for task in tasks)
                    self.under_way.clear()
                    return
        finally:
            for future in self.under_way:
                future.cancel()

    def _settled(self) -> Generator[Done, None, bool]:
        """What became of the next that are done; whether our own executor is broken."""
        broken = False
        for future in self._first_done():
            error = future.exception()
            if error is None:
                yield from self._made(self.under_way.pop(future), future.result())
            elif isinstance(error, BrokenExecutor) and self.suspects is not None:
                broken = True
            else:
                for task in self.under_way.pop(future):
                    yield Done(task.number, error=f"{type(error).__name__}: {error}", lasting=False)
        return broken

    def _made(self, tasks: list[Task], made: Made) -> list[Done]:
        """Puts back what took too long to begin with, and settles how many go together from now on."""
        self.waiting.extendleft(reversed(tasks[len(made.done) :]))
        self.together = max(1, min(TOGETHER, int(SECONDS / max(made.seconds, SECONDS / TOGETHER))))
        return made.done

    def _first_done(self) -> Iterator[Future[Made]]:
        """Waits until some are done, in short turns (:data:`tailback.pool.TURN`), and gives these."""
        while True:
            try:
                yield self.finished.get(timeout=TURN)
                break
            except Empty:
                continue
        while not self.finished.empty():
            yield self.finished.get()

    def _submit(self) -> str:
        """Gives the executor what it may have; why it refused, where it is broken."""
        while self.waiting and len(self.under_way) < self.ahead:
            # Towards the end in small messages, or one worker would have several while others have none.
            count = 1 if self.suspects is None else min(self.together, 1 + len(self.waiting) // (2 * self.ahead))
            tasks = [self.waiting[place] for place in range(count)]
            try:
                future = self.executor.submit(several, self.work, tasks, SECONDS)
            except BrokenExecutor as error:
                return f"{type(error).__name__}: {error}"
            self.under_way[future] = tasks
            for _ in tasks:
                self.waiting.popleft()
            future.add_done_callback(self.finished.put)
        return ""


def _workers(executor: Executor) -> int:
    known = getattr(executor, "_max_workers", None)
    return int(known) if isinstance(known, int) and known > 0 else UNKNOWN_WORKERS
