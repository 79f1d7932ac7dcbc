"""The processes of our own pools: how they start, and that they end with the one that made them. What they work on is
decided in ``pool.py`` and by its callers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import sysconfig
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, InvalidStateError, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from tailback import nested

T = TypeVar("T")

# A fork server, where there is one: it is safe beside threads, and imports the core once for all workers.
_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
_ORIGINAL: Any = multiprocessing.get_context(_METHOD)
_HIDING = threading.Lock()
_TURN = 0.05
"""Seconds after which a thread that waits looks whether it was interrupted."""


class Worker(_ORIGINAL.Process):  # type: ignore[misc]  # Which class that is depends on the system.
    """A process that does not run its maker's main script: it needs nothing from there, and so a script of a few lines
    need not be guarded against being run by its own workers."""

    @staticmethod
    def _Popen(process: Any) -> Any:  # noqa: N802 (the name that multiprocessing calls)
        with _no_main():
            return _ORIGINAL.Process._Popen(process)


class _Context(type(_ORIGINAL)):  # type: ignore[misc]  # Likewise.
    Process = Worker


_CONTEXT: Any = _Context()


class _Told(Future[Any]):
    """A future that may hear what became of it when it has been cancelled: the thread that tells it of the end of its process
    does not look, and would end in a traceback of its own."""

    def set_exception(self, exception: BaseException | None) -> None:
        with suppress(InvalidStateError):
            super().set_exception(exception)


class Workers(ProcessPoolExecutor):
    """Processes that can be stopped at once."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """As every executor's."""
        future = super().submit(fn, *args, **kwargs)
        future.__class__ = _Told
        return future

    def stop(self) -> None:
        """Ends all processes, whatever they are at; nobody waits for what they would have said."""
        processes = list((self._processes or {}).values())
        self.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()


def start(jobs: int, preload: Sequence[str]) -> Executor:
    """An executor of ``jobs`` processes that import the modules ``preload`` once for all."""
    prepare(preload)
    workers = Workers(max_workers=jobs, mp_context=_CONTEXT, initializer=_end_with_parent)
    given_up = threading.Event()
    failed: list[BaseException] = []

    def begin() -> None:
        try:
            workers.submit(int)
        except BaseException as error:
            failed.append(error)
        if given_up.is_set():
            workers.shutdown(wait=False)

    # The first process is there when all is imported, which takes a second or more. Nothing interrupts a thread that waits
    # for it, so that is not this one.
    first = threading.Thread(target=begin, daemon=True)
    first.start()
    try:
        while first.is_alive():
            first.join(_TURN)
    except BaseException:
        given_up.set()
        end_server()
        raise
    if failed:
        raise failed[0]
    return workers


def prepare(preload: Sequence[str]) -> None:
    """Starts the server that processes are forked from and returns at once, so that it is ready when the first is
    wanted. Without such servers on this system nothing happens; one that runs already stays as it is.

    Raises:
        NestedSweepError: in a worker. Where a module sweeps as it is imported, each worker would make others, without end.
    """
    nested.check()
    if isinstance(multiprocessing.current_process(), Worker):
        raise nested.NestedSweepError
    if _METHOD == "forkserver":
        from multiprocessing import forkserver  # Not to be imported where there is none.

        forkserver.set_forkserver_preload(list(preload))
        with _this_package():
            forkserver.ensure_running()


def end_server() -> None:
    """Ends the server that is still importing: a process that it forked when this one has gone would complain of that."""
    if _METHOD == "forkserver":
        from multiprocessing import forkserver

        server = getattr(forkserver._forkserver, "_forkserver_pid", None)  # Nobody is told it.
        if server is not None:
            os.kill(server, signal.SIGTERM)


@contextmanager
def _this_package() -> Iterator[None]:
    """Lets a new interpreter find this very package, where a script put it on ``sys.path`` in place of the installed one:
    its workers would be of another version, and nobody would know."""
    here, before = str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")
    if here in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:  # It is the installed one.
        yield
        return
    os.environ["PYTHONPATH"] = os.pathsep.join([here, before]) if before else here
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


@contextmanager
def _no_main() -> Iterator[None]:
    """Lets an empty module stand for the main script."""
    with _HIDING:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


def _end_with_parent() -> None:
    """Ends this process when the one that made the pool is gone, even if that was killed: nobody would tell it otherwise."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
