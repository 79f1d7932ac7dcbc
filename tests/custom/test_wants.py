"""What classes in Python are told because they ask for it, held against what they can compute themselves. What they may not
ask for is in ``test_registration.py``, the example in ``test_little_bbr.py``."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest

import tailback as tb
from tailback import _core
from tailback.custom import DeliverySample, LostThen, OneWay
from tests.custom.custom_parts import Aimd, Fifo, Marking


@pytest.fixture(scope="module")
def base() -> tb.Scenario:
    return tb.dumbbell(rate="10 Mbit/s", delay="10 ms", buffer="30 packets", duration="10 s")


class Sampled(Aimd):
    """Keeps its samples, and what it knew when each packet left."""

    delivery = True
    samples: ClassVar[list[tuple[float, DeliverySample, dict[str, Any]]]] = []

    def __init__(self, connection: tb.Connection) -> None:
        super().__init__(connection)
        self.left: dict[int, tuple[float, int]] = {}
        self.delivered, self.lost = 0, 0
        self.samples.clear()

    def on_sent(self, now: float, sent: tb.Sent, cx: tb.Cx) -> None:
        """Keeps when it left, and what was in flight then."""
        del cx
        self.left[sent.number] = (now, sent.in_flight)

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """Keeps the sample beside what this batch says."""
        super().on_feedback(now, feedback, cx)
        self.delivered += sum(packet.size for packet in feedback.acked)
        self.lost += sum(packet.size for packet in feedback.lost)
        if feedback.delivery is None:
            assert not feedback.acked
            assert not feedback.lost
            return
        newest = max(feedback.acked, key=lambda packet: (self.left[packet.number][0], packet.number), default=None)
        known: dict[str, Any] = {
            "delivered": self.delivered,
            "lost": self.lost,
            "newly_acked": sum(packet.size for packet in feedback.acked),
            "newly_lost": sum(packet.size for packet in feedback.lost),
            "sizes": [packet.size for packet in feedback.lost],
            "in_flight": [self.left[packet.number][1] for packet in feedback.lost],
            "sent_at": None if newest is None else self.left[newest.number][0],
            "prior_in_flight": 0 if newest is None else self.left[newest.number][1],
            "rtt": None if newest is None or newest.retransmitted else now - self.left[newest.number][0],
        }
        self.samples.append((now, feedback.delivery, known))


def test_samples_say_what_the_controller_can_reckon(base: tb.Scenario) -> None:
    made = base.with_flows(tb.flows(1, Sampled.scheme())).run()
    assert made.links["dropped_overflow_packets"].sum() > 0, "else nothing is said of losses"
    assert len(Sampled.samples) > 5000
    for now, sample, known in Sampled.samples:
        for field in ("delivered", "lost", "newly_acked", "newly_lost", "prior_in_flight"):
            assert getattr(sample, field) == known[field], (now, field)
        assert sample.sent_at == known["sent_at"]
        assert sample.rtt == (None if known["rtt"] is None else pytest.approx(known["rtt"], abs=2e-9))
        assert sample.lost_since <= sample.lost
        if sample.rate is not None:  # The samples' own equation.
            rate = 8 * (sample.delivered - sample.prior_delivered) / sample.interval
            assert sample.rate == pytest.approx(rate, rel=1e-6, abs=1)
            assert sample.rate <= 10e6 * (1 + 1e-6) + 8 * 1000 / sample.interval, (
                "no faster than the link, and a packet"
            )
        assert [lost.size for lost in sample.losses] == known["sizes"]
        assert [lost.in_flight for lost in sample.losses] == known["in_flight"]
    at_last = [sample.rate for now, sample, _ in Sampled.samples if now > 5 and sample.rate is not None]
    assert max(at_last) == pytest.approx(10e6, rel=0.02), "while there is a queue; a packet is 2 % of what is in flight"
    rounds = sum(sample.round_start for _, sample, _ in Sampled.samples)
    assert rounds == pytest.approx(10 / made.flows["mean_rtt"][0], rel=0.1), "one per round trip"


def test_a_loss_is_told_with_what_was_known_when_it_left(base: tb.Scenario) -> None:
    lossy = base.replace(loss={"name": "independent", "probability": 0.1})
    lossy.with_flows(tb.flows(1, Sampled.scheme())).run()
    losses = [(sample, lost) for _, sample, _ in Sampled.samples for lost in sample.losses]
    assert losses
    for sample, lost in losses:
        assert isinstance(lost, LostThen)
        assert lost.size <= lost.lost_since <= sample.lost
        assert lost.delivered_then <= sample.delivered
        assert not lost.app_limited
    bare = [sample for _, sample, _ in Sampled.samples if sample.newly_lost and not sample.newly_acked]
    assert bare, "time-outs tell of losses alone"
    assert all(sample.rate is sample.rtt is sample.sent_at is None for sample in bare)
    assert all(sample.interval == sample.prior_in_flight == 0 and not sample.round_start for sample in bare)


def test_samples_say_whether_the_application_is_the_limit(base: tb.Scenario) -> None:
    class Told(Sampled):
        sent: ClassVar[list[bool]] = []

        def on_sent(self, now: float, sent: tb.Sent, cx: tb.Cx) -> None:
            super().on_sent(now, sent, cx)
            self.sent.append(sent.app_limited)

    dry = tb.flows(1, Told.scheme(), source={"name": "datagrams", "rate": "2 Mbit/s"})
    made = base.with_flows(dry).run()
    assert sum(Told.sent) > made.flows["sent_packets"][0] - 20, "packets leave as they are written"
    limited = [sample.app_limited for _, sample, _ in Told.samples]
    assert sum(limited) > len(limited) - 20
    rates = [sample.rate for now, sample, _ in Told.samples if now > 1 and sample.rate is not None]
    assert sum(rates) / len(rates) == pytest.approx(made.flows["throughput"][0], rel=0.1), "the application's"
    Told.sent.clear()
    base.with_flows(tb.flows(1, Told.scheme())).run()
    assert not any(Told.sent)
    assert not any(sample.app_limited for _, sample, _ in Told.samples)


def test_who_does_not_ask_gets_none(base: tb.Scenario) -> None:
    class Silent(Aimd):
        def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
            super().on_feedback(now, feedback, cx)
            assert feedback.delivery is None
            assert feedback.one_way is None
            assert feedback.report is None

    def told(scheme: Any) -> Any:
        return base.with_flows(tb.flows(1, scheme, name="it")).run().flows.drop("scheme")

    plain = told("sack")
    assert told(Silent.scheme()).equals(plain)
    assert told(Sampled.scheme()).equals(plain), "who asks hears more, and that is all"


def test_lost_retransmissions_are_found_without_the_timer(base: tb.Scenario) -> None:
    class Steady(tb.Controller):
        """A rate, whatever is lost."""

        def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
            """Nothing to do."""

        def directive(self) -> tb.Directive:
            return tb.Directive(100_000, 5e6)

    class Finding(Steady):
        lost_retransmissions = True

    lossy = base.replace(loss={"name": "independent", "probability": 0.1})
    waiting, finding = (lossy.with_flows(tb.flows(1, part.scheme())).run() for part in (Steady, Finding))
    assert waiting.flows["timeouts"][0] > 5
    assert finding.flows["timeouts"][0] == 0
    assert finding.flows["goodput"][0] > waiting.flows["goodput"][0]


def test_stamped_segments_tell_of_their_way(base: tb.Scenario) -> None:
    class Stamped(Aimd):
        stamps = True
        ways: ClassVar[list[tuple[float, OneWay | None]]] = []

        def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
            super().on_feedback(now, feedback, cx)
            if feedback.acked and feedback.event is None:
                self.ways.append((now, feedback.one_way))

    made = base.with_flows(tb.flows(1, Stamped.scheme())).replace(**{"record.delays": True}).run()
    found = []
    for now, way in Stamped.ways:
        assert way is not None
        assert way.sent_at < way.arrived < now
        found.append(way.arrived - way.sent_at)
    assert min(found) > 0.020, "the delay of the links, at least"
    assert sum(found) / len(found) == pytest.approx(made.flows["one_way_delay"][0], rel=0.02)


def test_parts_see_the_ecn_field(base: tb.Scenario) -> None:
    class Field(tb.FeedbackPolicy):
        seen: ClassVar[set[tuple[str, bool]]] = set()

        def on_arrival(self, now: float, arrival: tb.Arrival, cx: tb.Cx) -> None:
            del now, cx
            self.seen.add((arrival.ecn, arrival.ce))

        def poll_report(self, now: float, cx: tb.Cx) -> tb.Outgoing | None:
            """None."""

    class Scalable(Aimd):
        ecn, echo, policy = "ect1", "counted", Field

    class Looking(Fifo):
        seen: ClassVar[set[tuple[str, str]]] = set()

        def enqueue(self, now: float, packet: tb.Packet, cx: tb.QueueCx) -> None:
            self.seen.add((packet.kind, packet.ecn))
            if packet.number % 50 == 49:
                cx.mark_ce(packet)
            super().enqueue(now, packet, cx)

    base.with_flows(tb.flows(1, Scalable.scheme()), tb.flows(1, "sack")).replace(queue=Looking.queue()).run()
    assert {field for kind, field in Looking.seen if kind == "data"} >= {"ect1", "not-ect"}
    assert {("ect1", False), ("ce", True)} <= Field.seen <= {("ect1", False), ("ce", True), ("not-ect", False)}


class Media(tb.Controller):
    """A rate that never changes, and what its receiver reports."""

    reliability, ecn, marks = "datagram", "ect0", "controller"
    policy = tb.ArrivalReports(0.05, overlap=10)
    heard: ClassVar[list[tuple[float, tb.ArrivalReport]]] = []
    sent: ClassVar[dict[int, float]] = {}

    def __init__(self, connection: tb.Connection, rate: float = 4e6) -> None:
        super().__init__(connection)
        self.rate = rate
        self.heard.clear()
        self.sent.clear()

    def on_sent(self, now: float, sent: tb.Sent, cx: tb.Cx) -> None:
        """Keeps when it left."""
        del cx
        self.sent[sent.number] = now

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """Keeps the report."""
        del cx
        if feedback.report is not None:
            assert isinstance(feedback.report, tb.ArrivalReport)
            self.heard.append((now, feedback.report))

    def directive(self) -> tb.Directive:
        """The rate."""
        return tb.Directive(rate=self.rate)


def test_receivers_report_arrivals_to_classes(base: tb.Scenario) -> None:
    lossy = base.replace(queue=Marking.queue(chance=0.1), loss={"name": "independent", "probability": 0.02})
    result = lossy.with_flows(tb.flows(1, Media.scheme())).run()
    assert len(Media.heard) == pytest.approx(10 / 0.05, abs=5), "a report every 50 ms"
    arrived, marked, told = {}, set(), 0
    for now, report in Media.heard:
        assert report.left <= now - 0.020
        numbers = [word.number for word in report.packets]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        told += len(numbers)
        for word in report.packets:
            assert (word.age is not None) == word.received
            if word.age is not None:
                arrived[word.number] = report.left - word.age - Media.sent[word.number]
            if word.marked:
                marked.add(word.number)
    flow = result.flows.row(0, named=True)
    # What arrives in the last interval is told by nobody.
    assert len(arrived) == pytest.approx(flow["received_packets"], abs=60)
    assert told == pytest.approx(len(Media.sent) + 10 * len(Media.heard), abs=100), "ten of each report twice"
    assert min(arrived.values()) == pytest.approx(0.02096, abs=1 / 1024), "delays and transmissions"
    assert len(marked) == pytest.approx(result.links["marks"].sum(), abs=20)
    assert marked


def test_a_class_that_gets_reports_of_arrivals_goes_with_its_runs(base: tb.Scenario) -> None:
    class Elsewhere(Media):
        policy = tb.ArrivalReports(0.02, after=7, clock_drift=50.0)

    both = base.with_flows(tb.flows(1, Elsewhere.scheme()))
    far, near = (both.sweep(seeds=2, cache=False, jobs=jobs) for jobs in (2, 1))
    assert far.failed.is_empty(), far.failed["error"][0]
    assert far.table["hash"].to_list() == near.table["hash"].to_list()


def test_how_arrivals_are_reported_is_checked() -> None:
    for wrong, words in (
        ({"interval": 5.0}, r"^interval: 5 s is not allowed; expected 10 ms to 1 s"),
        ({"interval": -1.0}, r"^interval: -1 is not allowed; expected seconds from 0.01 to 1"),
        ({"overlap": 20_000}, r"^overlap: 20000 is not allowed; expected at most 10000"),
        ({"after": 0}, r"^after: 0 is not allowed; expected at least 1 packet, or None"),
        ({"clock_drift": float("nan")}, r"^clock_drift: NaN is not allowed; expected -1000 to 1000"),
    ):
        with pytest.raises(ValueError, match=words):
            tb.ArrivalReports(**wrong)
    assert repr(tb.ArrivalReports(0.02, after=7)) == (
        "ArrivalReports(0.02, overlap=0, after=7, after_frames=False, clock_drift=0)"
    )


def test_stamps_that_a_class_wants_are_part_of_real_headers(base: tb.Scenario) -> None:
    if not hasattr(_core, "for_lab"):
        pytest.skip("there are no laboratories here")

    class Stamped(Aimd):
        """Wants times of departure in its packets."""

        stamps = True

    scenario = base.with_flows(tb.flows(1, Sampled.scheme()), tb.flows(1, Stamped.scheme()))
    flows = json.loads(_core.for_lab(scenario.to_json(), {}))["flows"]
    assert [flow["transport"]["header"] for flow in flows] == ["58 B", "131 B"]
