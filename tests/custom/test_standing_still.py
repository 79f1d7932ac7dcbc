"""Parts after which time would stand still are told, rather than run for ever."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest

import tailback as tb
from tests.custom.custom_parts import Aimd, Echo, Fifo, Reporter


def dumbbell(part: type[tb.Controller]) -> tb.Scenario:
    """One flow under this controller."""
    base = tb.dumbbell(rate="10 Mbit/s", delay="10 ms", buffer="30 packets", duration="3 s")
    return base.with_flows(tb.flows(1, part.scheme()))


class Endless(Aimd):
    """Its timer has always passed."""

    def next_timer(self) -> float | None:
        """The start of the run."""
        return 0.0


class Unbounded(Aimd):
    """Everything may leave at once, of a source without end."""

    def directive(self) -> tb.Directive:
        """Neither window nor rate."""
        return tb.Directive()


class Boundless(Aimd):
    """A rate of which no link has any."""

    def directive(self) -> tb.Directive:
        """1 Tbit/s."""
        return tb.Directive(rate=1e12)


class NeverReady(Fifo):
    """Says that a packet may leave, and gives none."""

    def dequeue(self, now: float, cx: tb.QueueCx) -> tb.Packet | None:
        """Nothing."""
        del now, cx
        return None

    def next_ready(self, now: float) -> float | None:
        """At once."""
        return now


class NotANumber(NeverReady):
    """Says that a packet may leave, but not when."""

    def next_ready(self, now: float) -> float | None:
        """No time at all."""
        del now
        return float("nan")


class BeforeTheStart(NeverReady):
    """Says that a packet may leave before there was any time."""

    def next_ready(self, now: float) -> float | None:
        """A time that never was."""
        del now
        return -1.0


class AlwaysDue(Fifo):
    """As ``Endless``."""

    def next_timer(self) -> float | None:
        """The start of the run."""
        return 0.0


class Insatiable(Reporter):
    """Wants to be asked for a report again at once."""

    def next_timer(self) -> float | None:
        """The start of the run."""
        return 0.0


class Asked(Echo):
    """With a policy that wants to be asked."""

    policy = Insatiable


@pytest.mark.parametrize(
    ("part", "complaint"),
    [
        (Endless, r"Endless.next_timer \(.*_still.py, line \d+\): 0.0 is not allowed; expected seconds later than now"),
        (Unbounded, r"Unbounded.directive \(.*\): Directive\(.*\) is not allowed; expected a window or a rate"),
        (Boundless, r"Boundless.directive \(.*\): Directive\(.*\) is not allowed; expected a window or a rate"),
        (Asked, r"Insatiable.next_timer \(.*\): 0.0 is not allowed; expected seconds later than now"),
        (NeverReady, r"NeverReady.next_ready \(.*\): .* is not allowed; expected seconds later than now"),
        (NotANumber, r"NotANumber.next_ready \(.*\): nan is not allowed; expected seconds, or None"),
        (
            BeforeTheStart,
            r"BeforeTheStart.next_ready \(.*\): -1.0 is not allowed; expected seconds of at least 0, or None",
        ),
        (AlwaysDue, r"AlwaysDue.next_timer \(.*\): 0.0 is not allowed; expected seconds later than now"),
    ],
)
def test_time_that_stands_still_is_told(part: Any, complaint: str) -> None:
    base = tb.dumbbell(rate="10 Mbit/s", delay="10 ms", buffer="30 packets", duration="10 s")
    if issubclass(part, tb.Controller):
        scenario = base.with_flows(tb.flows(1, part.scheme()))
    else:
        scenario = base.replace(queue=part.queue()).with_flows(tb.flows(1, "sack"))
    with pytest.raises(tb.PartError, match=complaint):
        scenario.run()


def test_a_call_that_does_not_come_back_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stuck(Aimd):
        """Looks for something that is not there, and catches whatever is raised."""

        def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
            super().on_feedback(now, feedback, cx)
            while now > 1:
                with contextlib.suppress(Exception):
                    sum(range(1000))

    class Pondering(Aimd):
        """Is never made."""

        def __init__(self, connection: tb.Connection) -> None:
            super().__init__(connection)
            while True:
                sum(range(1000))

    monkeypatch.setenv("TAILBACK_CALL_LIMIT", "0.2")
    with pytest.raises(
        tb.PartError, match=r"in Pondering\.__init__: CallTimeoutError: .*Pondering\.__init__ has not come back"
    ):
        dumbbell(Pondering).run()
    # The place that is named is where the call was interrupted, and that may be in what it calls.
    with pytest.raises(tb.PartError, match=r": CallTimeoutError: .*Stuck\.on_feedback has not come back"):
        dumbbell(Stuck).run()
    # Who comes back is left alone, however often it is called; so is who follows the progress.
    followed: list[float] = []

    def follow(share: float) -> None:
        followed.append(share)
        if len(followed) == 1:
            time.sleep(0.5)

    assert dumbbell(Aimd).run(progress=follow).hash == dumbbell(Aimd).run().hash
    assert followed


def test_what_is_no_time_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    base = dumbbell(Aimd)
    for said in ("soon", "-1", "inf", "nan"):
        monkeypatch.setenv("TAILBACK_CALL_LIMIT", said)
        with pytest.raises(tb.ArgumentError, match="TAILBACK_CALL_LIMIT"):
            base.run()
    monkeypatch.setenv("TAILBACK_CALL_LIMIT", "0")
    assert base.run().duration > 0
