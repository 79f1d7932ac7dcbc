"""A custom controller in twenty lines: AIMD with any two numbers.

Increase by `a` segments per round trip, decrease to `b` of the window at a loss. Reno is (1, 0.5); a gentler decrease
with a smaller increase is as fast and smoother.
"""

import tailback as tb


class Aimd(tb.Controller):
    """Additive increase, multiplicative decrease."""

    def __init__(self, connection: tb.Connection, a: float = 1.0, b: float = 0.5) -> None:
        super().__init__(connection)
        self.a, self.b, self.window = a, b, float(connection.initial_window)

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """Once per acknowledgement."""
        segment = self.connection.segment
        if feedback.event in {"loss", "timeout"}:
            self.window = max(self.window * self.b, 2.0 * segment)
        elif feedback.recovery == "open":
            self.window += self.a * segment * feedback.advanced / self.window

    def directive(self) -> tb.Directive:
        """What the sender may do from now on."""
        return tb.Directive(window=self.window)


link = tb.dumbbell(rate="10 Mbit/s", delay="20 ms", buffer="30 packets", duration="40 s", warm_up="10 s")
steep, gentle = Aimd.scheme(a=1.0, b=0.5), Aimd.scheme(a=0.2, b=0.875)
result = link.with_flows(tb.flows(1, steep, name="steep"), tb.flows(1, gentle, name="gentle")).run()

print(result.flows.select("flow", "goodput", "retransmission_rate"))
result.plot.window().savefig("custom_controller.svg")
