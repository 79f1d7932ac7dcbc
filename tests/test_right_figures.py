"""Figures that could mislead: links whose rate is not one number, hosts that limit, flows without anything, delays of flows.
Formulas themselves are tested with results and sweeps."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.container import ErrorbarContainer

import tailback as tb
from tailback.analysis.columns import greatest, median
from tailback.capture.mahimahi import constant_rate, write_mahimahi
from tailback.errors import PartError, TailbackWarning
from tailback.results import metrics

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture(scope="module")
def cellular() -> tb.Result:
    """A link under a trace of 7 Mbit/s on average, and a greedy flow over it."""
    return tb.Scenario.from_toml(EXAMPLES / "cellular_trace.toml").replace(duration="20 s").run(seed=1)


def test_a_trace_says_what_its_link_could_carry(cellular: tb.Result) -> None:
    link = cellular.links.row(by_predicate=pl.col("link") == "r0->r1", named=True)
    assert link["rate"] == pytest.approx(7e6, rel=0.01)
    assert link["capacity_bytes"] * 8 / 16 == pytest.approx(7e6, rel=0.01)
    assert link["utilization"] == pytest.approx(link["throughput"] / (link["capacity_bytes"] * 8 / 16), rel=1e-9)
    assert link["utilization"] > 0.98
    assert metrics.utilization(cellular) == link["utilization"]


def test_percentiles_under_a_trace_go_with_the_mean_wait(cellular: tb.Result) -> None:
    median, mean = metrics.queueing_delay_percentile(cellular, 50), metrics.queueing_delay(cellular)
    assert 0.7 * mean < median < 1.3 * mean


def test_predictions_take_what_trace_and_schedule_offer(cellular: tb.Result) -> None:
    assert cellular.predicted().flows["difference"][0] == pytest.approx(0.0, abs=0.03)


def test_percentiles_under_a_schedule_take_the_rate_in_force() -> None:
    base = tb.dumbbell(
        rate="10 Mbit/s",
        delay="10 ms",
        buffer="50 packets",
        duration="40 s",
        warm_up="12 s",
        schedule=[{"at": "10 s", "rate": "2 Mbit/s"}],
    )
    result = base.with_flows(tb.flows(2, "cubic")).run(seed=1)
    late = result.series(link="r0->r1", after_warm_up=True)
    assert metrics.queueing_delay_percentile(result, 50) == pytest.approx(
        median(late["queue_bytes"]) * 8 / 2e6, rel=1e-6
    )
    assert result.predicted().flows["predicted"].sum() == pytest.approx(2e6, rel=1e-3)


def test_a_queue_before_a_change_of_rate_drains_at_both_rates() -> None:
    base = tb.dumbbell(
        rate="1 Mbit/s",
        delay="10 ms",
        buffer="100 packets",
        duration="10 s",
        schedule=[{"at": "5.05 s", "rate": "10 Mbit/s"}],
    )
    result = base.with_flows(tb.flows(1, {"name": "fixed-rate", "rate": "5 Mbit/s"}, "datagrams")).run(seed=1)
    row = result.series(link="r0->r1").row(by_predicate=(pl.col("time") - 5.0).abs() < 1e-6, named=True)
    assert row["drain"] == pytest.approx(0.05 + (row["queue_bytes"] * 8 - 0.05e6) / 10e6, rel=1e-6)


def test_mean_round_trips_do_not_depend_on_threads() -> None:
    code = (
        "import tailback as tb;"
        "s = tb.dumbbell(rate='10 Mbit/s', delay='10 ms', duration='30 s', record={'bin': '10 ms'});"
        "print([x.hex() for x in s.with_flows(tb.flows(3, 'cubic'), tb.flows(3, 'reno')).run(seed=2).flows['mean_rtt']])"
    )

    def with_threads(count: int) -> str:
        environment = {**os.environ, "POLARS_MAX_THREADS": str(count)}
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert with_threads(1) == with_threads(2)


def test_hosts_follow_the_bottleneck_unless_said() -> None:
    base = tb.dumbbell(rate="1 Gbit/s", delay="1 ms", duration="1 s").with_flows(tb.flows(1, "cubic"))
    result = base.run()
    assert result.links.filter(pl.col("is_access"))["rate"].unique().to_list() == [10_000_000_000]
    assert result.bottleneck == "r0->r1"
    assert result.flows["throughput"][0] > 5e8
    slow = tb.dumbbell(rate="2 Mbit/s", delay="1 ms", duration="1 s").with_flows(tb.flows(1, "cubic")).run()
    assert slow.links.filter(pl.col("is_access"))["rate"].unique().to_list() == [100_000_000]


def test_a_host_that_limits_is_named_and_warned_of() -> None:
    base = tb.dumbbell(rate="1 Gbit/s", delay="10 ms", duration="3 s", warm_up="1 s", access={"rate": "100 Mbit/s"})
    with pytest.warns(TailbackWarning, match=r"hosts' links limit their flows.*s0->r0.*r0->r1 is used 10 %") as warned:
        result = base.with_flows(tb.flows(1, "cubic")).run()
    assert {each.filename for each in warned} == {__file__}, "the line that ran it, and none of ours"
    assert result.bottleneck == "s0->r0"
    assert result.summary()["utilization"][0] > 0.95
    assert result.shown_link == "r0->r1"
    assert result.plot.overview() is not None


def test_a_way_back_that_is_too_slow_for_a_trace_is_warned_of(tmp_path: Path) -> None:
    trace = {"file": str(write_mahimahi(tmp_path / "fast.trace", constant_rate(400e6)))}
    link = tb.dumbbell(delay="5 ms", buffer="2000 packets", duration="1 s", warm_up="400 ms", trace=trace)
    base = link.with_flows(tb.flows(1, "bbr1"))
    with pytest.warns(TailbackWarning, match=r"way back .*: r1->r0, at 10 Mbit/s, is used .* see `reverse\.rate`"):
        slow = base.run()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fast = base.replace(reverse={"rate": "400 Mbit/s"}).run()
        base.replace(reverse={"rate": "400 Mbit/s"}, **{"trace.file": str(EXAMPLES / "cellular.trace")}).run()
    assert fast.flows["goodput"][0] > 1.2 * slow.flows["goodput"][0]


class Allowed(tb.Controller):
    """What its settings say, whatever is fed back; nothing where they are 0."""

    def __init__(self, connection: tb.Connection, window: float = 0.0, rate: float = 0.0) -> None:
        super().__init__(connection)
        self.window, self.rate = window, rate

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """Nothing to do."""

    def directive(self) -> tb.Directive:
        """The same for ever."""
        return tb.Directive(window=self.window or None, rate=self.rate or None)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"window": 20.0},
            ["allowed never had a window of a whole packet: 20 B at most, where that takes 1000 B; dire"],
        ),
        (
            {"window": 999.0, "rate": 8.0},
            ["a window of a whole packet: 999 B", "a rate of a packet per second: 8 bit/s"],
        ),
        (
            {"rate": 8.0},
            ["allowed never had a rate of a packet per second: 8 bit/s at most, where that takes 8000 bit/s"],
        ),
        ({"window": 1000.0}, []),
        ({"rate": 8000.0}, []),
    ],
)
def test_packets_and_megabits_in_a_directive_are_warned_of(settings: dict[str, float], said: list[str]) -> None:
    base = tb.dumbbell(rate="10 Mbit/s", delay="5 ms", duration="3 s")
    result = base.with_flows(tb.flows(1, Allowed.scheme(**settings)), tb.flows(1, "cubic")).run()
    assert len(result.warnings) == len(said)
    for warning, words in zip(result.warnings, said, strict=True):
        assert words in warning
    assert (
        base.replace(record={"flows": "none"}).with_flows(tb.flows(1, Allowed.scheme(window=20.0))).run().warnings == ()
    )


def test_a_rate_below_a_packet_per_second_may_be_meant_where_links_are_slow() -> None:
    base = tb.dumbbell(rate="8 kbit/s", delay="5 ms", duration="20 s")
    assert base.with_flows(tb.flows(4, Allowed.scheme(rate=2000.0))).run().warnings == ()
    (warning,) = base.with_flows(tb.flows(4, Allowed.scheme(rate=8.0))).run().warnings
    assert "allowed-0, allowed-1, allowed-2" in warning
    assert "never had a rate of a packet per second: 8 bit/s at most" in warning


def test_runs_without_such_faults_warn_of_nothing(result: tb.Result) -> None:
    assert result.warnings == ()


def test_flows_that_may_send_nothing_are_not_called_fair() -> None:
    class Shut(tb.Controller):
        def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
            del now, feedback, cx

        def directive(self) -> tb.Directive:
            return tb.Directive(window=0.0)

    base = tb.dumbbell(rate="10 Mbit/s", delay="10 ms", duration="2 s")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = base.with_flows(tb.flows(2, Shut.scheme())).run()
    assert any("sent nothing" in str(warning.message) for warning in caught)
    assert result.summary()["jain"][0] is None


def test_receivers_of_a_multicast_are_not_blamed_for_their_silence() -> None:
    links = [
        {"from": "studio", "to": "switch", "rate": "9 Mbit/s", "delay": "2 ms"},
        {"from": "switch", "to": "near", "rate": "5 Mbit/s", "delay": "2 ms"},
        {"from": "switch", "to": "far", "rate": "3 Mbit/s", "delay": "9 ms"},
    ]
    group = tb.flows(1, "reno", name="film", from_="studio", receivers=["near", "far"])
    result = tb.graph(links=links, duration="2 s", flows=[group]).run()
    assert "film to near" in result.flows.filter(pl.col("sent_packets") == 0)["flow"].to_list()
    assert result.warnings == ()


def test_a_further_axis_makes_further_lines() -> None:
    base = tb.dumbbell(rate="5 Mbit/s", delay="5 ms", duration="1 s").with_flows(tb.flows(1, "cubic"))
    runs = base.sweep(
        buffer=["10 packets", "30 packets"],
        scheme=["reno", "cubic"],
        queue=["drop-tail", "codel"],
        seeds=1,
        cache=False,
        jobs=1,
    )
    made = runs.plot.over("buffer", "goodput", by="scheme")
    labels = made.axes[0].get_legend_handles_labels()[1]
    assert len(labels) == 4
    for container in made.axes[0].containers:
        assert isinstance(container, ErrorbarContainer)
        assert len(np.asarray(container.lines[0].get_xdata())) == 2


def test_pictures_against_time_show_what_arrived() -> None:
    base = tb.dumbbell(rate="10 Mbit/s", delay="20 ms", buffer="100 packets", duration="5 s")
    result = base.with_flows(tb.flows(1, "sack")).run(seed=1)
    assert greatest(result.flow_series["goodput"]) > 10.5e6  # What a filled hole releases at once.
    axis = result.plot.overview().axes[0]
    assert axis.get_ylabel() == "throughput (Mbit/s)"
    assert max(np.max(line.get_ydata()) for line in axis.lines) <= 10.1


def test_application_bytes_are_goodput_without_headers(result: tb.Result) -> None:
    flow = result.flows.row(0, named=True)
    assert flow["goodput_bytes"] - flow["app_bytes"] == 40 * flow["goodput_packets"]
    assert flow["app_goodput"] == pytest.approx(flow["goodput"] * flow["app_bytes"] / flow["goodput_bytes"])


def test_a_queue_that_loses_packets_is_found_out() -> None:
    class Losing(tb.QueueDiscipline):
        def __init__(self, link: tb.Link) -> None:
            super().__init__(link)
            self.waiting: list[tb.Packet] = []
            self.seen = 0

        def enqueue(self, now: float, packet: tb.Packet, cx: tb.QueueCx) -> None:
            del now, cx
            self.seen += 1
            if self.seen % 50:
                self.waiting.append(packet)

        def dequeue(self, now: float, cx: tb.QueueCx) -> tb.Packet | None:
            del now, cx
            return self.waiting.pop(0) if self.waiting else None

    base = tb.dumbbell(rate="10 Mbit/s", delay="10 ms", duration="2 s", queue=Losing.queue())
    with pytest.raises(PartError, match="Losing lost a packet"):
        base.with_flows(tb.flows(1, "cubic")).run()


@pytest.fixture(scope="module")
def call() -> tb.Result:
    """A call of constant rate beside a greedy flow, with its delays and its packets."""
    base = tb.dumbbell(
        rate="10 Mbit/s",
        delay="20 ms",
        buffer="40 packets",
        duration="10 s",
        warm_up="2 s",
        record={"delays": True, "packets": True},
    )
    talk = tb.flows(1, {"name": "fixed-rate", "rate": "0.5 Mbit/s"}, "datagrams", name="call")
    return base.with_flows(tb.flows(1, "cubic"), talk).run(seed=4)


@pytest.mark.parametrize("flow", ["cubic", "call"])
def test_delays_of_flows_are_those_of_their_packets(call: tb.Result, flow: str) -> None:
    packets = call.packets.filter(
        (pl.col("flow") == flow) & (pl.col("event").cast(pl.String).is_in(["sent", "delivered"]))
    )
    data = _data(packets)
    left: dict[tuple[int, bool], float] = {}
    delays = []
    for event, time, number, again in data:
        if event == "sent":
            left[number, again] = time
        elif time >= 2.0:
            delays.append(time - left[number, again])
    told = call.flows.row(by_predicate=pl.col("flow") == flow, named=True)
    assert told["one_way_delay"] == pytest.approx(np.mean(delays), rel=1e-6)
    assert told["jitter"] == pytest.approx(np.abs(np.diff(delays)).mean(), rel=1e-4)
    for percent in (50, 95, 99):
        exact = np.percentile(delays, percent, method="inverted_cdf")
        assert told[f"one_way_delay_p{percent}"] == pytest.approx(exact, rel=0.004), percent


def _data(packets: pl.DataFrame) -> list[tuple[str, float, int, bool]]:
    if "bits" in packets.columns:
        bits = pl.col("bits").cast(pl.UInt32)
        packets = packets.filter(bits & 3 == 0).with_columns((bits & 2048 > 0).alias("retransmitted"))
    else:
        packets = packets.filter(pl.col("kind").cast(pl.String) == "data")
    return packets.select(pl.col("event").cast(pl.String), "time", "number", "retransmitted").rows()


def test_round_trips_are_sampled_at_every_acknowledgement(call: tb.Result) -> None:
    cubic = call.flows.row(by_predicate=pl.col("flow") == "cubic", named=True)
    assert cubic["rtt_p50"] == pytest.approx(cubic["mean_rtt"], rel=0.1)
    assert cubic["rtt_p50"] <= cubic["rtt_p95"] <= cubic["rtt_p99"]
    assert cubic["rtt_p50"] > cubic["one_way_delay_p50"]


def test_recording_delays_changes_nothing_else(call: tb.Result) -> None:
    plain = call.scenario.replace(delays=False).run(seed=4)
    assert plain.hash == call.hash
    assert plain.flows["one_way_delay"].null_count() == 2


def test_a_link_that_loses_everything_is_named() -> None:
    link = tb.dumbbell(
        rate="10 Mbit/s", delay="5 ms", duration="20 s", warm_up="1 s", loss=1, flows=[tb.flows(1, "reno")]
    )
    said = " ".join(link.run().warnings)
    assert "r0->r1 lost every packet" in said


def test_flows_that_wait_for_a_time_out_are_not_said_to_have_no_window() -> None:
    link = tb.dumbbell(rate="100 kbit/s", delay="5 ms", buffer="5 packets", duration="4 s", warm_up="3 s")
    found = link.with_flows(tb.flows(300, "reno")).run().warnings
    assert any("was lost and they wait for a time-out" in warning for warning in found)
