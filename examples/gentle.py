"""A custom controller: additive increase, and a decrease that depends on how full the queue seems to be.

tailback compare gentle cubic --custom examples/gentle.py --over examples/dumbbell.toml
"""

import tailback as tb


class Gentle(tb.Controller):
    """Halves its window at a loss, and shrinks it a little while the queue is long."""

    def __init__(self, connection: tb.Connection, target: float = 0.02) -> None:
        super().__init__(connection)
        self.window = float(connection.initial_window)  # bytes
        self.target = target  # seconds of queueing delay above which the window shrinks
        self.slow_start = True

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """Once per acknowledgement."""
        segment = self.connection.segment
        if feedback.event in {"loss", "ecn", "timeout"}:
            self.window = max(self.window / 2, 2 * segment)
            self.slow_start = False
        elif feedback.recovery == "open" and feedback.rtt is not None:
            queueing = feedback.rtt.latest - feedback.rtt.min
            if queueing > self.target:
                self.slow_start = False
                self.window -= 0.5 * segment * feedback.advanced / self.window
            elif self.slow_start:
                self.window += feedback.advanced
            else:
                self.window += segment * feedback.advanced / self.window
            self.window = max(self.window, 2.0 * segment)
            cx.note("queueing", queueing)

    def directive(self) -> tb.Directive:
        """What the sender may do from now on."""
        return tb.Directive(window=self.window)
