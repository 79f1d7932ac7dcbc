"""Scenarios with real packets end to end, where the system lets a test make namespaces; and comparisons with the simulator."""

import json
import math
import os
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import polars as pl
import pytest

import tailback as tb
from tailback.analysis.confidence import Interval
from tailback.errors import ArgumentError, ScenarioError, StorageError
from tailback.lab import Setup, load, run
from tailback.lab.hosts import IDEAL, MEASURED, Hosts, HostTimes, nearest, rate_of, take_time
from tailback.lab.parity import BEYOND, UNSURE, WITHIN, Parity, Row, of_results
from tailback.lab.run import LabError, change
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
        # What slow start sent beyond a hole before the window, some two windows, may be read in it.
        assert flow["goodput_bytes"] <= flow["received_bytes"] * 1.1 + 120 * 1500
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


# --- comparisons ---


def _simulated(*seeds: int, rate: str = "10 Mbit/s") -> list[tb.Result]:
    base = tb.dumbbell(rate="10 Mbit/s", delay="5 ms", buffer="20 packets", duration="5 s", warm_up="1 s")
    shy = tb.flows(1, {"name": "fixed-rate", "rate": rate}, name="a", source={"name": "bulk"})
    return [base.with_flows(shy).run(seed=seed) for seed in seeds]


def test_a_comparison_has_differences_with_intervals() -> None:
    slow, quick = _simulated(1, 2, rate="4 Mbit/s"), _simulated(1, 2, rate="5 Mbit/s")
    for result in (*slow, *quick):
        object.__setattr__(result, "real", {"valid": True, "reasons": []})
    same = of_results(slow, slow, {}, 0)
    assert same.verdict == WITHIN
    assert all(row.difference.mean == 0 for row in same.rows)
    apart = of_results(slow, quick, {}, 1)
    assert apart.verdict == BEYOND
    assert apart.worst == pytest.approx(0.25, abs=0.01)
    assert apart.invalid == 1
    share = next(row for row in apart.rows if row.metric == "share")
    assert share.simulated.mean == pytest.approx(0.4, abs=0.01)
    assert share.measured.mean == pytest.approx(0.5, abs=0.01)
    assert apart.table().height == len(apart.rows)
    assert json.dumps(apart.table().to_dicts())


def test_one_run_decides_nothing() -> None:
    (one,) = _simulated(1)
    object.__setattr__(one, "real", {"valid": True, "reasons": []})
    assert of_results([one], [one], {}, 0).verdict == UNSURE
    row = of_results([one], [one], {}, 0).rows[0]
    assert isinstance(row, Row)
    assert row.verdict == ""


def test_a_share_that_is_zero_in_the_simulator_can_be_compared() -> None:
    """Of a flow that begins just before the end, say."""
    zero, none = Interval(0.0, 0.0, 0.95, 3), Interval(0.0, 0.1, 0.95, 3)
    some = Interval(0.2, 0.1, 0.95, 3)
    for difference, verdict in ((zero, WITHIN), (none, UNSURE), (some, BEYOND)):
        row = Row("late", "share", "", zero, difference, difference)
        assert row.verdict == verdict
        parity = Parity("title", {}, [row], [], [], 0)
        assert parity.verdict == verdict
        assert math.isnan(parity.worst)


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


def test_every_arm_of_the_experiment_on_the_page_is_a_scenario() -> None:
    from tailback import _core
    from tools.parity_reasons import SUSPECTS

    known = dict(_core.kernel_schemes()) if hasattr(_core, "kernel_schemes") else {}
    if not {"reno", "cubic", "bbr"} <= set(known):
        pytest.skip("this kernel lacks one of reno, cubic and bbr")
    for cell, arms in SUSPECTS:
        setup = cell.setup(known).checked()
        told = set()
        for arm in arms:
            scenario = json.loads(setup.scenario)
            arm.change(scenario, setup.kernel, cell.jitter)
            tb.Scenario.of(scenario)
            told.add(json.dumps(scenario))
        assert len(told) == len(arms), "each changes something"


