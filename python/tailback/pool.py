"""Many runs on all cores: a pool of processes, and the same interface without one. Which runs to make, and what to
keep of each, is decided by callers (sweeps, paper items)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from types import TracebackType
from typing import TypeVar

from tailback import processes

T = TypeVar("T")
A = TypeVar("A")

TURN = 0.1
"""Seconds after which a thread that waits looks whether it was interrupted."""


def cores() -> int:
    """How many processes this one may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def first_done(futures: Iterable[Future[T]]) -> set[Future[T]]:
    """Waits until some of them are done, and gives these.

    In short turns: once polars is imported, an interrupt no longer wakes a thread that waits, and would be noticed when
    the next run ends, which may take hours.
    """
    while True:
        done, _ = wait(futures, timeout=TURN, return_when=FIRST_COMPLETED)
        if done:
            return done


def as_done(futures: Iterable[Future[T]]) -> Iterator[Future[T]]:
    """All of them, each as soon as it is done."""
    left = set(futures)
    while left:
        done = first_done(left)
        left -= done
        yield from done


class Serial(Executor):
    """Runs everything at once in the calling thread: for one core, for debugging, and inside other pools."""

    def submit(self, fn: Callable[..., T], /, *args: object, **kwargs: object) -> Future[T]:
        """Calls the function and gives a future that is already done."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Pool:
    """An executor of our own or of the caller's, made when first used.

    Args:
        jobs: processes; all cores where ``None``; 1 runs in this process.
        executor: anything with the interface of ``concurrent.futures.Executor``, a Dask client's for example.
        preload: the modules that processes import before their first call, once for all.
    """

    def __init__(
        self,
        jobs: int | None = None,
        executor: Executor | None = None,
        *,
        preload: Sequence[str] = ("tailback._worker",),
    ) -> None:
        self.jobs = cores() if jobs is None else jobs
        self._preload = preload
        self._given = executor
        self._executor = executor
        self._making = threading.Lock()
        self._stopped = False

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._executor is not None and self._given is None:
            if value is not None:
                self.stop()
            else:  # Nobody has to wait until processes without work have ended.
                self._executor.shutdown(wait=False)

    def stop(self) -> None:
        """Stops what is under way, so that whoever asked for it need not wait: at once in processes of our own. Nothing
        can be asked of the pool afterwards."""
        self._stopped = True
        if self._executor is None and self._making.locked():
            processes.end_server()
        elif isinstance(self._executor, processes.Workers):
            self._executor.stop()
        elif self._executor is not None and self._given is None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    @property
    def executor(self) -> Executor:
        """The executor itself, one for all threads.

        Raises:
            RuntimeError: where the pool was stopped before there was one.
        """
        with self._making:
            if self._executor is None:
                if self._stopped:
                    raise RuntimeError("the pool was stopped")
                self._executor = Serial() if self.jobs <= 1 else processes.start(self.jobs, self._preload)
                if self._stopped:
                    self.stop()
            return self._executor

    def map(
        self, function: Callable[[A], T], arguments: Iterable[A], done: Callable[[], object] | None = None
    ) -> list[T]:
        """Calls a function with each argument and gives the answers in the arguments' order.

        The function must be defined at the top of a module that processes can import: not in the main script.
        The first error stops what has not begun and is raised. ``done`` is called in this thread after each answer.
        """
        futures = []
        try:
            for argument in arguments:
                futures.append(self.executor.submit(function, argument))
                if isinstance(self.executor, Serial) and done:
                    done()
            if not isinstance(self.executor, Serial):
                for future in as_done(futures):
                    future.result()
                    if done:
                        done()
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise
