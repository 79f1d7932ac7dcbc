"""The pool of processes that items of papers share."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tailback import processes
from tailback.papers.lab import Lab
from tailback.pool import Pool
from tailback.progress import Bar
from tests.papers.fakes import square


def inverse(number: int) -> float:
    return 1 / number


def test_pools_give_answers_in_order() -> None:
    told: list[int] = []
    with Pool(2) as pool:
        assert pool.map(square, range(20), lambda: told.append(1)) == [n * n for n in range(20)]
    assert len(told) == 20
    with Pool(1) as pool, Bar("x", show=False) as bar:
        lab = Lab("quick", pool, bar)
        assert lab.map(square, [3]) == [9]
        assert lab.runs == 1
        with pytest.raises(ZeroDivisionError):
            lab.map(inverse, [0])


def test_threads_share_one_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def start(jobs: int, _: Sequence[str]) -> ThreadPoolExecutor:
        made.append(jobs)
        time.sleep(0.1)
        return ThreadPoolExecutor(1)

    monkeypatch.setattr("tailback.processes.start", start)
    with Pool(2) as pool, ThreadPoolExecutor(4) as threads:
        assert len({id(executor) for executor in threads.map(lambda _: pool.executor, range(4))}) == 1
    assert made == [2]


def test_a_pool_is_stopped_while_its_processes_start(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), threading.Event()

    def start(*_: object) -> ThreadPoolExecutor:
        begun.set()
        assert ended.wait(20)
        raise EOFError

    monkeypatch.setattr("tailback.processes.start", start)
    monkeypatch.setattr("tailback.processes.end_server", ended.set)
    with Pool(2) as pool, ThreadPoolExecutor(1) as threads:
        future = threads.submit(lambda: pool.executor)
        assert begun.wait(20)
        pool.stop()
        with pytest.raises(EOFError):
            future.result(20)
        with pytest.raises(RuntimeError, match="stopped"):
            _ = pool.executor


def test_calls_that_were_cancelled_may_lose_their_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a full disk ends a sweep: what waits is cancelled, and then the processes end."""
    told: list[object] = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    with Pool(2) as pool:
        assert isinstance(pool.executor, processes.Workers)
        workers: Any = pool.executor
        futures = [workers.submit(time.sleep, 60.0) for _ in range(12)]
        while not futures[2].running() or len(workers._processes) < 2:
            time.sleep(0.01)
        for future in futures:
            future.cancel()
        thread = workers._executor_manager_thread
        for process in list(workers._processes.values()):
            process.terminate()
        thread.join(timeout=20.0)
        assert not thread.is_alive()
    assert told == []
