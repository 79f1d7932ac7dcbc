"""Whether a sweep may begin here. Where a worker of another sweep imports the module of a class, it may not: all workers would
begin it again, and their workers too, without end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tailback.errors import TailbackError


class NestedSweepError(TailbackError):
    """A sweep began where a worker imports the module of a class."""

    def __init__(self) -> None:
        super().__init__(
            "a sweep began in a worker of another sweep, which imports the module of a class: all its workers would begin it "
            'again. Expected the sweep below `if __name__ == "__main__":`, or the class in a module of its own, or jobs=1'
        )

    def __reduce__(self) -> tuple[type[NestedSweepError], tuple[()]]:
        return (NestedSweepError, ())


class _Here(threading.local):
    """What this thread is at."""

    receiving = False


_HERE = _Here()


@contextmanager
def receiving() -> Iterator[None]:
    """While a class comes from another process, whose module is imported for it."""
    before, _HERE.receiving = _HERE.receiving, True
    try:
        yield
    finally:
        _HERE.receiving = before


def check() -> None:
    """Complains where a class is being received, in whatever process: a worker of our own, or of a cluster.

    Raises:
        NestedSweepError: with where the sweep belongs.
    """
    if _HERE.receiving:
        raise NestedSweepError
