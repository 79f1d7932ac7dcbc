"""Parts for the tests with real packets, most of which fail, in a file of their own: processes of runs import it."""

from __future__ import annotations

import time

import tailback as tb
from tests.custom.custom_parts import Aimd, Fifo, Reporter

FAILS_AT = 0.3
"""Seconds since the start of a run."""


class Failing(Aimd):
    """Fails a while after the start, in one of several ways."""

    def __init__(self, connection: tb.Connection, how: str) -> None:
        super().__init__(connection)
        if how == "init":
            raise ValueError("enough")
        self.how, self.now = how, 0.0

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """As its parent, for a while."""
        super().on_feedback(now, feedback, cx)
        self.now = now
        if now < FAILS_AT:
            return
        if self.how == "raise":
            raise ValueError("enough")
        if self.how == "exit":
            raise SystemExit(7)
        while self.how == "loop":
            pass
        if self.how == "sleep":
            time.sleep(1000)

    def directive(self) -> tb.Directive:
        """As its parent, for a while."""
        if self.now >= FAILS_AT and self.how == "answer":
            return 7  # type: ignore[return-value]  # What is no directive is what is tested.
        if self.now >= FAILS_AT and self.how == "type":
            return tb.Directive(window="30 kB")  # type: ignore[arg-type]  # The wrong type that is to be refused.
        return tb.Directive(window=-1) if self.now >= FAILS_AT and self.how == "negative" else super().directive()


class FailingReporter(Reporter):
    """Fails a while after the start."""

    def on_arrival(self, now: float, arrival: tb.Arrival, cx: tb.Cx) -> None:
        """As its parent, for a while."""
        super().on_arrival(now, arrival, cx)
        if now >= FAILS_AT:
            raise ValueError("enough")


class Reported(Aimd):
    """With a receiver that fails."""

    policy = FailingReporter


class Twice(Fifo):
    """Gives packets out and keeps them, a while after the start."""

    def dequeue(self, now: float, cx: tb.QueueCx) -> tb.Packet | None:
        """As its parent, for a while."""
        if now >= FAILS_AT and self.waiting:
            return self.waiting[0]
        return super().dequeue(now, cx)


class Asleep(Fifo):
    """Does not come back from a call that Python cannot end, a while after the start."""

    def dequeue(self, now: float, cx: tb.QueueCx) -> tb.Packet | None:
        """As its parent, for a while."""
        if now >= FAILS_AT:
            time.sleep(1000)
        return super().dequeue(now, cx)


class Slow(Aimd):
    """Takes its time for each acknowledgement."""

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """As its parent, 3 ms later."""
        super().on_feedback(now, feedback, cx)
        time.sleep(0.003)


class Told(tb.Controller):
    """Sends at a rate that only its receiver's reports set."""

    reliability = "datagram"
    policy = Reporter

    def __init__(self, connection: tb.Connection) -> None:
        super().__init__(connection)
        self.rate = 800e3

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """4 Mbit/s, once the receiver has reported that packets arrive."""
        del now, cx
        if feedback.report is not None and feedback.report.packets:
            self.rate = 4e6

    def directive(self) -> tb.Directive:
        """The rate."""
        return tb.Directive(rate=self.rate)
