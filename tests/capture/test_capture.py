"""Captures that other tools read: pcapng by tshark, qlog by its schema's names, Mahimahi traces by our own reader."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
import struct
import subprocess
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tailback as tb
from tailback.capture import constant_rate, delivery_trace, qlog, write_mahimahi, write_pcapng, write_qlog
from tailback.capture.mahimahi import of_link
from tailback.results import losses

TSHARK = shutil.which("tshark")
needs_tshark = pytest.mark.skipif(TSHARK is None, reason="no tshark on this machine: apt-get install tshark")


@pytest.fixture(scope="module")
def logged() -> tb.Result:
    base = tb.dumbbell(
        rate="10 Mbit/s", delay="10 ms", buffer="20 packets", duration="5 s", record={"packets": True}, name="captured"
    )
    datagrams = tb.flows(1, {"name": "fixed-rate", "rate": "1 Mbit/s"}, name="cbr")
    return base.with_flows(tb.flows(2, "sack"), datagrams).run()


def fields(capture: Path, *names: str, only: str = "") -> list[list[str]]:
    """Fields of a capture's packets, as tshark reads them."""
    command = [str(TSHARK), "-r", str(capture), "-T", "fields", "-o", "ip.check_checksum:TRUE"]
    command += [part for name in names for part in ("-e", name)] + (["-Y", only] if only else [])
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return [line.split("\t") for line in done.stdout.splitlines()]


@needs_tshark
def test_tshark_reads_every_packet(logged: tb.Result, tmp_path: Path) -> None:
    capture = write_pcapng(logged, tmp_path / "run.pcapng")
    rows = fields(capture, "ip.src", "ip.proto", "frame.len", "ip.checksum.status", "_ws.malformed")
    sent = dict(logged.flows.select("flow", "sent_packets").iter_rows())
    for number, flow in enumerate(sent, start=1):
        mine = [row for row in rows if row[0] == f"10.0.0.{number}"]
        assert len(mine) == sent[flow], flow
        assert {row[1] for row in mine} == ({"17"} if flow == "cbr" else {"6"})
    assert all(row[3] == "1" and not row[4] for row in rows), "checksums are good, nothing is malformed"
    assert sum(int(row[2]) for row in rows if row[0].startswith("10.0.")) == logged.flows["sent_bytes"].sum()


@needs_tshark
def test_real_flows_that_are_not_tcp_are_not_told_as_tcp(logged: tb.Result, tmp_path: Path) -> None:
    protocols = pl.Series("scheme", ["tcp", "udp", "protocol 132"])
    real = dataclasses.replace(logged, flows=logged.flows.with_columns(protocols))
    capture = write_pcapng(real, tmp_path / "real.pcapng")
    rows = fields(capture, "ip.proto", "ip.addr", only="ip.src == 10.0.0.0/16")
    found = {(row[1].split(",")[0], row[0]) for row in rows}
    assert found == {("10.0.0.1", "6"), ("10.0.0.2", "17"), ("10.0.0.3", "17")}


