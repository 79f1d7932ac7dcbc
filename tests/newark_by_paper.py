"""TCP Newark a second time, straight from §III of Li and Mills and the rules of RED + ECN-TCP, with numbers where the
library's has epochs: so that the two can be held against each other packet by packet. It was written beside the library's, by
the same reading of the paper; ``newark_network_by_paper.py`` shares nothing with it. No test lives here."""

from __future__ import annotations

import tailback as tb


class Newark(tb.Controller):
    """Windows in packets; a set of names per rule of the paper."""

    def __init__(self, connection: tb.Connection, g: float = 1.0, t_max: float = 240.0) -> None:
        super().__init__(connection)
        self.packet = connection.segment
        self.wp = connection.initial_window / self.packet
        self.wp_max = connection.max_window / self.packet if connection.max_window else float("inf")
        self.threshold = float("inf")
        self.tc = self.tc_max = t_max
        self.g = g
        self.rtt: float | None = None
        self.uncleared_timeout = False
        self.sent = 0
        """Transmissions so far; each packet bears its place among them."""
        self.window_began = 0
        """Place of the first transmission after the last reduction of W_p: marks on earlier ones are answered."""
        self.reduced_at = self.halved_at = 0.0

    def on_sent(self, now: float, sent: tb.Sent, cx: tb.Cx) -> None:  # noqa: ARG002 (as it is called)
        """Numbers the transmission."""
        self.sent += 1
        sent.tag = self.sent

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:  # noqa: PLR0912 (rule by rule)
        """§III-B, in its order: losses, T_c, W_p."""
        if feedback.rtt is not None:
            self.rtt = feedback.rtt.smoothed
        if feedback.recovery != "timeout":
            self.uncleared_timeout = False
        loss = feedback.event in {"loss", "timeout"}
        if feedback.event == "timeout":
            self.uncleared_timeout = True
            if feedback.consecutive_timeouts <= 1:
                self.halve(now, 1.0)
            self.wp = 1.0
        elif feedback.event == "loss" and self.is_news(now, [lost.tag for lost in feedback.lost]):
            self.halve(now, 2.0)
        # "If T_c reaches 1, W_p is decreased exponentially using the eta-bit instead."
        on_window = False
        if feedback.echoes.eta:
            if self.tc <= 1.0:
                on_window = True
            elif now >= self.halved_at + (self.rtt or 0.0) - 1e-12:
                self.tc = max(1.0, self.tc / 2)
                self.halved_at = now
        elif feedback.advanced:
            self.tc = min(self.tc_max, self.tc + 1.0)
        marked = bool(on_window or feedback.echoes.rho or feedback.echoes.ce or feedback.event == "ecn")
        if marked and self.is_news(now, [acked.tag for acked in feedback.acked]):
            self.halve(now, 1.0)
        held = (marked and feedback.recovery != "timeout") or feedback.recovery == "fast"
        event = feedback.event not in {None, "ecn"}
        if feedback.advanced and feedback.window_limited and not (loss or event or held):
            if self.wp < self.threshold:
                self.wp += min(feedback.advanced / self.packet, 1.0)
            else:
                self.wp += 1.0 / self.wp
            self.wp = min(self.wp, self.wp_max)
        cx.note("virtual_window", self.wp * self.packet)
        cx.note("token_limit", self.tc * self.packet)

    def is_news(self, now: float, places: list[int]) -> bool:
        """Whether a packet sent since the last reduction is concerned; where none is named, whether a round trip passed."""
        if not places:
            return now >= self.reduced_at + (self.rtt or 0.0) - 1e-12
        return any(place > self.window_began for place in places)

    def halve(self, now: float, least: float) -> None:
        """Congestion avoidance begins at half of the window."""
        self.threshold = max(2.0, self.wp / 2)
        self.wp = min(self.wp, max(least, self.wp / 2))
        self.window_began, self.reduced_at = self.sent, now

    def directive(self) -> tb.Directive:
        """Fig. 4: tokens at the mean interval g RTT / W_p, kept up to T_c, or one while a time-out is not cleared."""
        if self.rtt is None:
            return tb.Directive(window=int(self.wp * self.packet))
        kept = 1.0 if self.uncleared_timeout else self.tc
        # To the nearest bit per second, a half upwards, as rates are.
        rate = int(int(self.wp * self.packet) * 8 * 10**9 // round(self.rtt * 1e9) / self.g + 0.5)
        return tb.Directive(rate=rate, burst=kept * self.packet, tokens="poisson")
