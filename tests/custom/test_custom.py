"""Parts written in Python do what the built-in ones do, and get what their classes ask for. What is refused is tested in
``test_registration.py``, what fails in a run in ``test_failing.py``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

import pytest

import tailback as tb
from tailback.custom import registry
from tests.custom.custom_parts import Aimd, Count, Echo, Fifo, Marking, Paced, Paired, PairReporter, Probing, Reporter


def test_a_controller_that_does_what_sack_does_gives_the_same_run(base: tb.Scenario) -> None:
    custom = base.replace(scheme=Aimd.scheme()).run()
    built_in = base.run()
    assert custom.flows.drop("scheme").equals(built_in.flows.drop("scheme"))
    assert custom.link_series.equals(built_in.link_series)
    assert custom.flows["recoveries"].sum() > 0


def test_a_queue_that_does_what_drop_tail_does_gives_the_same_run(base: tb.Scenario) -> None:
    custom = base.replace(queue=Fifo.queue()).run()
    built_in = base.run()
    assert custom.flows.drop("scheme").equals(built_in.flows.drop("scheme"))
    counters = ["transmitted_packets", "dropped_overflow_packets", "delivered_bytes"]
    assert custom.links.select(counters).equals(built_in.links.select(counters))


def test_runs_are_the_same_every_time(base: tb.Scenario) -> None:
    made = base.replace(scheme=Paced.scheme(rate=3e6), queue=Marking.queue(chance=0.1))
    assert made.run(seed=4).hash == made.run(seed=4).hash
    assert made.run(seed=4).hash != made.run(seed=5).hash


def test_rates_are_obeyed(base: tb.Scenario) -> None:
    result = base.with_flows(tb.flows(1, Paced.scheme(rate=3e6))).run()
    assert result.flows["throughput"][0] == pytest.approx(3e6, rel=0.02)


def test_marks_reach_the_controller(base: tb.Scenario) -> None:
    result = base.with_flows(tb.flows(1, Aimd.scheme(), transport={"ecn": "ect0"})).replace(
        queue=Marking.queue(chance=0.01), buffer="1000 packets"
    )
    made = result.run()
    assert made.links["marks"].sum() > 10
    assert made.summary()["throughput"][0] < 10e6


def test_a_feedback_policy_reports_to_its_controller(base: tb.Scenario) -> None:
    Echo.seen.clear()
    made = base.with_flows(tb.flows(1, Echo.scheme())).replace(**{"record.state": True}).run()
    assert pytest.approx(0.1) == Reporter.EVERY
    received = made.flows["received_packets"][0]
    assert len(Echo.seen) == pytest.approx(100, abs=3), "a report every 100 ms"
    assert sum(report.packets for report in Echo.seen) == pytest.approx(received, rel=0.02)
    assert {type(report) for report in Echo.seen} == {Count}
    assert all(isinstance(report.packets, int) and report.any_new is True for report in Echo.seen[1:])
    assert Echo.seen[5].mean_size == pytest.approx(1000)
    assert made.state["name"].unique().to_list() == ["reported"]


def test_pairs_of_control_packets_reach_the_policy(base: tb.Scenario) -> None:
    """One in a lane of its own, one behind the data: they part by the queueing time (Xia et al., §IV-B.1)."""
    PairReporter.arrived.clear()
    made = base.with_flows(tb.flows(1, Probing.scheme())).run()
    pairs: dict[int, list[tuple[float, tb.Arrival]]] = {}
    for now, arrival in PairReporter.arrived:
        assert arrival.control is not None
        assert arrival.control.sent_at == arrival.sent_at
        assert arrival.control.sent_at <= now
        pairs.setdefault(arrival.control.pair, []).append((now, arrival))
    assert len(pairs) == pytest.approx(100, abs=2)
    whole = [pair for pair in pairs.values() if len(pair) == 2]
    assert len(whole) >= 98
    assert all(len({arrival.lane for _, arrival in pair}) == 2 for pair in whole)
    sent = [arrival.control.bytes_sent for _, arrival in PairReporter.arrived if arrival.control is not None]
    assert sent == sorted(sent)
    assert 0 < sent[-1] <= made.flows["sent_bytes"][0]


def test_data_leaves_in_pairs(base: tb.Scenario) -> None:
    Paired.seen.clear()
    base.with_flows(tb.flows(1, Paired.scheme())).run()
    fresh = [pair for pair, _, again in Paired.seen if not again]
    assert len(fresh) > 1000
    assert fresh.count("first") == pytest.approx(fresh.count("second"), abs=2)
    assert all(pair == tag for pair, tag, again in Paired.seen if not again), "as it was sent"


def test_directives_say_what_they_were_made_of() -> None:
    full = tb.Directive(3000, 1e6, burst=500, tokens="poisson", gate=False, probe=tb.DataPairs(0.5), timeout=2.0)
    assert (full.window, full.rate, full.burst, full.tokens, full.gate, full.timeout) == (
        3000,
        1_000_000,
        500,
        "poisson",
        False,
        2.0,
    )
    assert isinstance(full.probe, tb.DataPairs)
    assert full.probe.singleton_timeout == 0.5
    pair = tb.Directive(probe=tb.ControlPair(7)).probe
    assert isinstance(pair, tb.ControlPair)
    assert pair.id == 7
    cluster = tb.Directive(probe=tb.ProbeCluster(3, 2e6, 6000), media=1e6)
    assert isinstance(cluster.probe, tb.ProbeCluster)
    assert (cluster.probe.id, cluster.probe.rate, cluster.probe.bytes, cluster.media) == (3, 2_000_000, 6000, 1_000_000)
    names = {"Directive": tb.Directive, "ProbeCluster": tb.ProbeCluster}
    assert eval(repr(cluster), names).media == 1_000_000
    assert eval(repr(full), {"Directive": tb.Directive, "DataPairs": tb.DataPairs}).probe.singleton_timeout == 0.5
    padded = tb.Directive(rate=1e6, probe=tb.Padding())
    for same in (padded, eval(repr(padded), {"Directive": tb.Directive, "Padding": tb.Padding})):
        assert isinstance(same.probe, tb.Padding)
    assert tb.Directive().probe is None
    asked = tb.Directive(1e5, ack_frequency=tb.AckFrequency(4, 0.025), immediate_ack=3)
    names = {"Directive": tb.Directive, "AckFrequency": tb.AckFrequency}
    for same in (asked, eval(repr(asked), names)):
        assert same.ack_frequency is not None
        assert (same.ack_frequency.threshold, same.ack_frequency.max_delay, same.immediate_ack) == (4, 0.025, 3)
    for wrong, words in (
        ({"burst": -1}, "burst: -1"),
        ({"tokens": "even"}, "tokens: .even"),
        ({"timeout": float("nan")}, "timeout: NaN"),
        ({"timeout": 0.0}, "timeout: 0 is not allowed; expected seconds of at least 1e-6"),
        ({"immediate_ack": -1}, "immediate_ack: -1 is not allowed; expected 0 to 4294967295"),
        ({"rate": 1e15}, "rate: 1000000000000000 is not allowed; expected bit/s from 0 to 1e14"),
    ):
        with pytest.raises(ValueError, match=words):
            tb.Directive(**cast(Any, wrong))
    with pytest.raises(ValueError, match="singleton_timeout: -1"):
        tb.DataPairs(-1)
    for threshold, delay, words in (
        (0, 0.1, "threshold: 0 is not allowed; expected 1 to 65535 packets"),
        (65536, 0.1, "threshold: 65536"),
        (2, 10.5, "max_delay: 10.5 is not allowed; expected seconds from 0 to 10"),
        (2, float("nan"), "max_delay: NaN"),
    ):
        with pytest.raises(ValueError, match=words):
            tb.AckFrequency(threshold, delay)


def test_reports_are_of_their_policys_type(base: tb.Scenario) -> None:
    class Other(Reporter):
        Report = Mean

    class Confused(Echo):
        policy = Other

    with pytest.raises(tb.PartError, match=r"Other.poll_report \(.*custom_parts.py, line \d+\): Count.*type, Mean"):
        base.with_flows(tb.flows(1, Confused.scheme())).run()

    class Untyped(Reporter):
        Report = None

    class Silent(Echo):
        policy = Untyped

    with pytest.raises(tb.PartError, match="whose Report names no type"):
        base.with_flows(tb.flows(1, Silent.scheme())).run()
    with pytest.raises(TypeError, match=r"\[1.0\] is not allowed; expected a data class of numbers"):
        tb.Outgoing([1.0])
    with pytest.raises(ValueError, match=r"report.rate: inf is not allowed; expected a finite number"):
        tb.Outgoing(Mean(float("inf")))


@dataclass
class Mean:
    """A report of another type."""

    rate: float


def test_custom_parts_have_names(base: tb.Scenario) -> None:
    assert registry.name_of(Aimd) == "aimd"
    assert tb.flows(1, Aimd.scheme(increase=2.0)).name == "aimd"
    assert json.loads(base.replace(scheme=Aimd.scheme(increase=2.0)).to_json())["flows"][0]["scheme"] == {
        "name": "custom",
        "part": "aimd",
        "settings": {"increase": 2.0},
    }


def test_tables_name_the_part(base: tb.Scenario) -> None:
    both = base.with_flows(tb.flows(1, Aimd.scheme()), tb.flows(1, "reno")).replace(duration="1 s").run()
    assert both.flows["scheme"].to_list() == ["aimd", "reno"]


def test_the_class_says_who_answers_marks_and_how_they_are_echoed(base: tb.Scenario) -> None:
    class Still(tb.Controller):
        ecn = "ect0"

        def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
            del now
            cx.note("echoed", feedback.echoes.ce)

        def directive(self) -> tb.Directive:
            return tb.Directive(window=self.connection.segment)

    class Deaf(Still):
        marks = "controller"

    class Counting(Deaf):
        echo = "counted"

    marked = base.replace(queue=Marking.queue(chance=1.0), record={"state": True})
    silent, deaf, counting = (marked.with_flows(tb.flows(1, part.scheme())).run() for part in (Still, Deaf, Counting))
    sent = [result.flows["sent_packets"][0] for result in (silent, deaf, counting)]
    assert sent[0] < sent[1] / 4, "RFC 3168 §6.1.2 silences a window of one segment"
    # 40 ms and three transmissions of a segment, and that of its acknowledgement.
    assert sent[1] == sent[2], "who answers marks alone is not silenced"
    assert 0.95 * 10 / 0.041 < sent[1] < 10 / 0.04, "one segment per round trip"
    echoed = counting.state.filter(counting.state["name"] == "echoed")["value"].sum()
    assert sent[2] - 1 <= echoed <= sent[2], "every packet is marked, and every mark counted"


def test_every_packet_is_acknowledged_where_the_class_wants_it(base: tb.Scenario) -> None:
    class Watching(tb.Controller):
        def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
            del now, feedback
            cx.note("heard", 1.0)

        def directive(self) -> tb.Directive:
            return tb.Directive(window=10 * self.connection.segment)

    class Prompt(Watching):
        acks = 1

    def heard(part: type[tb.Controller]) -> float:
        flow = tb.flows(1, part.scheme(), receiver={"ack_every": 2})
        result = base.with_flows(flow).replace(record={"state": True}).run()
        return float(result.state.height / result.flows["received_packets"][0])

    assert heard(Watching) == pytest.approx(0.5, abs=0.02)
    assert heard(Prompt) == pytest.approx(1.0, abs=0.02)


def test_a_class_asks_its_receiver_how_to_acknowledge(base: tb.Scenario) -> None:
    class Watching(tb.Controller):
        ack_requests = True
        at_once = 0

        def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
            del now, feedback
            cx.note("heard", 1.0)

        def asked(self) -> tb.AckFrequency | None:
            return None

        def directive(self) -> tb.Directive:
            window = 10 * self.connection.segment
            return tb.Directive(window=window, ack_frequency=self.asked(), immediate_ack=self.at_once)

    class Seldom(Watching):
        def asked(self) -> tb.AckFrequency | None:
            return tb.AckFrequency(5, 0.1)

    class Impatient(Seldom):
        def on_sent(self, now: float, sent: tb.Sent, cx: tb.Cx) -> None:
            del now, sent, cx
            self.at_once += 1

    class Silent(Seldom):
        ack_requests = False

    def heard(part: type[tb.Controller]) -> float:
        flow = tb.flows(1, part.scheme(), receiver={"ack_every": 2})
        result = base.with_flows(flow).replace(record={"state": True}).run()
        return float(result.state.height / result.flows["received_packets"][0])

    assert heard(Watching) == pytest.approx(0.5, abs=0.02), "as it is configured"
    assert heard(Seldom) == pytest.approx(0.2, abs=0.02)
    assert heard(Impatient) == pytest.approx(1.0, abs=0.02)
    with pytest.raises(
        tb.PartError, match="expected no ack_frequency and no immediate_ack, or a class with ack_requests"
    ):
        base.with_flows(tb.flows(1, Silent.scheme())).run()
    wrong = "Wrong.ack_requests: True is not allowed; expected False with reliability 'datagram'"
    with pytest.raises(tb.PartError, match=wrong):
        tb.register(type("Wrong", (Paced,), {"ack_requests": True}))


def test_parts_go_with_the_tasks_of_a_sweep(base: tb.Scenario) -> None:
    far = base.sweep(scheme=[Aimd.scheme(), "sack"], seeds=2, cache=False, jobs=2)
    near = base.sweep(scheme=[Aimd.scheme(), "sack"], seeds=2, cache=False, jobs=1)
    assert far.failed.is_empty(), far.failed["error"][0]
    assert far.table["hash"].to_list() == near.table["hash"].to_list()
