"""Uses of queues that nobody should make, each of which once passed without a word or was told in words of nobody's. What
custom parts do is tested in ``test_custom.py``, and what they do wrong otherwise in ``test_failing.py``."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import pytest

import tailback as tb
from tests.custom.custom_parts import Aimd, Fifo


def base(**fields: Any) -> tb.Scenario:
    one = tb.flows(1, "cubic", transport={"ecn": "ect0"})
    return tb.dumbbell(rate="5 Mbit/s", delay="5 ms", buffer="20 packets", duration="1 s", flows=[one], **fields)


class Remembers(Fifo):
    """Keeps the context of an earlier call, and does something with it."""

    act: ClassVar[str] = "drop"
    cx: tb.QueueCx

    def enqueue(self, now: float, packet: tb.Packet, cx: tb.QueueCx) -> None:
        """Keeps it."""
        self.cx = cx
        super().enqueue(now, packet, cx)

    def dequeue(self, now: float, cx: tb.QueueCx) -> tb.Packet | None:
        """Uses it."""
        if self.waiting:
            getattr(self.cx, self.act)(self.waiting[0])
        return super().dequeue(now, cx)


@pytest.mark.parametrize("act", ["drop", "mark_ce"])
def test_a_context_of_an_earlier_call_drops_and_marks_nothing(act: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The drop was heard by nobody, and the packet sent."""
    monkeypatch.setattr(Remembers, "act", act)
    with pytest.raises(tb.PartError, match=r"in Remembers.dequeue: .* a context is good for the call it was given to"):
        base(queue=Remembers.queue()).run()


class Truth(Fifo):
    """Says yes where it is asked for a time."""

    def next_timer(self) -> float | None:
        """Which Python counts as a second."""
        return True


class Ready(Fifo):
    """The same, of its next packet."""

    def next_ready(self, now: float) -> float | None:
        """Which Python counts as a second."""
        del now
        return True


@pytest.mark.parametrize(("part", "method"), [(Truth, "next_timer"), (Ready, "next_ready")])
def test_a_truth_is_no_time(part: type[Fifo], method: str) -> None:
    with pytest.raises(tb.PartError, match=rf"{method} .*: True is not allowed; expected seconds, or None"):
        base(queue=part.queue()).run()


class Twice(Fifo):
    """Drops a packet twice in one call."""

    def enqueue(self, now: float, packet: tb.Packet, cx: tb.QueueCx) -> None:
        """Twice."""
        del now
        cx.drop(packet)
        cx.drop(packet)


class Both(Fifo):
    """Drops what it gives out."""

    def dequeue(self, now: float, cx: tb.QueueCx) -> tb.Packet | None:
        """Both."""
        packet = super().dequeue(now, cx)
        if packet:
            cx.drop(packet)
        return packet


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (Twice, "Twice dropped a packet that was not in the queue, or twice"),
        (Both, "Both gave out a packet that was not in the queue, or twice"),
    ],
)
def test_packets_leave_once(part: type[Fifo], said: str) -> None:
    with pytest.raises(tb.PartError, match=said):
        base(queue=part.queue()).run()


class Alone(Fifo):
    """Takes no link."""

    def __init__(self) -> None:  # The slip that is tested.
        """Nothing."""


class Lonely(Aimd):
    """Takes no connection."""

    def __init__(self) -> None:  # The slip that is tested.
        """Nothing."""


def test_a_class_that_takes_no_link_or_connection_is_told_when_it_is_named() -> None:
    with pytest.raises(tb.PartError, match=r"line \d+\): __init__\(self\) .* expected __init__\(self, link\)"):
        Alone.queue()
    with pytest.raises(tb.PartError, match=r"line \d+\): __init__\(self\) .* expected __init__\(self, connection\)"):
        Lonely.scheme()


@pytest.mark.parametrize("name", [3, "  ", " red", "two\nlines", "nul\0"])
def test_names_are_texts_that_can_be_printed(name: Any) -> None:
    part = type("Named", (Fifo,), {"name": name})
    with pytest.raises(tb.PartError, match=r"Named\.name: .* is not allowed; expected a text that can be printed"):
        cast(Any, part).queue()


def test_a_name_may_be_of_any_alphabet() -> None:
    part = cast(Any, type("Named", (Fifo,), {"name": "Schlange_β"}))
    assert base(queue=part.queue()).run().events > 0


def shapers(count: int) -> dict[str, Any]:
    made: dict[str, Any] = {"name": "codel"}
    for _ in range(count):
        made = {"name": "token-bucket", "rate": "5 Mbit/s", "queue": made}
    return made


def itself() -> dict[str, Any]:
    made = shapers(1)
    made["queue"] = made
    return made


@pytest.mark.parametrize("queue", [shapers(120), shapers(100_000), itself()], ids=["many", "very many", "itself"])
def test_queues_within_queues_end_somewhere(queue: dict[str, Any]) -> None:
    for make in (base, base().replace):
        with pytest.raises(tb.ScenarioError, match=r"queue.*expected at most 100 levels of tables and lists"):
            cast(Any, make)(queue=queue)
    assert base(queue=shapers(50)).run().events > 0
