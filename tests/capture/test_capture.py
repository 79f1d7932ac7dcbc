"""Captures that other tools read: pcapng by tshark, qlog by its schema's names, Mahimahi traces by our own reader."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tailback as tb
from tailback.capture import constant_rate, delivery_trace, write_mahimahi, write_pcapng, write_qlog

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
    with pytest.raises(tb.StorageError, match=r"record\.packets"):
        write_pcapng(result, tmp_path / "no.pcapng")
    with pytest.raises(tb.StorageError, match="did you mean senders"):
        write_pcapng(logged, tmp_path / "no.pcapng", at="sender")
    with pytest.raises(tb.StorageError, match="sack-0"):
        write_pcapng(logged, tmp_path / "no.pcapng", flow="sack")
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


def test_traces_keep_the_volume() -> None:
    volumes = np.random.default_rng(1).integers(0, 40_000, size=500)
    times = delivery_trace(volumes, 0.02)
    assert times.size == volumes.sum() // 1500
    assert times[-1] <= 10_000
    for end in range(20, 10_001, 20):
        assert abs((times <= end).sum() * 1500 - volumes[: end // 20].sum()) <= 1500
    with pytest.raises(ValueError, match="no opportunity"):
        delivery_trace([100.0], 0.02)
    with pytest.raises(tb.StorageError, match="never fall"):
        write_mahimahi("no.trace", [5, 3])
