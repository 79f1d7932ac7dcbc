"""What feedback says, item by item, beside the log of packets of the same run: acknowledged and lost packets, round trip times,
echoed marks, envelopes and words of reports."""

from __future__ import annotations

from typing import ClassVar

import polars as pl
import pytest

import tailback as tb
from tailback import custom
from tests.custom.custom_parts import Aimd, Marking


class Watching(Aimd):
    """Keeps all feedback; each packet bears its number and how often it was sent."""

    name = "watching"
    ecn = "ect0"
    echo = "counted"
    marks = "controller"
    seen: ClassVar[list[tuple[float, tb.Feedback]]] = []
    sent: ClassVar[dict[int, list[float]]] = {}

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """Keeps it."""
        self.seen.append((now, feedback))
        super().on_feedback(now, feedback, cx)

    def on_sent(self, now: float, sent: tb.Sent, cx: tb.Cx) -> None:
        """Notes the time."""
        del cx
        times = self.sent.setdefault(sent.number, [])
        times.append(now)
        sent.tag = 10 * sent.number + len(times)


class Reported(tb.Controller):
    """Datagrams of a constant rate, whose arrivals are reported."""

    name = "reported"
    reliability = "datagram"
    policy = tb.ArrivalReports(0.05)
    stamps = True
    ecn = "ect1"
    seen: ClassVar[list[tuple[float, tb.Feedback]]] = []

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """Keeps it."""
        del cx
        self.seen.append((now, feedback))

    def directive(self) -> tb.Directive:
        """More than the link carries."""
        return tb.Directive(rate=11e6)


def made(base: tb.Scenario, part: type[tb.Controller]) -> tb.Result:
    """A run of one flow over a link that marks and loses by chance."""
    scenario = base.with_flows(tb.flows(1, part.scheme())).replace(
        queue=Marking.queue(chance=0.005),
        loss={"name": "independent", "probability": 0.001},
        record={"packets": True, "links": "all"},
    )
    return scenario.run()


@pytest.fixture(scope="module")
def stream(base: tb.Scenario) -> tb.Result:
    """A reliable stream."""
    Watching.seen.clear()
    Watching.sent.clear()
    return made(base, Watching)


@pytest.fixture(scope="module")
def media(base: tb.Scenario) -> tb.Result:
    """Datagrams with reports."""
    Reported.seen.clear()
    return made(base, Reported)


def of_data(result: tb.Result, event: str) -> pl.DataFrame:
    """What happened to packets of data."""
    return result.packets.filter((pl.col("event") == event) & (pl.col("kind") == "data"))


def test_acknowledged_packets_are_told_as_they_were_sent(stream: tb.Result) -> None:
    told = [(now, one) for now, feedback in Watching.seen for one in feedback.acked]
    assert {type(one) for _, one in told} == {custom.Acked}
    assert len(told) > 2000
    assert len({one.number for _, one in told}) == len(told), "each once"
    for now, one in told:
        times = [time for time in Watching.sent[one.number] if time < now]
        assert one.sent_at == pytest.approx(times[-1], abs=1e-9)
        assert one.retransmitted is (len(times) > 1)
        assert one.tag == 10 * one.number + len(times)
        assert (one.size, one.pair) == (1000, "single")
    assert sum(one.retransmitted for _, one in told) > 4
    assert of_data(stream, "sent").height == sum(map(len, Watching.sent.values()))


