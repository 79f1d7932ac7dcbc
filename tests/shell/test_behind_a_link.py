"""The shell end to end: a command behind an emulated link, what it hears and says, and the result that is recorded of it. In
namespaces of their own, where the system lets a test make them."""

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import tailback as tb
from tests.processes import LONG
from tests.shell.shells import SHELL, shell


@pytest.mark.usefixtures("able")
def test_status_input_and_output_are_the_commands() -> None:
    link = ["--rate", "10 Mbit/s", "--no-outside", "--"]
    assert shell(*link, "sh", "-c", "exit 7").returncode == 7
    assert shell(*link, "sh", "-c", "kill -9 $$").returncode == 137
    echoed = shell(*link, "cat", input="said and heard\n")
    assert (echoed.returncode, echoed.stdout) == (0, "said and heard\n")
    absent = shell(*link, "no-such-program")
    assert absent.returncode == 1
    assert absent.stderr == "tailback: no-such-program cannot be started: No such file or directory\n"


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize(("status", "told"), [(0, 1), (7, 7)])
def test_a_result_that_cannot_be_saved_leaves_the_summary(status: int, told: int, tmp_path: Path) -> None:
    """As where the disk is full by then; the command's own failure is not hidden by it."""
    folder = tmp_path / "result"
    link = ["--rate", "10 Mbit/s", "--no-outside", "--record", str(folder), "--"]
    ended = shell(*link, "sh", "-c", f"echo > {folder}; exit {status}")
    assert ended.returncode == told
    assert "behind the link\n  up: " in ended.stderr
    assert "saved in" not in ended.stderr
    last = ended.stderr.splitlines()[-1]
    assert last.startswith(f"tailback: {folder}: cannot be written, {folder} is a file; expected a folder")


@pytest.mark.usefixtures("able")
def test_a_command_may_name_any_file(tmp_path: Path) -> None:
    """Names are bytes; what was typed stands in the result so that it can be read."""
    film, folder = os.fsdecode(bytes(tmp_path / "film") + b"\xff"), tmp_path / "result"
    Path(film).write_text("a film")
    ended = shell("--rate", "10 Mbit/s", "--no-outside", "--record", str(folder), "--", "cat", film)
    assert (ended.returncode, ended.stdout) == (0, "a film"), ended.stderr
    result = tb.load(folder)
    assert isinstance(result, tb.Result)
    assert result.real["made"]["typed"][-1] == f"{tmp_path}/film\\xff"


@pytest.mark.usefixtures("able")
def test_without_a_result_no_arrays_are_imported() -> None:
    """They take longer to import than many a command takes, before somebody can type the next one."""
    ended = shell(
        "--rate", "10 Mbit/s", "--no-outside", "--", "true", env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    )
    assert ended.returncode == 0, ended.stderr
    assert "tailback.shell.summary" in ended.stderr, "what was imported is told"
    assert not {"numpy", "polars"} & set(ended.stderr.split())


@pytest.mark.usefixtures("able")
def test_a_round_trip_takes_both_delays(files: dict[str, str]) -> None:
    server = f"{sys.executable} {files['server']}"
    link = ["--rate", "100 Mbit/s", "--delay", "15 ms", "--up", "delay=30 ms", "--server", server]
    ended = shell(*link, "--", sys.executable, files["pings"])
    assert ended.returncode == 0, ended.stderr
    assert float(ended.stdout) >= 0.045


@pytest.mark.usefixtures("able")
def test_a_recorded_run_is_a_result(files: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "result"
    size = 1_000_000
    server = f"{sys.executable} {files['server']}"
    link = ["--rate", "8 Mbit/s", "--delay", "5 ms", "--queue", "fq-codel", "--server", server]
    recorded = ["--record", str(folder), "--packets", "--budget", "1 s, 10 s"]
    ended = shell(*link, *recorded, "--", sys.executable, files["client"], str(size))
    assert ended.returncode == 0, ended.stderr
    assert "up:" in ended.stderr
    assert str(folder) in ended.stderr
    result = tb.load(folder)
    assert isinstance(result, tb.Result)
    assert result.real["valid"] is True
    assert (folder / "overview.svg").exists()
    up = result.links.row(by_predicate=pl.col("link") == "inside->outside", named=True)
    assert up["delivered_bytes"] > size
    assert up["throughput"] < 8.1e6
    assert up["delivered_packets"] == result.real["directions"]["up"]["delivered_packets"]
    flow = result.flows.sort("received_bytes", descending=True).row(0, named=True)
    assert flow["scheme"] == "tcp"
    assert flow["flow"].startswith("tcp 198.18.0.2 ")
    assert flow["flow"].endswith(" to 198.18.0.1 5001")
    assert flow["received_bytes"] > size
    assert flow["one_way_delay_p50"] >= 5e-3
    series = result.series(link="inside->outside")
    assert series["transmitted_bytes"].sum() <= up["transmitted_bytes"]
    assert set(result.packets["event"].unique()) >= {"sent", "offered", "delivered"}
    assert result.scenario.replace(duration="1 s").run().links.height == 2, "a simulation may begin where it ended"


@pytest.mark.usefixtures("able")
def test_a_run_beyond_its_budget_says_so_and_is_not_drawn(tmp_path: Path) -> None:
    folder = tmp_path / "result"
    # Nobody listens there, and the word of that comes back: then the packet has passed.
    talk = """import os, socket
there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
there.connect((os.environ['TAILBACK_FAR'], 9))
there.send(b'x')
try:
    there.recv(1)
except ConnectionRefusedError:
    pass"""
    link = ["--rate", "10 Mbit/s", "--no-outside", "--budget", "0 ms, 0 ms", "--record", str(folder)]
    ended = shell(*link, "--", sys.executable, "-c", talk)
    assert ended.returncode == 0, ended.stderr
    assert "INVALID" in ended.stderr
    result = tb.load(folder)
    assert isinstance(result, tb.Result)
    assert result.real["valid"] is False
    assert "does not count" in " ".join(result.warnings)
    assert not (folder / "overview.svg").exists()


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_may_be_closed(closed: str, tmp_path: Path) -> None:
    words = [
        *SHELL,
        "--rate",
        "1 Mbit/s",
        "--no-outside",
        "--record",
        str(tmp_path / "out"),
        "--",
        "sh",
        "-c",
        "exit 7",
    ]
    ended = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *words], check=False, timeout=LONG, stdout=subprocess.PIPE
    )
    assert (ended.returncode, ended.stdout) == (7, b"")
    assert tb.load(tmp_path / "out")


@pytest.mark.usefixtures("able")
def test_a_command_has_its_status_although_the_summary_cannot_be_said() -> None:
    words = [*SHELL, "--rate", "1 Mbit/s", "--no-outside", "--", "sh", "-c", "exit 7"]
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(words, check=False, timeout=LONG, stderr=full)
    assert ended.returncode == 7
