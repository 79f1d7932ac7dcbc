"""A custom controller that asks for samples of the delivery rate: the bare bones of BBR (Cardwell et al. 2016). The schemes `bbr1`
and `bbr3` are the whole of it.

tailback compare little-bbr bbr1 cubic --custom examples/little_bbr.py --over examples/dumbbell.toml
"""

from collections import deque

import tailback as tb


class LittleBbr(tb.Controller):
    """Paces at the largest delivery rate of ten rounds, and keeps twice that times the smallest round trip time in the network."""

    delivery, lost_retransmissions = True, True
    gains = (1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    margin = 0.99  # of the rate is used: what it is overestimated by would be a queue in the end

    def __init__(self, connection: tb.Connection, high: float = 2.885) -> None:
        super().__init__(connection)
        self.state, self.gain, self.high = "startup", high, high
        self.rates = deque([0.0], maxlen=10)  # the largest of each round, bit/s
        self.rate, self.full, self.stale = 0.0, 0.0, 0  # bit/s; and rounds without growth
        self.rtt, self.seen, self.rest = float("inf"), 0.0, 0.0  # seconds, all three
        self.now, self.phase, self.began = 0.0, 0, 0.0

    def learn(self, now: float, sample: tb.DeliverySample) -> None:
        """The path: its rate, and its round trip time without a queue, which is looked for anew where it is ten seconds old."""
        if sample.round_start and now > self.rest:  # Rounds of four packets say nothing about the rate.
            self.rates.append(0.0)
        if sample.rate is not None and (not sample.app_limited or sample.rate > self.rate):
            self.rates[-1] = max(self.rates[-1], sample.rate)
        self.rate = max(self.rates) or self.rate
        if sample.rtt is not None and (sample.rtt <= self.rtt or now > self.seen + 10):
            self.rest = now + 0.2 if sample.rtt > self.rtt else self.rest
            self.rtt, self.seen = sample.rtt, now

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """From startup, until three rounds bring nothing, to the cycle, whose phases last a round trip each."""
        sample, self.now = feedback.delivery, now
        if sample is None:
            return
        self.learn(now, sample)
        if self.state == "startup" and sample.round_start:
            grows = self.rate >= 1.25 * self.full
            self.full, self.stale = (self.rate, 0) if grows else (self.full, self.stale + 1)
            if self.stale == 3:
                self.state, self.gain = "drain", 1 / self.high
        if self.state == "drain" and 8 * feedback.in_flight <= self.rate * self.rtt:
            self.state, self.phase, self.began = "cycle", 2 + int(6 * cx.uniform()), now
        if self.state == "cycle":
            if now > self.began + self.rtt:
                self.phase, self.began = (self.phase + 1) % 8, now
            self.gain = self.gains[self.phase]
        cx.note("rate", self.rate)

    def directive(self) -> tb.Directive:
        """The rate, and a window for what it errs by; four packets while the queue is to become empty."""
        if not 0 < self.rate * self.rtt < float("inf"):
            return tb.Directive(window=self.connection.initial_window)
        gain = self.high if self.state == "startup" else 2.0
        least = 4 * self.connection.segment
        window = least if self.now < self.rest else max(gain * self.rate * self.rtt / 8, least)
        return tb.Directive(window, self.margin * self.gain * self.rate)
