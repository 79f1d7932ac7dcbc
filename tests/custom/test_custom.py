"""Parts written in Python: they do what the built-in ones do, are checked, and say whose line is wrong."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

import pytest

import tailback as tb
from tailback import _core
from tailback.custom import registry, shipping
from tailback.custom.code import digest_of
from tests.custom.custom_parts import Aimd, Count, Echo, Fifo, Marking, Paced, Paired, PairReporter, Probing, Reporter


@pytest.fixture(scope="module")
def base() -> tb.Scenario:
    made = tb.dumbbell(rate="10 Mbit/s", delay="10 ms", buffer="30 packets", duration="10 s")
    return made.with_flows(tb.flows(2, "sack"))


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


def test_types_of_reports_are_checked_on_registration() -> None:
    @dataclass
    class Wordy:
        said: str

    class Talks(Reporter):
        Report = Wordy

    class Talking(Echo):
        policy = Talks

    with pytest.raises(tb.PartError, match=r"Wordy.said: <class 'str'> cannot travel"):
        Talking.scheme()
    Talks.Report = list  # type: ignore[assignment]
    with pytest.raises(tb.PartError, match="list: cannot be a type of reports"):
        Talking.scheme()


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


def test_unregistered_parts_are_named() -> None:
    with pytest.raises(tb.ScenarioError, match=r"nobody.*registered part"):
        tb.dumbbell(rate="1 Mbit/s", delay="1 ms").with_flows(tb.flows(1, {"name": "custom", "part": "nobody"})).run()


def test_settings_are_checked() -> None:
    with pytest.raises(tb.PartError, match=r"settings\.increse: .*did you mean increase"):
        Aimd.scheme(increse=2.0)
    with pytest.raises(tb.PartError, match=r"settings\.rate, which Paced has no default for"):
        Paced.scheme()


def test_classes_are_checked_on_registration() -> None:
    class Lacking(tb.Controller):
        def directive(self) -> tb.Directive:
            return tb.Directive()

    with pytest.raises(tb.PartError, match=r"Lacking \(.*test_custom.py, line \d+\): lacks on_feedback"):
        tb.register(Lacking)

    class Wrong(Aimd):
        def on_timer(self, now: float) -> None:  # type: ignore[override]
            del now

    with pytest.raises(tb.PartError, match=r"line \d+\): on_timer.* expected on_timer\(self, now, cx\)"):
        tb.register(Wrong)
    with pytest.raises(tb.PartError, match="subclass of Controller or QueueDiscipline"):
        tb.register(cast(Any, deque))


def test_needs_are_checked_on_registration() -> None:
    for attribute, value, allowed in (
        ("reliability", "ftp", "`sack`"),
        ("ecn", "ect2", "`ect1`"),
        ("echo", "often", "`per-packet`"),
        ("marks", "nobody", "`controller`"),
    ):
        wrong = type("Wrong", (Aimd,), {attribute: value})
        with pytest.raises(tb.PartError, match=rf"Wrong.{attribute}: .*{value}.*{allowed}"):
            tb.register(wrong)
    with pytest.raises(tb.PartError, match=r"Wrong.acks: 0 is not allowed; expected at least 1 packet, or None"):
        tb.register(type("Wrong", (Aimd,), {"acks": 0}))
    wrong_types: list[tuple[str, Any, str]] = [
        ("acks", 2.5, "at least 1 packet, or None"),
        ("acks", -1, "at least 1 packet, or None"),
        ("echo", 7, "a word, or None"),
        ("stamps", "yes", "True or False"),
        ("delivery", 1, "True or False"),
        ("lost_retransmissions", None, "True or False"),
        ("policy", Aimd, "a subclass of FeedbackPolicy, an instance of ArrivalReports, or None"),
    ]
    for attribute, given, allowed in wrong_types:
        told = re.escape(f"Wrong.{attribute}: {given!r} is not allowed; expected {allowed}")
        with pytest.raises(tb.PartError, match=told):
            tb.register(type("Wrong", (Aimd,), {attribute: given}))


def test_needs_that_do_not_go_together_are_told() -> None:
    for together, told in (
        ({"delivery": True, "reliability": "datagram"}, "delivery: True .*False with reliability 'datagram'"),
        ({"lost_retransmissions": True, "reliability": "new-reno"}, "lost_retransmissions: True .*reliability 'sack'"),
    ):
        with pytest.raises(tb.PartError, match=f"Wrong.{told}"):
            tb.register(type("Wrong", (Aimd,), together))


def test_every_word_of_the_documentation_is_known() -> None:
    for attribute, kind in get_type_hints(tb.Controller).items():
        words = [
            word for part in (kind, *get_args(kind)) for inner in (part, *get_args(part)) for word in get_args(inner)
        ]
        for word in {word for word in words if isinstance(word, str)}:
            tb.register(type("Right", (Aimd,), {attribute: word}))


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


def raising(body: str, tmp_path: Path) -> tuple[type[tb.Controller], int]:
    """A controller of a file of its own, whose ``on_feedback`` has this line; and the line's number."""
    file = tmp_path / "broken_part.py"
    lines = [
        "import tailback as tb",
        "class Broken(tb.Controller):",
        "    def on_feedback(self, now, feedback, cx):",
        f"        {body}",
        "    def directive(self):",
        "        return tb.Directive(window=getattr(self, 'window', 3000.0))",
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    namespace: dict[str, type[tb.Controller]] = {}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), namespace)
    return namespace["Broken"], 4