@needs_tshark
def test_tshark_finds_no_wrong_checksum(logged: tb.Result, tmp_path: Path) -> None:
    capture = write_pcapng(logged, tmp_path / "run.pcapng")
    asked = [f"{each}.check_checksum:TRUE" for each in ("ip", "tcp", "udp")]
    command = [str(TSHARK), "-r", str(capture), *(word for each in asked for word in ("-o", each))]
    command += ["-Y", "tcp.checksum.status == Bad or udp.checksum.status == Bad or ip.checksum.status == Bad"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert not done.stdout, done.stdout[:500]


def test_checksums_are_those_of_payloads_of_zeros(logged: tb.Result, tmp_path: Path) -> None:
    blob = write_pcapng(logged, tmp_path / "run.pcapng", flow="sack-0").read_bytes()
    first = blob.index(struct.pack("<II", 6, 72))
    blocks = [blob[at : at + 72] for at in range(first, len(blob), 72)]
    for block in blocks:
        packet = block[28:68] + bytes(struct.unpack(">H", block[30:32])[0] - 40)
        pseudo = packet[12:20] + struct.pack(">HH", 6, len(packet) - 20)
        total = sum(struct.unpack(f">{(len(pseudo) + len(packet) - 20) // 2}H", pseudo + packet[20:]))
        assert total % 0xFFFF == 0, "the sum of all words, checksum included, is minus zero"


@needs_tshark
def test_tshark_finds_the_retransmissions(logged: tb.Result, tmp_path: Path) -> None:
    capture = write_pcapng(logged, tmp_path / "run.pcapng", flow="sack-0")
    again = fields(capture, "tcp.seq", only="tcp.analysis.retransmission or tcp.analysis.out_of_order")
    expected = logged.flows.filter(pl.col("flow") == "sack-0")["retransmitted_packets"][0]
    assert expected > 0
    assert len(again) == expected


@needs_tshark
def test_a_link_sees_what_was_offered_to_it(logged: tb.Result, tmp_path: Path) -> None:
    capture = write_pcapng(logged, tmp_path / "link.pcapng", at=logged.bottleneck)
    rows = fields(capture, "frame.time_relative")
    link = logged.links.filter(pl.col("link") == logged.bottleneck)
    assert len(rows) == link["arrived_packets"][0]


def test_the_file_is_made_of_whole_blocks(logged: tb.Result, tmp_path: Path) -> None:
    data = write_pcapng(logged, tmp_path / "run.pcapng").read_bytes()
    kinds, at = [], 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + length - 4)[0] == length
        kinds.append(kind)
        at += length
    assert kinds[:2] == [0x0A0D0D0A, 1]
    assert set(kinds[2:]) == {6}


def test_what_cannot_be_captured_is_said(logged: tb.Result, result: tb.Result, tmp_path: Path) -> None:
    with pytest.raises(tb.NotFoundError, match=r"record\.packets"):
        write_pcapng(result, tmp_path / "no.pcapng")
    with pytest.raises(tb.NotFoundError, match="did you mean senders"):
        write_pcapng(logged, tmp_path / "no.pcapng", at="sender")
    with pytest.raises(tb.NotFoundError, match=r"^s0->r0: not recorded there; see record\.links"):
        write_pcapng(logged, tmp_path / "no.pcapng", at="s0->r0")
    with pytest.raises(tb.NotFoundError, match="sack-0"):
        write_pcapng(logged, tmp_path / "no.pcapng", flow="sack")


def test_packets_that_were_recorded_and_did_not_come_are_not_called_unrecorded(
    logged: tb.Result, tmp_path: Path
) -> None:
    """As with ``tailback shell`` around a command that says nothing."""
    silent = dataclasses.replace(logged, packets=logged.packets.clear())
    with pytest.raises(tb.NotFoundError, match=r"^no packet came: packets were recorded"):
        write_pcapng(silent, tmp_path / "no.pcapng")
    assert losses.loss_events(silent).is_empty()
    one_way = dataclasses.replace(logged, packets=logged.packets.filter(pl.col("link") != logged.bottleneck))
    with pytest.raises(tb.NotFoundError, match=r"packets were recorded there, and none came$"):
        write_pcapng(one_way, tmp_path / "no.pcapng", at=logged.bottleneck)
    assert list(tmp_path.iterdir()) == []
    assert not list(tmp_path.iterdir())


def test_qlog_says_what_the_series_says(logged: tb.Result, tmp_path: Path) -> None:
    document = json.loads(write_qlog(logged, tmp_path / "run.qlog", "sack-0").read_text())
    assert document["qlog_version"] == "0.3"
    events = document["traces"][0]["events"]
    assert [event["time"] for event in events] == sorted(event["time"] for event in events)
    windows = [event["data"]["congestion_window"] for event in events if "congestion_window" in event["data"]]
    series = logged.series(flow="sack-0")["window"].drop_nulls().to_numpy().astype(np.int64)
    changes = series[np.flatnonzero(np.diff(series, prepend=-1))]
    assert windows == changes.tolist()
    names = [event["name"] for event in events]
    flow = logged.flows.filter(pl.col("flow") == "sack-0")
    assert names.count("transport:packet_sent") == flow["sent_packets"][0]
    assert names.count("recovery:packet_lost") > 0


