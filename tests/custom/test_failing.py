"""Custom parts that fail in a run: whose line it was is told, and other runs of a sweep go on. What is refused before a run is in
``test_registration.py``."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, cast

import pytest

import tailback as tb
from tests.custom.custom_parts import Aimd, Fifo


def raising(body: str, tmp_path: Path) -> tuple[type[tb.Controller], int]:
    """A controller of a file of its own, whose ``on_feedback`` has this line; and the line's number."""
    file = tmp_path / "broken_part.py"
    lines = [
        "import tailback as tb",
        "class Broken(tb.Controller):",
        "    def on_feedback(self, now, feedback, cx):",
        f"        {body}",
        "    def directive(self):",
        "        return tb.Directive(window=getattr(self, 'window', 3000.0))",
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    namespace: dict[str, type[tb.Controller]] = {}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), namespace)
    return namespace["Broken"], 4


def test_what_a_part_raises_names_its_line(base: tb.Scenario, tmp_path: Path) -> None:
    broken, line = raising("self.window = 1 / 0", tmp_path)
    with pytest.raises(
        tb.PartError, match=rf"broken_part.py, line {line}, in Broken.on_feedback: ZeroDivisionError"
    ) as found:
        base.replace(scheme=broken.scheme()).run()
    assert isinstance(found.value.__cause__, ZeroDivisionError), "the original is at hand"


def test_who_ends_the_program_ends_the_run_alone(base: tb.Scenario, tmp_path: Path) -> None:
    broken, line = raising("raise SystemExit(0)", tmp_path)
    with pytest.raises(
        tb.PartError, match=rf"broken_part.py, line {line}, in Broken.on_feedback: SystemExit: 0"
    ) as found:
        base.replace(scheme=broken.scheme()).run()
    assert isinstance(found.value.__cause__, SystemExit)
    interrupted, _ = raising("raise KeyboardInterrupt", tmp_path)
    with pytest.raises(KeyboardInterrupt):
        base.replace(scheme=interrupted.scheme()).run()


def test_a_context_that_another_thread_is_using_is_told(base: tb.Scenario) -> None:
    class Slow:
        """A number that takes its time."""

        def __init__(self, entered: threading.Event, done: threading.Event) -> None:
            self.entered, self.done = entered, done

        def __float__(self) -> float:
            self.entered.set()
            self.done.wait(30)
            return 0.0

    class Sharing(Aimd):
        """Lets another thread use what was lent to this one."""

        def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
            del now, feedback
            entered, done = threading.Event(), threading.Event()
            finished.append(done)
            threading.Thread(target=lambda: cx.note("slow", cast(Any, Slow(entered, done))), daemon=True).start()
            entered.wait(30)

    finished: list[threading.Event] = []
    with pytest.raises(tb.PartError, match="cx is in use by another thread"):
        base.replace(scheme=Sharing.scheme()).run()
    for done in finished:
        done.set()


def test_negative_windows_name_the_line(base: tb.Scenario, tmp_path: Path) -> None:
    broken, _ = raising("self.window = -1.0", tmp_path)
    allowed = "line 6, in Broken.directive: ArgumentError: window: -1 is not allowed; expected bytes of at least 0"
    with pytest.raises(tb.PartError, match=f"broken_part.py, {allowed}"):
        base.replace(scheme=broken.scheme()).run()


def test_wrong_answers_name_the_method(base: tb.Scenario) -> None:
    class Number(Aimd):
        def directive(self) -> tb.Directive:
            return 3000.0  # type: ignore[return-value]  # The wrong type is what is tested.

    with pytest.raises(tb.PartError, match=r"Number.directive \(.*test_failing.py, line \d+\): 3000.0 is not allowed"):
        base.replace(scheme=Number.scheme()).run()


def test_queues_that_double_packets_are_found_out(base: tb.Scenario) -> None:
    class Doubling(Fifo):
        def dequeue(self, now: float, cx: tb.QueueCx) -> tb.Packet | None:
            del now, cx
            return self.waiting[0] if self.waiting else None

    with pytest.raises(tb.PartError, match="Doubling gave out a packet that was not in the queue"):
        base.replace(queue=Doubling.queue()).run()


def test_queues_that_keep_packets_for_ever_are_found_out(base: tb.Scenario) -> None:
    class Hoarding(Fifo):
        """Takes ten packets and gives none."""

        def dequeue(self, now: float, cx: tb.QueueCx) -> tb.Packet | None:
            return super().dequeue(now, cx) if len(self.waiting) < 10 else None

    with pytest.raises(tb.PartError, match=r"Hoarding gave nothing out although \d+ packets wait; expected"):
        base.replace(queue=Hoarding.queue()).run()


def test_failing_parts_leave_other_runs_of_a_sweep_alone(base: tb.Scenario, tmp_path: Path) -> None:
    broken, line = raising("self.window = 1 / 0", tmp_path)
    runs = tb.compare([broken.scheme(), "sack", Aimd.scheme()], base, seeds=2, cache=False, jobs=1)
    assert runs.failed["scheme"].to_list() == ["broken"] * 2
    assert f"broken_part.py, line {line}" in runs.failed["error"][0]
    assert runs.table.filter(runs.table["error"].is_null()).height == 4