def test_kept_runs_with_real_packets_do_not_depend_on_what_stands_for_the_kernel() -> None:
    from tools.write_parity import as_run

    base = tb.dumbbell(rate="5 Mbit/s", delay="2 ms", flows=[tb.flows(1, "cubic", name=name) for name in "ab"])

    def run_of(changed: dict[str, object], kernel: str = "cubic") -> dict[str, object]:
        return as_run(Setup(json.dumps(base.replace(**changed).to_dict(full=True)), {"b": kernel}))

    setup = run_of({})
    assert run_of({"flows[1].receiver.ack_every": 2, "flows[1].scheme": "reno"}) == setup
    for field, value in (
        ("flows[0].receiver.ack_every", 2),
        ("flows[1].transport.segment_size", "999 B"),
        ("flows[1].start", "1 s"),
        ("topology.delay", "3 ms"),
    ):
        assert run_of({field: value}) != setup, field
    assert run_of({}, "reno") != setup


def _written(scheme: str = "reno", **access: object) -> tb.Scenario:
    flows = [tb.flows(1, "sack", name="kernel"), tb.flows(2, scheme, name="ours")]
    return tb.dumbbell(rate="5 Mbit/s", delay="2 ms", access={"delay": "1 ms", **access}, flows=flows)


def _hosts(rate: float = 5e6) -> Hosts:
    return Hosts(rate, HostTimes((10e-6, 20e-6), (30e-6,)), HostTimes((40e-6,), (50e-6, 60e-6)))


def test_hosts_take_packets_in_batches_on_the_links_of_templates() -> None:
    written = _written()
    scenario = written.to_dict(full=True)
    take_time(scenario, {"kernel"}, [_hosts()])
    values = {
        end: [table["time"]["values"] for table in scenario["topology"][end]["coalescing"]]
        for end in ("access", "receiver_access")
    }
    assert values["access"] == [["10 µs", "20 µs"], ["40 µs"], ["40 µs"]]
    assert values["receiver_access"] == [["30 µs"], ["50 µs", "60 µs"], ["50 µs", "60 µs"]]
    assert scenario["topology"]["access"]["delay"] == scenario["topology"]["receiver_access"]["delay"] == "1 ms"
    assert scenario["flows"] == written.to_dict(full=True)["flows"]
    tb.Scenario.of(scenario)
    before = written.to_dict(full=True)
    take_time(before, {"kernel"}, IDEAL)
    assert before == written.to_dict(full=True)


def test_schemes_that_time_packets_get_each_of_them_later_by_the_mean() -> None:
    scenario = _written("packet-pair").to_dict(full=True)
    take_time(scenario, {"kernel"}, [_hosts()])
    # Both ways of an access link are longer by half of what its host takes.
    assert scenario["topology"]["access"]["delay"] == ["1 ms", "1020 µs", "1020 µs"]
    assert scenario["topology"]["receiver_access"]["delay"] == ["1 ms", "1027500 ns", "1027500 ns"]
    assert [table["time"]["values"] for table in scenario["topology"]["access"]["coalescing"]][1:] == [
        ["1 ns"],
        ["1 ns"],
    ]
    tb.Scenario.of(scenario)


def test_programs_of_the_kernels_flows_take_time_to_read() -> None:
    kernel = HostTimes((10e-6,), (5e-6,), reading=(70e-6, 80e-6))
    hosts = [Hosts(5e6, kernel, HostTimes((40e-6,), (50e-6,)))]
    written = _written()
    scenario = written.to_dict(full=True)
    take_time(scenario, {"kernel"}, hosts)
    assert scenario["flows"][0]["receiver"]["reading"] == {"name": "empirical", "values": ["70 µs", "80 µs"]}
    assert scenario["flows"][1] == written.to_dict(full=True)["flows"][1]
    tb.Scenario.of(scenario)
    # What a scenario says itself stays: of the program, and of the hosts on that side.
    said = written.to_dict(full=True)
    said["flows"][0]["receiver"]["reading"] = "1 ms"
    take_time(said, {"kernel"}, hosts)
    assert said["flows"][0]["receiver"]["reading"] == "1 ms"
    given = _written(coalescing={"time": "7 us"}).to_dict(full=True)
    take_time(given, {"kernel"}, hosts)
    assert "reading" not in given["flows"][0]["receiver"]


