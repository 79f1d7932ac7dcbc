"""Where an item gets its runs from: a shared pool of processes and a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from tailback.papers.item import Fidelity
from tailback.pool import Pool
from tailback.progress import Bar

T = TypeVar("T")
A = TypeVar("A")


class Lab:
    """One item's access to the machine."""

    def __init__(self, fidelity: Fidelity, pool: Pool, bar: Bar) -> None:
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
