"""Parts for the tests, in a file of their own so that the processes of a sweep find them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import ClassVar

import tailback as tb


class Aimd(tb.Controller):
    """Reno's window law (RFC 5681), counted in segments as the built-in one does, so that both give the same run."""

    def __init__(self, connection: tb.Connection, increase: float = 1.0, decrease: float = 0.5) -> None:
        super().__init__(connection)
        self.increase, self.decrease = increase, decrease
        self.segment = connection.segment
        self.most = max(connection.max_window / self.segment, 1.0)
        self.window = connection.initial_window / self.segment
        limit = connection.initial_ssthresh
        self.threshold = float("inf") if limit is None else limit / self.segment

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """Halve at congestion, else grow by slow start or by one segment per round trip."""
        del now, cx
        if feedback.event is not None:
            self.on_event(feedback)
        elif feedback.window_limited and feedback.advanced > 0 and feedback.recovery != "fast":
            if self.window < self.threshold:
                grown = self.window + min(feedback.advanced / self.segment, 1.0)
            else:
                grown = self.window + self.increase / self.window
            self.window = min(max(grown, 1.0), self.most)

    def on_event(self, feedback: tb.Feedback) -> None:
        """RFC 5681 equation 4."""
        half = max(min(feedback.outstanding / self.segment, self.window) * self.decrease, 2.0)
        if feedback.event in {"loss", "ecn"}:
            self.threshold, self.window = half, min(half, self.window)
        elif feedback.event == "timeout":
            if feedback.consecutive_timeouts <= 1:
                self.threshold = half
            self.window = 1.0

    def directive(self) -> tb.Directive:
        """The window alone."""
        return tb.Directive(window=int(self.window * self.segment))


class Paced(tb.Controller):
    """A rate that never changes."""

    reliability = "datagram"

    def __init__(self, connection: tb.Connection, rate: float) -> None:
        super().__init__(connection)
        self.rate = rate

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """Nothing to do."""

    def directive(self) -> tb.Directive:
        """The rate, as a Poisson process."""
        return tb.Directive(rate=self.rate, tokens="poisson")


@dataclass(frozen=True)
class Count:
    """What arrived since the last report."""

    packets: int
    mean_size: float
    any_new: bool


class Reporter(tb.FeedbackPolicy):
    """Reports how many packets arrived, ten times a second."""

    Report: ClassVar[type | None] = Count
    EVERY: ClassVar[float] = 0.1

    def __init__(self, connection: tb.Connection) -> None:
        super().__init__(connection)
        self.count, self.size, self.due = 0, 0, self.EVERY

    def on_arrival(self, now: float, arrival: tb.Arrival, cx: tb.Cx) -> None:
        """Counts."""
        del now, cx
        self.count += arrival.is_data
        self.size += arrival.size * arrival.is_data

    def poll_report(self, now: float, cx: tb.Cx) -> tb.Outgoing | None:
        """The count since the last report."""
        del cx
        if now < self.due:
            return None
        count = Count(self.count, self.size / max(self.count, 1), any_new=self.count > 0)
        self.count, self.size, self.due = 0, 0, self.due + self.EVERY
        return tb.Outgoing(count)

    def next_timer(self) -> float | None:
        """When the next is due."""
        return self.due


class Echo(Aimd):
    """Keeps what its receiver reports."""

    policy = Reporter
    seen: ClassVar[list[Count]] = []

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """Keeps the report."""
        del now
        if feedback.report is not None:
            self.seen.append(feedback.report)
            cx.note("reported", feedback.report.packets)

    def directive(self) -> tb.Directive:
        """A small window."""
        return tb.Directive(window=20_000)


class Fifo(tb.QueueDiscipline):
    """Drop-tail."""

    def __init__(self, link: tb.Link) -> None:
        super().__init__(link)
        self.waiting: deque[tb.Packet] = deque()
        self.limit = link.buffer_packets or 1000

    def enqueue(self, now: float, packet: tb.Packet, cx: tb.QueueCx) -> None:
        """Joins the tail, or is dropped."""
        del now
        if len(self.waiting) >= self.limit:
            cx.drop(packet)
        else:
            self.waiting.append(packet)

    def dequeue(self, now: float, cx: tb.QueueCx) -> tb.Packet | None:
        """The oldest."""
        del now, cx
        return self.waiting.popleft() if self.waiting else None


class Marking(Fifo):
    """Drop-tail that marks packets at random."""

    def __init__(self, link: tb.Link, chance: float = 0.01) -> None:
        super().__init__(link)
        self.chance = chance

    def enqueue(self, now: float, packet: tb.Packet, cx: tb.QueueCx) -> None:
        """Marks, with some chance."""
        if cx.chance(self.chance):
            cx.mark_ce(packet)
        super().enqueue(now, packet, cx)


class PairReporter(tb.FeedbackPolicy):
    """Keeps what arrives of pairs of control packets."""

    arrived: ClassVar[list[tuple[float, tb.Arrival]]] = []

    def on_arrival(self, now: float, arrival: tb.Arrival, cx: tb.Cx) -> None:
        """Keeps it."""
        del cx
        if not arrival.is_data:
            self.arrived.append((now, arrival))

    def poll_report(self, now: float, cx: tb.Cx) -> tb.Outgoing | None:
        """None."""


class Probing(Aimd):
    """Sends a pair of control packets ten times a second."""

    policy = PairReporter

    def __init__(self, connection: tb.Connection) -> None:
        super().__init__(connection)
        self.pair, self.due = 0, 0.1

    def next_timer(self) -> float | None:
        """When the next pair leaves."""
        return self.due

    def on_timer(self, now: float, cx: tb.Cx) -> None:
        """Another pair."""
        del now, cx
        self.pair, self.due = self.pair + 1, self.due + 0.1

    def directive(self) -> tb.Directive:
        """A small window, and the newest pair."""
        return tb.Directive(window=20_000, probe=tb.ControlPair(self.pair))


class Paired(Aimd):
    """All data in pairs, at a rate."""

    seen: ClassVar[list[tuple[str, str, bool]]] = []

    def on_sent(self, now: float, sent: tb.Sent, cx: tb.Cx) -> None:
        """Notes the place in the pair."""
        del now, cx
        sent.tag = {"single": 1, "first": 2, "second": 3}[sent.pair]

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """Keeps the places."""
        del now, cx
        tags = {1: "single", 2: "first", 3: "second"}
        self.seen.extend((acked.pair, tags[acked.tag], acked.retransmitted) for acked in feedback.acked)

    def directive(self) -> tb.Directive:
        """2 Mbit/s."""
        return tb.Directive(window=100_000, rate=2e6, probe=tb.DataPairs(0.1), timeout=1.5)