def test_qlog_is_written_event_by_event(logged: tb.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs have millions, of which each takes a kilobyte before it is text."""

    class Event(dict[str, object]):
        """One that can be watched."""

        __hash__ = object.__hash__  # type: ignore[assignment]  # Each is another.

    alive: weakref.WeakSet[Event] = weakref.WeakSet()
    most = 0
    made = qlog._exchanged

    def watched(result: tb.Result, flow: str) -> Iterator[dict[str, object]]:
        nonlocal most
        for event in made(result, flow):
            one = Event(event)
            alive.add(one)
            most = max(most, len(alive))
            yield one

    plain = write_qlog(logged, tmp_path / "plain.qlog", "sack-0").read_bytes()
    monkeypatch.setattr(qlog, "_exchanged", watched)
    assert write_qlog(logged, tmp_path / "watched.qlog", "sack-0").read_bytes() == plain
    assert 0 < most < 10


METRICS = ("min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance")  # Milliseconds.
COUNTS = ("pto_count", "congestion_window", "bytes_in_flight", "ssthresh", "packets_in_flight", "pacing_rate")


def test_qlog_keeps_to_its_drafts(logged: tb.Result, tmp_path: Path) -> None:
    """The members that draft-ietf-quic-qlog-main-schema-02 (§3) and -quic-events-02 (§4.2.5, §5.5, §6) name, of the kinds
    that they name, and no others: what qvis reads."""
    document = json.loads(write_qlog(logged, tmp_path / "run.qlog", "sack-1").read_text())
    assert document.keys() <= {"qlog_version", "qlog_format", "title", "description", "summary", "traces"}
    assert document["qlog_format"] == "JSON"
    (trace,) = document["traces"]
    assert trace.keys() <= {"title", "description", "configuration", "common_fields", "vantage_point", "events"}
    assert trace["vantage_point"]["type"] in {"client", "server", "network", "unknown"}
    assert trace["common_fields"]["time_format"] in {"absolute", "delta", "relative"}
    assert isinstance(trace["common_fields"]["reference_time"], int)
    assert all(isinstance(trace["common_fields"][name], str) for name in ("group_id", "ODCID"))
    sent: set[int] = set()
    for event in trace["events"]:
        assert event.keys() == {"time", "name", "data"}
        assert isinstance(event["time"], float | int)
        assert event["time"] >= 0
        data = event["data"]
        if event["name"] == "recovery:metrics_updated":
            assert data
            assert data.keys() <= {*METRICS, *COUNTS}
            assert all(isinstance(data[name], float | int) for name in data if name in METRICS)
            assert all(isinstance(data[name], int) and data[name] >= 0 for name in data if name in COUNTS)
            continue
        assert event["name"] in {"transport:packet_sent", "transport:packet_received", "recovery:packet_lost"}
        assert data.keys() <= {"header", "frames", "raw", "trigger"}
        assert data["header"].keys() <= {"packet_type", "packet_number"}
        assert data["header"]["packet_type"] == "1RTT"
        assert isinstance(data["header"]["packet_number"], int)
        assert data["header"]["packet_number"] >= 0
        if event["name"] == "transport:packet_sent":
            sent.add(data["header"]["packet_number"])
        elif event["name"] == "recovery:packet_lost":
            assert data["header"]["packet_number"] in sent, "what is lost was sent before"
        if "raw" in data:
            assert data["raw"].keys() <= {"length", "payload_length", "data"}
            assert data["raw"]["length"] > 0
        assert data.get("trigger", "pto_expired") in {"reordering_threshold", "time_threshold", "pto_expired"}
        for frame in data.get("frames", []):
            assert frame.keys() <= {"frame_type", "ack_delay", "acked_ranges"}
            assert frame["frame_type"] == "ack"
            assert frame["ack_delay"] >= 0
            assert all(first <= last for first, last in frame["acked_ranges"])
            assert all({*range(first, last + 1)} <= sent for first, last in frame["acked_ranges"])


def test_qlog_times_are_milliseconds(logged: tb.Result, tmp_path: Path) -> None:
    document = json.loads(write_qlog(logged, tmp_path / "run.qlog", "sack-0").read_text())
    events = document["traces"][0]["events"]
    shortest = float(logged.flows["round_trip"][0]) * 1e3
    rtts = [event["data"]["latest_rtt"] for event in events if "latest_rtt" in event["data"]]
    longest = shortest + 21 * 1000 * 8 / 10e6 * 1e3
    assert shortest <= min(rtts) <= max(rtts) <= 1.1 * longest, "propagation, and at most a full queue"
    assert 4900 < events[-1]["time"] <= 5000


def test_a_trace_drives_a_link_at_its_rate(tmp_path: Path) -> None:
    write_mahimahi(tmp_path / "rate.trace", constant_rate(12e6, seconds=2.0))
    lines = (tmp_path / "rate.trace").read_text().split()
    assert len(lines) == 2000
    assert lines[-1] == "2000"
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        'duration = "10 s"\n[topology]\ntemplate = "dumbbell"\ndelay = "5 ms"\nbuffer = "50 packets"\n'
        'trace = { file = "rate.trace", opportunity = "1500 B" }\n'
        '[[flows]]\nname = "a"\nscheme = "cubic"\ntransport = { segment_size = "1500 B" }\n'
    )
    made = tb.Scenario.from_toml(scenario).run()
    assert made.summary()["throughput"][0] == pytest.approx(12e6, rel=0.03)


@given(
    volumes=st.lists(st.integers(0, 10**6), min_size=1, max_size=40).filter(lambda listed: sum(listed) >= 1500),
    width=st.sampled_from([0.001, 0.01, 0.25]),
    opportunity=st.sampled_from([100, 1500]),
)
def test_what_is_written_as_a_trace_is_what_was_asked_for(volumes: list[int], width: float, opportunity: int) -> None:
    """Read as Mahimahi reads it: one opportunity per line, at that millisecond; nothing is lost but the last part of one,
    nothing comes before its bytes could have, and at most a millisecond late."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_mahimahi(f"{folder}/t.trace", delivery_trace(volumes, width, opportunity))
        times = [int(line) for line in path.read_text().split()]
    assert len(times) == sum(volumes) // opportunity
    assert times == sorted(times)
    assert times[-1] <= math.ceil(len(volumes) * width * 1e3)
    could = np.interp(
        np.array(times) * 1e-3, np.arange(len(volumes) + 1) * width, np.concatenate(([0], np.cumsum(volumes)))
    )
    assert (could + 1e-6 * sum(volumes) >= opportunity * np.arange(1, len(times) + 1)).all()


def test_a_link_that_follows_a_trace_writes_the_same_trace(tmp_path: Path) -> None:
    """Round trip: what a saturated link used of a trace is the trace, to the bin."""
    write_mahimahi(tmp_path / "cell.trace", delivery_trace([1500 * n for n in (3, 7, 1, 9, 5, 5, 2, 8)], 0.05))
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        'duration = "8 s"\n[topology]\ntemplate = "dumbbell"\ndelay = "1 ms"\nbuffer = "100 packets"\n'
        'trace = { file = "cell.trace", opportunity = "1500 B" }\n[record]\nbin = "50 ms"\n'
        '[[flows]]\nname = "a"\nscheme = { name = "fixed-rate", rate = "3 Mbit/s" }\n'
        'datagram = { segment_size = "1500 B" }\n'
    )
    made = tb.Scenario.from_toml(scenario).run()
    again = of_link(made)
    late = again[again > 4000]
    per_bin = np.bincount(((late - 1) // 50) % 8, minlength=8)
    assert (np.abs(per_bin - 10 * np.array([3, 7, 1, 9, 5, 5, 2, 8])) <= 10).all()
    assert late.size == pytest.approx(10 * 40, abs=1)


def test_traces_keep_the_volume() -> None:
    volumes = np.random.default_rng(1).integers(0, 40_000, size=500)
    times = delivery_trace(volumes, 0.02)
    assert times.size == volumes.sum() // 1500
    assert times[-1] <= 10_000
    for end in range(20, 10_001, 20):
        assert abs((times <= end).sum() * 1500 - volumes[: end // 20].sum()) <= 1500
    for wrong in (-1.0, float("nan")):
        with pytest.raises(ValueError, match=f"volumes: {wrong:g} is not allowed; expected finite numbers of bytes of"):
            delivery_trace([1500.0, wrong], 1.0)
    for width in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(tb.ArgumentError, match=r"width: .* is not allowed; expected seconds per bin, above zero"):
            delivery_trace([1500.0], width)
    with pytest.raises(ValueError, match="no opportunity"):
        delivery_trace([100.0], 0.02)
    with pytest.raises(tb.StorageError, match="never fall"):
        write_mahimahi("no.trace", [5, 3])
