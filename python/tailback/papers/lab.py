"""Where an item gets its runs from: a shared pool of processes and a progress bar. Which runs it makes is the
item's own business."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from threading import Lock
from typing import Any, TypeVar

from tailback.papers.item import Fidelity
from tailback.pool import Pool
from tailback.progress import Bar

T = TypeVar("T")
A = TypeVar("A")


class Shared:
    """Experiments that several items ask for, each run once: who asks later waits for the first one's answer."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._asked: dict[tuple[Callable[..., Any], Any], Future[Any]] = {}

    def ask(self, experiment: Callable[[A], T], argument: A, pool: Pool) -> tuple[Future[T], bool]:
        """The answer to come, and whether it had not been asked for before."""
        key = (experiment, argument)
        with self._lock:
            known = self._asked.get(key)
            if known is not None:
                return known, False
            promised: Future[T] = Future()
            self._asked[key] = promised
        # Outside the lock: with one process only, the experiment runs here and now.
        pool.executor.submit(experiment, argument).add_done_callback(lambda done: _hand_on(done, promised))
        return promised, True


def _hand_on(done: Future[T], promised: Future[T]) -> None:
    if done.cancelled():
        promised.cancel()
        return
    error = done.exception()
    if error is not None:
        promised.set_exception(error)
    else:
        promised.set_result(done.result())


class Lab:
    """One item's access to the machine."""

    def __init__(self, fidelity: Fidelity, pool: Pool, bar: Bar, shared: Shared | None = None) -> None:
        self._shared = shared or Shared()
        self.fidelity = fidelity
        self.runs = 0
        """How many simulations have been run for the item."""
        self._pool, self._bar = pool, bar

    @property
    def full(self) -> bool:
        """Whether to take the paper's own durations and seeds."""
        return self.fidelity == "full"

    def map(self, experiment: Callable[[A], T], arguments: Iterable[A]) -> list[T]:
        """Runs an experiment, a function at the top of its module that makes one simulation, for each argument.

        The experiment runs in another process and should give back little: numbers, not time series.
        """
        listed = list(arguments)
        self.runs += len(listed)
        self._bar.expect(len(listed))
        return self._pool.map(experiment, listed, self._bar.advance)

    def once(self, experiment: Callable[[A], T], arguments: Iterable[A]) -> list[T]:
        """As :meth:`map`, for experiments that other items ask for too: each is run once for all, and counts as a run of
        the item that asked first. Arguments must be hashable.
        """
        answers = []
        for argument in arguments:
            answer, is_new = self._shared.ask(experiment, argument, self._pool)
            if is_new:
                self.runs += 1
                self._bar.expect(1)
                answer.add_done_callback(lambda _: self._bar.advance())
            answers.append(answer)
        return [answer.result() for answer in answers]


class ChangedLab(Lab):
    """Makes another lab's runs with arguments that ``change`` gives in the place of those that are asked for. They count
    there."""

    def __init__(self, lab: Lab, change: Callable[[Any], Any]) -> None:
        super().__init__(lab.fidelity, lab._pool, lab._bar)
        self._lab, self._change = lab, change

    def map(self, experiment: Callable[[A], T], arguments: Iterable[A]) -> list[T]:
        """As any lab's."""
        return self._lab.map(experiment, map(self._change, arguments))

    def once(self, experiment: Callable[[A], T], arguments: Iterable[A]) -> list[T]:
        """As any lab's."""
        return self._lab.once(experiment, map(self._change, arguments))