def test_what_a_part_raises_names_its_line(base: tb.Scenario, tmp_path: Path) -> None:
    broken, line = raising("self.window = 1 / 0", tmp_path)
    with pytest.raises(
        tb.PartError, match=rf"broken_part.py, line {line}, in Broken.on_feedback: ZeroDivisionError"
    ) as found:
        base.replace(scheme=broken.scheme()).run()
    assert isinstance(found.value.__cause__, ZeroDivisionError), "the original is at hand"


def test_who_ends_the_program_ends_the_run_alone(base: tb.Scenario, tmp_path: Path) -> None:
    broken, line = raising("raise SystemExit(0)", tmp_path)
    with pytest.raises(
        tb.PartError, match=rf"broken_part.py, line {line}, in Broken.on_feedback: SystemExit: 0"
    ) as found:
        base.replace(scheme=broken.scheme()).run()
    assert isinstance(found.value.__cause__, SystemExit)
    interrupted, _ = raising("raise KeyboardInterrupt", tmp_path)
    with pytest.raises(KeyboardInterrupt):
        base.replace(scheme=interrupted.scheme()).run()


def test_a_context_that_another_thread_is_using_is_told(base: tb.Scenario) -> None:
    class Slow:
        """A number that takes its time."""

        def __init__(self, entered: threading.Event, done: threading.Event) -> None:
            self.entered, self.done = entered, done

        def __float__(self) -> float:
            self.entered.set()
            self.done.wait(30)
            return 0.0

    class Sharing(Aimd):
        """Lets another thread use what was lent to this one."""

        def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
            del now, feedback
            entered, done = threading.Event(), threading.Event()
            finished.append(done)
            threading.Thread(target=lambda: cx.note("slow", cast(Any, Slow(entered, done))), daemon=True).start()
            entered.wait(30)

    finished: list[threading.Event] = []
    with pytest.raises(tb.PartError, match="cx is in use by another thread"):
        base.replace(scheme=Sharing.scheme()).run()
    for done in finished:
        done.set()


def test_negative_windows_name_the_line(base: tb.Scenario, tmp_path: Path) -> None:
    broken, _ = raising("self.window = -1.0", tmp_path)
    allowed = "line 6, in Broken.directive: ValueError: window: -1 is not allowed; expected bytes of at least 0"
    with pytest.raises(tb.PartError, match=f"broken_part.py, {allowed}"):
        base.replace(scheme=broken.scheme()).run()


def test_wrong_answers_name_the_method(base: tb.Scenario) -> None:
    class Number(Aimd):
        def directive(self) -> tb.Directive:
            return 3000.0  # type: ignore[return-value]

    with pytest.raises(tb.PartError, match=r"Number.directive \(.*test_custom.py, line \d+\): 3000.0 is not allowed"):
        base.replace(scheme=Number.scheme()).run()


def test_queues_that_double_packets_are_found_out(base: tb.Scenario) -> None:
    class Doubling(Fifo):
        def dequeue(self, now: float, cx: tb.QueueCx) -> tb.Packet | None:
            del now, cx
            return self.waiting[0] if self.waiting else None

    with pytest.raises(tb.PartError, match="Doubling gave out a packet that was not in the queue"):
        base.replace(queue=Doubling.queue()).run()


