"""How runs go to processes: several short ones at once, long ones one by one; one that dies takes no other with it."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from tailback.sweeps.drive import TOGETHER, _Way, drive
from tailback.sweeps.work import Done, Task
from tailback.sweeps.work import several as worked_off


def dies(task: Task) -> Done:
    if task.number == 2:
        os._exit(9)
    return Done(task.number, record=b"fine")


def test_a_worker_that_dies_takes_no_other_run_with_it() -> None:
    tasks = [Task(number, "", 0, "", 1.0, 0.0) for number in range(6)]
    found = {done.number: done for done in drive(tasks, jobs=2, work=dies)}
    assert sorted(found) == list(range(6))
    assert "died" in found[2].error
    assert all(found[number].record == b"fine" for number in found if number != 2)


class Messages(Executor):
    """Works in this thread, and notes how many tasks a message held."""

    def __init__(self, seconds: float, error: Exception | None = None) -> None:
        self.seconds, self.error = seconds, error
        self.sizes: list[int] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Works off a message at once."""
        work, tasks, _ = args
        self.sizes.append(len(tasks))
        future: Future[Any] = Future()
        if self.error is not None and len(tasks) > 1:
            future.set_exception(self.error)
        else:
            future.set_result(fn(work, tasks, self.seconds, **kwargs))
        return future


def echoes(task: Task) -> Done:
    return Done(task.number, record=b"fine")


def _through(executor: Executor) -> list[Done]:
    tasks = deque(Task(number, "", 0, "", 1.0, 0.0) for number in range(60))
    return list(_Way(executor, tasks, 2, echoes, deque()).results())


def test_short_runs_go_to_workers_together() -> None:
    executor = Messages(seconds=1.0)
    assert sorted(done.number for done in _through(executor)) == list(range(60))
    assert executor.sizes[0] == 1, "nobody knows yet how long they take"
    assert max(executor.sizes) == TOGETHER
    assert executor.sizes[-1] == 1, "towards the end none waits for another's"


def test_what_a_worker_has_no_time_to_begin_with_is_given_again() -> None:
    executor = Messages(seconds=0.0)  # The first of each message has used it up.
    assert sorted(done.number for done in _through(executor)) == list(range(60))
    assert len(executor.sizes) == 60
    assert max(executor.sizes) > 1


def test_what_was_sent_together_fails_together() -> None:
    found = _through(Messages(1.0, ValueError("lost on the way")))
    assert sorted(done.number for done in found) == list(range(60))
    said = {done.error for done in found}
    assert said == {"", "ValueError: lost on the way"}


def takes_long(task: Task) -> Done:
    time.sleep(0.15)
    return Done(task.number, record=b"fine")


def test_long_runs_go_to_workers_one_by_one() -> None:
    tasks = [Task(number, "", 0, "", 1.0, 0.0) for number in range(4)]
    assert len(worked_off(takes_long, tasks, 0.1).done) == 1
    made = worked_off(takes_long, tasks[:2], 1.0)
    assert [done.number for done in made.done] == [0, 1]
    assert 0.15 <= made.seconds < 1.0, "one of them"