def test_what_a_scenario_says_of_its_hosts_stays() -> None:
    scenario = _written(coalescing={"time": "7 us"}).to_dict(full=True)
    given = json.loads(json.dumps(scenario["topology"]["access"]))
    take_time(scenario, {"kernel"}, [_hosts()])
    assert scenario["topology"]["access"] == scenario["topology"]["receiver_access"] == given


def test_a_side_of_which_a_scenario_says_nothing_is_as_measured_beside_one_that_it_describes() -> None:
    written = tb.dumbbell(
        rate="5 Mbit/s",
        receiver_access={"delay": "1 ms", "coalescing": {"time": "7 us"}},
        flows=[tb.flows(1, "sack", name="kernel")],
    )
    scenario = written.to_dict(full=True)
    take_time(scenario, {"kernel"}, [_hosts()])
    assert scenario["topology"]["access"]["coalescing"]["time"]["values"] == ["10 µs", "20 µs"]
    assert scenario["topology"]["receiver_access"] == written.to_dict(full=True)["topology"]["receiver_access"]


@pytest.mark.parametrize("rate", ["20 Mbit/s", "50 Mbit/s"])
def test_simulated_hosts_take_what_the_tool_that_measures_real_ones_finds(rate: str) -> None:
    """At the rates that were measured, packets of one flow come further apart than hosts take, so that each is a batch."""
    from tailback.lab.timing import both_ends

    kernel = HostTimes((10e-6, 20e-6), (12e-6,), reading=(60e-6, 90e-6))
    hosts = Hosts(20e6, kernel, HostTimes((40e-6, 90e-6), (50e-6, 60e-6, 130e-6)))
    full = {"transport": {"segment_size": "1500 B"}}
    written = tb.dumbbell(
        rate=rate,
        delay="5 ms",
        buffer="50 packets",
        access={"delay": "1 ms"},
        flows=[
            tb.flows(1, "sack", name="kernel", receiver={"ack_every": 2, "sack_compression": {}}, **full),
            # It shares hosts and has none, so that the next flow has those of the number 2.
            tb.flows(1, "cubic", name="shared", from_="s0", to="d0", start="7900 ms", **full),
            tb.flows(1, "cubic", name="ours", **full),
        ],
        duration="8 s",
        record={"packets": True, "links": "all"},
    )
    scenario = written.to_dict(full=True)
    take_time(scenario, {"kernel"}, [hosts])
    result = tb.Scenario.of(scenario).run()
    for name, index, given in (("kernel", 0, hosts.kernel), ("ours", 2, hosts.ours)):
        for end, times in both_ends(result, name, index, is_read=name == "kernel").items():
            known = getattr(given, end)
            if end == "receiver" and name == "kernel":
                # Beside a hole, until three of a row have been acknowledged: a few for each loss.
                assert len(times) >= 6
                assert set(times.round(9)) == set(known)
                continue
            found = times.round(9)
            # Where packets of the flow that shares the hosts began a batch, the kernel's are taken sooner. A retransmission
            # now and then waited for its time and answers nothing.
            right = [float((found == time).sum()) for time in known]
            assert len(found) > 300
            assert sum(right) >= (0.999 if name == "ours" else 0.95) * len(found)
            assert min(right) > 0.8 * len(found) / len(known), "all are about equally likely"


def test_a_reader_is_measured_while_its_window_does_not_grow_and_beside_a_hole_until_acknowledgements_wait() -> None:
    import numpy as np

    from tailback.lab.timing import BEGINNING, GROWING, _reader

    arrived = np.arange(6000) * 1e-3
    taken, sizes = np.full(6000, 80e-6), np.full(6000, 52)
    taken[arrived < BEGINNING] = 40e-6
    sizes[4000:4005] = 64
    taken[4000:4005] = [10e-6, 11e-6, 12e-6, 150e-6, 150e-6]
    taken[4005 : 4005 + GROWING - 1] = 30e-6
    taken[5500] = 300e-6
    left = pl.DataFrame({"time": arrived + taken, "size": sizes})
    found = _reader(np.asarray(arrived, dtype=np.float64), left)
    assert found["receiver"] == pytest.approx([10e-6, 11e-6, 12e-6])
    assert found["reading"] == pytest.approx(np.full(3000 - 5 - GROWING, 69e-6))