def test_queues_that_keep_packets_for_ever_are_found_out(base: tb.Scenario) -> None:
    class Hoarding(Fifo):
        """Takes ten packets and gives none."""

        def dequeue(self, now: float, cx: tb.QueueCx) -> tb.Packet | None:
            return super().dequeue(now, cx) if len(self.waiting) < 10 else None

    with pytest.raises(tb.PartError, match=r"Hoarding gave nothing out although \d+ packets wait; expected"):
        base.replace(queue=Hoarding.queue()).run()


def test_failing_parts_leave_other_runs_of_a_sweep_alone(base: tb.Scenario, tmp_path: Path) -> None:
    broken, line = raising("self.window = 1 / 0", tmp_path)
    runs = tb.compare([broken.scheme(), "sack", Aimd.scheme()], base, seeds=2, cache=False, jobs=1)
    assert runs.failed["scheme"].to_list() == ["broken"] * 2
    assert f"broken_part.py, line {line}" in runs.failed["error"][0]
    assert runs.table.filter(runs.table["error"].is_null()).height == 4


def test_parts_go_with_the_tasks_of_a_sweep(base: tb.Scenario) -> None:
    far = base.sweep(scheme=[Aimd.scheme(), "sack"], seeds=2, cache=False, jobs=2)
    near = base.sweep(scheme=[Aimd.scheme(), "sack"], seeds=2, cache=False, jobs=1)
    assert far.failed.is_empty(), far.failed["error"][0]
    assert far.table["hash"].to_list() == near.table["hash"].to_list()


def test_other_code_is_another_run(base: tb.Scenario, tmp_path: Path) -> None:
    assert shipping.digest({"aimd"}) != ""
    names = shipping.named_in(base.replace(scheme=Aimd.scheme(), queue=Fifo.queue()).to_dict())
    assert names == {"aimd", "fifo"}
    first = base.sweep(scheme=[Aimd.scheme()], seeds=1, cache=tmp_path, jobs=1)
    changed = type("Aimd", (Aimd,), {"__module__": __name__, "directive": lambda _: tb.Directive(window=5000.0)})
    again = base.sweep(scheme=[changed.scheme()], seeds=1, cache=tmp_path, jobs=1)  # type: ignore[attr-defined]
    tb.register(Aimd)
    assert first.table["hash"][0] != again.table["hash"][0]


@pytest.mark.parametrize("file", ["parents_of_parts", "receivers_of_parts", "children_of_parts"])
def test_a_part_is_other_code_where_any_file_of_its_classes_is(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "parents_of_parts": "import tailback as tb\nclass Parent(tb.Controller):\n    window = 10\n",
        "receivers_of_parts": "import tailback as tb\nclass Half(tb.FeedbackPolicy):\n    every = 10\n",
        "children_of_parts": "import receivers_of_parts, parents_of_parts\n"
        "class Part(parents_of_parts.Parent):\n    policy = receivers_of_parts.Half\n",
    }
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    part = importlib.import_module("children_of_parts").Part
    before = digest_of(part)
    assert before == digest_of(part)
    (tmp_path / f"{file}.py").write_text(files[file] + "# changed\n")
    assert digest_of(part) != before


def test_the_stubs_say_what_the_core_has() -> None:
    stub = (Path(inspect.getfile(tb)).parent / "_core.pyi").read_text(encoding="utf-8")
    for name in (
        "Control",
        "Feedback",
        "Acked",
        "Lost",
        "Sent",
        "Arrival",
        "Packet",
        "Cx",
        "QueueCx",
        "Connection",
        "Link",
    ):
        part = stub.split(f"class {name}:", 1)[1].split("\n@final", 1)[0]
        for member in (each for each in dir(getattr(_core, name)) if not each.startswith("_")):
            assert f"    {member}:" in part or f"def {member}(" in part, f"{name}.{member}"


@pytest.mark.parametrize("value", [lambda rate: rate, [1.0], None, float("nan"), float("inf")])
def test_settings_are_what_a_scenario_can_say(value: Any) -> None:
    with pytest.raises(tb.PartError, match=r"Aimd: settings\.increase: .* is not allowed; expected a finite number"):
        Aimd.scheme(increase=value)
