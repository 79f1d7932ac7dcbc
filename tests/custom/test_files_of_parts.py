"""Commands with real packets take parts from a file: the lab, parity, a shell."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

import tailback as tb
from tests.custom.real_runs import LOOSE, command, file_of
from tests.processes import LONG
from tests.undisturbed import went_on


@pytest.mark.usefixtures("able")
def test_the_lab_takes_files_of_parts(gentle: Path, tmp_path: Path) -> None:
    words = ["lab", str(file_of(tmp_path)), "--budget", LOOSE, "--out", str(tmp_path / "out"), "--set", "scheme=gentle"]
    ended = command(*words)
    assert ended.returncode == 1
    assert "--custom FILE.py" in ended.stderr
    ended = command(*words, "--custom", str(gentle))
    assert ended.returncode == 0, ended.stderr
    assert "calls of custom parts" in ended.stdout
    result = tb.load(tmp_path / "out")
    assert isinstance(result, tb.Result)
    assert result.flows["scheme"].item() == "gentle"
    series = result.series(flow="one")
    assert series["window"].drop_nulls().unique().to_list() == [20_000]
    # 13 packets per round trip, which takes 20.4 ms of propagation at least.
    assert series["in_flight"].max() == 13 * 1500
    throughput = result.flows["throughput"].item()
    assert 1e6 < throughput < 13 * 1500 * 8 / 0.0204
    if went_on(result.real["lateness"]):
        # And what four links and the hosts take.
        assert throughput == pytest.approx(13 * 1500 * 8 / 0.0218, rel=0.1)


@pytest.mark.usefixtures("able")
def test_parity_takes_files_of_parts(gentle: Path, tmp_path: Path) -> None:
    words = ["parity", str(file_of(tmp_path)), "--runs", "2", "--more", "0", "--budget", LOOSE, "--json"]
    words += ["--out", str(tmp_path / "out"), "--custom", str(gentle), "--set", "scheme=gentle"]
    ended = command(*words)
    assert ended.returncode in {0, 1}, ended.stderr
    told = json.loads(ended.stdout)
    share = next(row for row in told["rows"] if row["metric"] == "share")
    # A machine that stands still takes from a window's share, and nothing adds to it.
    assert 0.2 < share["measured"] / share["simulated"] < 1.1
    assert all(calls["packets"] > 200 for calls in told["calls"])
    if all(went_on(late) for late in told["lateness"]):
        assert share["measured"] == pytest.approx(share["simulated"], rel=0.1)
        assert all(calls["packets"] > 500 for calls in told["calls"])


@pytest.mark.usefixtures("able")
def test_a_shell_takes_a_queue_and_ends_when_it_fails(gentle: Path, tmp_path: Path) -> None:
    sends = "import os,socket,time;s=socket.socket(2,2)\n"
    sends += "for _ in range(200):s.sendto(b'x',(os.environ['TAILBACK_FAR'],9));time.sleep(.01)"
    words = ["shell", "--rate", "10 Mbit/s", "--no-outside", "--custom", str(gentle), "--record", str(tmp_path / "out")]
    ended = command(*words, "--queue", "mine", "--", sys.executable, "-c", sends)
    assert ended.returncode == 0, ended.stderr
    assert "calls of custom parts" in ended.stderr
    result = tb.load(tmp_path / "out")
    assert isinstance(result, tb.Result)
    passed = result.real["directions"]["up"]["delivered_packets"]
    assert passed > 100, "those that the router has read before the command ended"
    assert result.real["calls"]["packets"] >= 2 * passed, "each packet comes and goes"
    began = time.monotonic()
    words[-1] = str(tmp_path / "none")
    forever = f"while True:\n  {sends.replace(chr(10), chr(10) + '  ')}"
    ended = command(*words, "--queue", "{ name = 'mine', most = 20 }", "--", sys.executable, "-c", forever)
    assert (ended.returncode, time.monotonic() - began < LONG / 2) == (1, True)
    assert "gentle_and_others.py, line" in ended.stderr
    assert "ValueError: no more" in ended.stderr
    assert not (tmp_path / "none").exists()