def test_an_end_of_which_a_run_tells_nothing_is_named() -> None:
    import numpy as np

    from tools.host_times import told_of

    assert told_of(np.array([1e-6, 2e-6]), "both")[0] == pytest.approx(1.0, abs=0.1)
    with pytest.raises(LabError, match=r"5 Mbit/s, ours, sender: nothing was answered"):
        told_of(np.array([]), "5 Mbit/s, ours, sender")


def test_hosts_are_those_of_the_nearest_rate() -> None:
    hosts = [_hosts(1e6), _hosts(1e8)]
    assert nearest(hosts, 9e6) is hosts[0]
    assert nearest(hosts, 11e6) is hosts[1]
    assert rate_of(_written().to_dict(full=True)) == 5e6
    links = [{"from": "a", "to": "b", "rate": "5 Mbit/s"}, {"from": "b", "to": "c", "rate": "4 Mbit/s"}]
    graph = tb.Scenario.of(
        {
            "duration": "1 s",
            "topology": {"template": "graph", "links": links},
            "flows": [{"name": "ours", "scheme": "reno", "from": "a", "to": "c"}],
        }
    )
    assert rate_of(graph.to_dict(full=True)) == 4e6


def test_measured_hosts_are_quicker_where_they_sleep_less() -> None:
    assert [hosts.rate for hosts in MEASURED] == [5e6, 20e6, 50e6]
    for who in ("kernel", "ours"):
        means = [getattr(hosts, who).mean for hosts in MEASURED]
        assert means == sorted(means, reverse=True)
        assert all(0.0 < mean < 400e-6 for mean in means)


@pytest.mark.parametrize(
    ("topology", "ends"),
    [
        ({"template": "star", "hosts": 2, "rate": "5 Mbit/s", "delay": "1 ms"}, ("h0", "h1")),
        ({"template": "home", "devices": ["tv"], "rate": "5 Mbit/s"}, (None, "tv")),
        ({"template": "graph", "links": [{"from": "a", "to": "b", "rate": "5 Mbit/s"}]}, ("a", "b")),
    ],
)
def test_other_topologies_stay_as_they_are_and_send_jitter_stands_for_hosts(
    topology: dict[str, object], ends: tuple[str | None, str]
) -> None:
    near, far = ends
    way = {"to": far} | ({"from": near} if near else {})
    written = tb.Scenario.of(
        {
            "duration": "1 s",
            "topology": topology,
            "flows": [
                {"name": "ours", "scheme": "reno", "transport": {"send_jitter": "1 ms"}, **way},
                {"name": "calm", "scheme": "reno", **way},
            ],
        }
    )
    scenario = written.to_dict(full=True)
    take_time(scenario, set(), [_hosts()])
    # Of 50 and 60 µs the standard deviation is 5 µs, of which a uniform time has 5 µs times the root of 12 between its ends.
    assert scenario["flows"][0]["transport"]["send_jitter"] == "1017321 ns"
    assert scenario["flows"][1] == written.to_dict(full=True)["flows"][1]
    assert scenario["topology"] == written.to_dict(full=True)["topology"]
    tb.Scenario.of(scenario)


@pytest.mark.parametrize("batch", [0.4, 3.0])
def test_a_batch_makes_round_trips_longer_by_its_time(batch: float) -> None:
    """A window of one packet: each packet begins a batch at the receiver, and each acknowledgement one at the sender."""

    def round_trip(**access: object) -> float:
        scenario = tb.dumbbell(
            rate="10 Mbit/s",
            delay="5 ms",
            access={"delay": "1 ms", **access},
            flows=[tb.flows(1, {"name": "fixed-window", "window": "1 packet"})],
            duration="5 s",
        )
        return float(scenario.run().flows["mean_rtt"].item())

    longer = round_trip(coalescing={"time": f"{batch} ms"}) - round_trip()
    assert longer == pytest.approx(2 * batch * 1e-3, rel=1e-6)


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
