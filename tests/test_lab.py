"""Scenarios with real packets end to end, where the system lets a test make namespaces; and what is wrong with them. What simulated
hosts take is tested in ``test_lab_hosts.py``, comparisons with the simulator in ``test_lab_experiments.py``."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tailback as tb
from tailback.errors import ArgumentError, ScenarioError, StorageError
from tailback.lab import Setup, load, run
from tailback.lab.run import change
from tailback.report.again import result_command
from tests.processes import LONG, await_that, having
from tests.undisturbed import undisturbed

LOOSE = "10 s, 60 s"
"""A budget that a machine with other work keeps, too."""
SCENARIO = """
name = "in both worlds"
duration = "1500 ms"
warm_up = "500 ms"
record = { delays = true, queue_state = true }
[topology]
template = "dumbbell"
rate = "10 Mbit/s"
delay = "5 ms"
buffer = "30 packets"
access = { delay = "0.1 ms" }
[[flows]]
name = "ours"
scheme = "cubic"
transport = { segment_size = "1500 B" }
[[flows]]
name = "kernel"
scheme = "kernel-reno"
transport = { segment_size = "1500 B" }
[[flows]]
name = "files"
scheme = "monaco"
source.name = "files"
source.size = { name = "constant", value = "20 kB" }
source.pause = { name = "constant", value = "100 ms" }
source.count = 2
[[flows]]
name = "tone"
scheme = { name = "fixed-rate", rate = "400 kbit/s" }
source = { name = "datagrams", rate = "384 kbit/s" }
stop = "1 s"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A scenario in a file."""
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def result(able: None, tmp_path_factory: pytest.TempPathFactory) -> tb.Result:
    """One run of the scenario."""
    del able
    path = tmp_path_factory.mktemp("lab") / "scenario.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return undisturbed(lambda: run(load(path), seed=7, budget=LOOSE))


def test_all_flows_run_with_real_packets(result: tb.Result) -> None:
    assert result.real["valid"], result.real["reasons"]
    assert result.real["kernel"] == {"kernel": "reno"}
    assert result.real["encrypted"] is False
    assert result.real["timers"]["packets"] > 0
    assert result.seed == 7
    assert result.flows["scheme"].to_list() == ["cubic", "kernel-reno", "monaco", "fixed-rate"]
    flows = {row["flow"]: row for row in result.flows.iter_rows(named=True)}
    assert list(flows) == ["ours", "kernel", "files", "tone"]
    for name in ("ours", "kernel"):
        flow = flows[name]
        assert flow["throughput"] > 1e6, name
        # What arrived beyond a hole before the window may be read in it.
        assert flow["goodput_bytes"] <= result.series(flow=name)["received_bytes"].sum()
        assert flow["app_bytes"] < flow["goodput_bytes"]
        assert flow["mean_rtt"] > 0.0102, "the delay of both directions, at least"
        assert flow["one_way_delay_p50"] > 0.0051
    assert flows["kernel"]["app_bytes"] / flows["kernel"]["goodput_bytes"] == pytest.approx(1448 / 1500, rel=0.01)
    assert flows["tone"]["throughput"] == pytest.approx(200e3, rel=0.5), "half of the window it was stopped"
    row = result.links.row(by_predicate=pl.col("link") == "r0->r1", named=True)
    assert 0.8 < row["utilization"] <= 1.0
    assert row["transmitted_bytes"] * 8 <= 10e6 * 1.01
    assert result.link_series["time"].n_unique() == 15
    assert result.flow_series.height == 4 * 15
    series = result.series(flow="kernel")
    assert (series["window"].drop_nulls() > 3000).any()
    assert series["received_bytes"].sum() >= flows["kernel"]["received_bytes"]


@pytest.mark.usefixtures("able")
def test_files_are_told_one_by_one(file: Path) -> None:
    """Without a neighbour, beside whose slow start its packets may be lost, and in a run with room for time-outs."""
    written = tomllib.loads(SCENARIO)
    written["flows"] = [flow for flow in written["flows"] if flow["name"] == "files"]
    written["duration"] = "5 s"
    file.write_text(tb.Scenario.of(written).to_toml(), encoding="utf-8")
    result = run(load(file), seed=7, budget=LOOSE)
    files = result.messages
    assert files["flow"].to_list() == ["files", "files"]
    assert (files["completion_time"] > 0.0102).all()
    finished = result.flows["finished"].item()
    assert finished == pytest.approx(files["ended"].max(), abs=0.01)


def test_a_result_is_a_simulation_to_begin_with(result: tb.Result) -> None:
    again = result.scenario.run()
    assert again.flows["flow"].to_list() == result.flows["flow"].to_list()
    assert result.scenario_data["flows"][0]["transport"]["header"] == "58 B"


def test_what_the_lab_cannot_do_is_named_before_anything_starts(able: None, file: Path) -> None:
    del able
    for before, after, field in (
        ("kernel-reno", "kernel-nonesuch", "flows[1].scheme"),
        ('stop = "1 s"', "cells = true", "flows[3].cells"),
        ("delays = true", "state = true", "record.state"),
    ):
        file.write_text(SCENARIO.replace(before, after), encoding="utf-8")
        with pytest.raises(ScenarioError) as caught:
            load(file)
        assert field in str(caught.value)
    with pytest.raises(ArgumentError, match="--budget"):
        run(Setup("{}"), budget="soon")
    file.write_text(SCENARIO, encoding="utf-8")
    assert load(str(file)) == load(file)
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"what": str(file)}, "what: .* is not allowed; expected a Scenario, or what load gives"),
        ({"what": load(file), "budget": 3}, "budget: 3 is not allowed; expected a text"),
        ({"what": load(file), "sed": 3}, "sed: no such argument; .*did you mean seed"),
    )
    for given, said in wrong:
        with pytest.raises(ArgumentError, match=said):
            run(**given)


ASKED = """
name = "ECN for those who asked"
duration = "3 s"
record = { packets = true }
[topology]
template = "graph"
[[topology.links]]
from = "a"
to = "b"
rate = "5 Mbit/s"
delay = "2 ms"
# Where packets are dropped, a flow may lose its SYN, and begin a second later.
buffer = "unlimited"
queue = "drop-tail"
[[flows]]
name = "asks"
scheme = "kernel-reno"
from = "a"
to = "b"
transport = { ecn = "ect0" }
[[flows]]
name = "does-not"
scheme = "kernel-reno"
from = "a"
to = "b"
[[flows]]
name = "other-way"
scheme = "kernel-reno"
from = "b"
to = "a"
"""


@pytest.mark.usefixtures("able")
def test_ecn_is_a_flows_own_and_not_its_hosts(tmp_path: Path) -> None:
    (tmp_path / "asked.toml").write_text(ASKED, encoding="utf-8")
    packets = run(load(tmp_path / "asked.toml"), budget=LOOSE).packets.filter(pl.col("event") == "sent")
    data = packets.filter(pl.col("kind") == "data", pl.col("size") > 500)
    for flow, wanted in (("asks", {"ect0"}), ("does-not", {"not-ect"}), ("other-way", {"not-ect"})):
        # The kernel leaves retransmissions unmarked (RFC 3168 section 6.1.5).
        seen = data.filter(pl.col("flow") == flow)["ecn"].cast(pl.String)
        assert seen.len() > 50
        assert set(seen.unique()) - ({"not-ect"} if flow == "asks" else set()) == wanted, flow
    asked = data.filter(pl.col("flow") == "asks")["ecn"].cast(pl.String)
    assert (asked == "ect0").sum() > 0.9 * asked.len()


@pytest.mark.usefixtures("able")
def test_the_command_saves_a_result_that_others_read(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = [sys.executable, "-m", "tailback", "lab", str(file), "--out", str(out), "--budget", "0 s, 0 s"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=LONG, check=False)
    assert ended.returncode == 1, ended.stderr
    assert "does not count" in ended.stdout
    loaded = tb.load(out)
    assert isinstance(loaded, tb.Result)
    assert not loaded.real["valid"]
    assert not (out / "overview.svg").exists(), "what does not count is not drawn"
    carried = dict(load(file).kernel)
    assert loaded.real["made"] == {"command": "lab", "kernel": carried, "budget": "0 s, 0 s"}
    again = shlex.split(result_command(loaded, out / "scenario.toml"))
    assert again[:2] == ["tailback", "lab"]
    changes = [word for word in again if word.startswith("flows[")]
    assert len(changes) == len(carried) > 0
    fields = dict(word.split("=", 1) for word in changes)
    assert dict(change(out / "scenario.toml", fields).kernel) == carried


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_stays_behind(number: signal.Signals, file: Path, tmp_path: Path) -> None:
    interfaces = set(os.listdir("/sys/class/net"))
    words = [
        sys.executable,
        "-m",
        "tailback",
        "lab",
        str(file),
        "--out",
        str(tmp_path / "out"),
        "--set",
        "duration=60 s",
    ]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with subprocess.Popen(
        words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(temporary)}
    ) as running:
        await_that(lambda: any(temporary.glob("*/told.json")) and having(temporary))
        time.sleep(0.2)
        running.send_signal(number)
        status = running.wait(LONG)
    assert status == (-9 if number == signal.SIGKILL else 130)
    await_that(lambda: not having(temporary))
    await_that(lambda: not any(temporary.iterdir()))
    assert not (tmp_path / "out").exists()
    assert set(os.listdir("/sys/class/net")) == interfaces


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize("command", ["lab", "parity"])
def test_a_folder_that_cannot_be_written_is_told_before_anything_runs(command: str, file: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("no result")
    words = [sys.executable, "-m", "tailback", command, str(file), "--set", "duration=600 s"]
    for place, said in (("taken", "taken is a file; expected a folder"), ("taken/below", "is a file")):
        out = ["--out", str(tmp_path / place)]
        ended = subprocess.run([*words, *out], capture_output=True, text=True, check=False, timeout=60)
        assert (ended.returncode, said in ended.stderr) == (1, True), ended.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([file.name, "taken"])


@pytest.mark.usefixtures("able")
def test_what_is_wrong_with_a_file_is_said_with_its_name(tmp_path: Path) -> None:
    from tailback.commands.lab import read

    file = tmp_path / "scenario.toml"
    with pytest.raises(StorageError, match=r"scenario\.toml: there is no such file; expected a scenario in TOML"):
        read(file, [])
    broken, impossible = "duration = ", SCENARIO.replace("delays = true", "state = true")
    for text, changes, said in (
        (broken, [], f"{file}: 1 problem\n  line 1"),
        (broken, ["duration=3 s"], f"{file}: 1 problem\n  line 1"),
        (impossible, [], f"{file}: 1 problem\n  record.state: true"),
        (SCENARIO, ["record.state=true"], "--set: 1 problem\n  record.state: true"),
        (SCENARIO, ["seed=2", "seed=3"], "--set: 1 problem\n  seed: a second --set of it is not allowed"),
        (
            SCENARIO,
            ["rate=2 Mbit/s", "topology.rate=3 Mbit/s"],
            "--set: 1 problem\n  topology.rate: what --set rate gives, too, is not allowed",
        ),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ScenarioError) as caught:
            read(file, changes)
        assert str(caught.value).startswith(said)


@pytest.mark.usefixtures("able")
def test_changes_may_name_schemes_of_the_kernel_and_take_them_away(file: Path) -> None:
    from tailback.commands.lab import read

    more = read(file, ["flows[0].scheme=kernel-cubic", "duration=3 s"])
    assert more.kernel == {"ours": "cubic", "kernel": "reno"}
    written = json.loads(more.scenario)
    assert written["duration"] == "3 s"
    assert [flow["transport"]["header"] for flow in written["flows"][:2]] == ["52 B", "52 B"]
    file.write_text(SCENARIO.replace('scheme = "cubic"', 'scheme = "kernel-cubic"'), encoding="utf-8")
    assert json.loads(more.scenario)["flows"][0] == json.loads(load(file).scenario)["flows"][0], (
        "as the file would say it"
    )
    less = read(file, ["flows[0].scheme=cubic"])
    assert less.kernel == {"kernel": "reno"}
    file.write_text(SCENARIO, encoding="utf-8")
    assert json.loads(less.scenario) == json.loads(load(file).scenario), "nothing of the kernel's stays"
    with pytest.raises(tb.ScenarioError, match=r"--set.*\n.*flows\[0\].scheme: kernel-foo .*kernel-cubic"):
        read(file, ["flows[0].scheme=kernel-foo"])