def test_lost_packets_are_those_that_were_dropped(stream: tb.Result) -> None:
    told = [(now, one, feedback) for now, feedback in Watching.seen for one in feedback.lost]
    dropped = of_data(stream, "dropped").select("number", "time").rows()
    assert {type(one) for _, one, _ in told} == {custom.Lost}
    assert len({number for number, _ in dropped} - {one.number for _, one, _ in told}) <= 2, "but for the end"
    found = [(now, one) for now, one, feedback in told if feedback.event != "timeout"]
    assert len(found) > 10
    # A timer that expires takes all that is outstanding for lost.
    for now, one in found:
        assert any(number == one.number and one.sent_at < time < now for number, time in dropped)
    for _, one, _ in told:
        assert one.sent_at in [pytest.approx(time, abs=1e-9) for time in Watching.sent[one.number]]
        assert (one.size, one.tag // 10) == (1000, one.number)


def test_round_trip_times_are_smoothed_by_rfc_6298(stream: tb.Result) -> None:
    del stream
    smoothed, least, samples = None, float("inf"), 0
    for now, feedback in Watching.seen:
        if feedback.rtt is None:
            continue
        samples += 1
        assert isinstance(feedback.rtt, custom.RttSample)
        taken = [now - one.sent_at for one in feedback.acked if not one.retransmitted]
        assert feedback.rtt.latest in [pytest.approx(time, abs=2e-9) for time in taken]
        # RFC 6298 §2.2 and 2.3, with alpha = 1/8.
        latest = feedback.rtt.latest
        smoothed = latest if smoothed is None else 0.875 * smoothed + 0.125 * latest
        least = min(least, latest)
        assert feedback.rtt.smoothed == pytest.approx(smoothed, abs=1e-7)
        assert feedback.rtt.min == pytest.approx(least, abs=1e-9)
    assert samples > 1000
    assert least == pytest.approx(0.0418, abs=0.002), "both ways of 20 ms, and the time on the links"


def test_echoes_count_the_marks(stream: tb.Result) -> None:
    told = [feedback.echoes for _, feedback in Watching.seen]
    assert {type(one) for one in told} == {custom.Echoes}
    marks = of_data(stream, "delivered").filter(pl.col("ecn") == "ce").height
    assert marks > 10
    assert 0 <= marks - sum(one.ce for one in told) <= 2, "but for what is on the way at the end"
    assert {(one.rho, one.eta) for one in told} == {(0, 0)}, "which TDQM alone makes"


def test_reports_say_when_each_packet_arrived(media: tb.Result) -> None:
    arrived = dict(of_data(media, "delivered").select("number", "time").rows())
    told = [feedback.report for _, feedback in Reported.seen if feedback.report is not None]
    words = [(report.left, word) for report in told for word in report.packets]
    assert {type(word) for _, word in words} == {custom.ArrivalWord}
    assert len(words) > 8000
    for left, word in words:
        assert word.received is (word.number in arrived and arrived[word.number] <= left + 1 / 65536)
        if word.age is not None:
            assert left - word.age == pytest.approx(arrived[word.number], abs=1 / 1024)
    assert sum(not word.received for _, word in words) > 300, "11 Mbit/s do not pass 10"
    marked = of_data(media, "delivered").filter((pl.col("ecn") == "ce") & (pl.col("time") <= told[-1].left))
    assert marked.height > 30
    assert {word.number for _, word in words if word.marked} == set(marked["number"])
    assert all(word.age is None and not word.marked for _, word in words if not word.received)


def test_envelopes_tell_of_the_newest_packet(media: tb.Result) -> None:
    sent = dict(of_data(media, "sent").select("number", "time").rows())
    arrivals = of_data(media, "delivered").select("time", "number", "size").rows()
    told = [(feedback.envelope, feedback.report) for _, feedback in Reported.seen if feedback.envelope is not None]
    assert {type(envelope) for envelope, _ in told} == {custom.Envelope}
    assert len(told) > 150
    for envelope, report in told:
        before = [entry for entry in arrivals if entry[0] <= report.left + 1 / 65536]
        time, number, _ = before[-1]
        assert envelope.echo == pytest.approx(sent[number], abs=1e-6)
        assert envelope.held == pytest.approx(report.left - time, abs=1 / 65536 + 1e-6)
        assert envelope.arrived_packets == len(before)
        assert envelope.arrived_bytes == sum(size for *_, size in before)


@pytest.mark.parametrize(
    "kind", [custom.Acked, custom.Lost, custom.RttSample, custom.Echoes, custom.Envelope, custom.ArrivalWord]
)
def test_what_runs_tell_is_theirs_to_make(kind: type) -> None:
    with pytest.raises(TypeError, match="cannot create"):
        kind()


def test_what_runs_tell_cannot_be_changed(stream: tb.Result, media: tb.Result) -> None:
    del stream, media
    acked = next(each.acked for _, each in Watching.seen if each.acked)
    lost = next(each.lost for _, each in Watching.seen if each.lost)
    envelope, report = next((each.envelope, each.report) for _, each in Reported.seen if each.envelope is not None)
    timed = next(each for _, each in Watching.seen if each.rtt is not None)
    for thing, name in (
        (acked[0], "number"),
        (lost[0], "size"),
        (timed.rtt, "latest"),
        (timed.echoes, "ce"),
        (envelope, "held"),
        (report.packets[0], "received"),
    ):
        with pytest.raises(AttributeError, match="not writable"):
            setattr(thing, name, 1)
