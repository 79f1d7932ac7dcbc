"""Small mistakes and mishaps, each of which once blocked, lied, or ended in words that nobody understands. Mistakes in the
fields of scenarios are the Rust tests' business."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from typer.testing import CliRunner

import tailback as tb
from tailback.analysis.lrd import read_trace
from tailback.capture import write_pcapng
from tailback.cli import app
from tailback.errors import MOST_TOLD
from tailback.results import files, formulas

SCENARIO = """
duration = "2 s"
[topology]
template = "dumbbell"
rate = "5 Mbit/s"
delay = "5 ms"
[[flows]]
name = "f"
count = 2
scheme = "reno"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own with a scenario in it, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TAILBACK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "small.toml").write_text(SCENARIO, encoding="utf-8")
    return tmp_path


def tailback(*words: str, first: str = "") -> subprocess.CompletedProcess[str]:
    """Runs the command in a process of its own, behind some Python."""
    code = f"{textwrap.dedent(first)}\nimport sys\nsys.argv = {['tailback', *words]!r}\nfrom tailback.__main__ import main\nmain()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_pipes_and_devices_are_no_scenarios_and_no_traces(here: Path) -> None:
    os.mkfifo("pipe")
    for name, kind in (("pipe", "is a pipe"), (".", "is a folder"), (os.devnull, "is no regular file")):
        with pytest.raises(tb.StorageError, match=f"{kind}; expected a scenario in TOML"):
            tb.Scenario.from_toml(name)
    (here / "traced.toml").write_text(SCENARIO.replace('rate = "5 Mbit/s"', 'trace = { file = "pipe" }'))
    with pytest.raises(tb.ScenarioError, match=r"topology\.trace\.file: pipe \(a pipe or a device\) is not allowed"):
        tb.Scenario.from_toml("traced.toml")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_nothing_that_is_written_takes_the_place_of_a_pipe_or_a_device(here: Path) -> None:
    result = tb.Scenario.from_toml("small.toml").run()
    os.mkfifo("pipe")
    os.mkdir("folder")
    for name, found in (("pipe", "is no regular file"), ("folder", "is a folder")):
        before = os.stat(name)
        for write in (result.to_csv, result.to_parquet, result.scenario.to_toml):
            with pytest.raises(
                tb.StorageError, match=f"{name}: cannot be written, {found}; expected the path of a file"
            ):
                write(here / name)
        assert os.stat(name) == before


def test_a_dumbbell_has_a_rate_or_a_trace() -> None:
    file = Path(__file__).resolve().parents[1] / "examples" / "cellular.trace"
    flows = [tb.flows(1, "cubic")]
    traced = tb.dumbbell(trace={"file": str(file)}, delay="20 ms", buffer="30 packets", duration="2 s", flows=flows)
    assert traced.run().events > 0
    with pytest.raises(
        tb.ScenarioError, match="rate: '9 Mbit/s' is not allowed; expected a rate or a `trace`, not both"
    ):
        tb.dumbbell(trace={"file": str(file)}, rate="9 Mbit/s", delay="20 ms", flows=flows)
    with pytest.raises(tb.ScenarioError, match="rate is missing; expected a rate, or a `trace` in its place"):
        tb.dumbbell(delay="20 ms", flows=flows)
    strange: dict[str, Any] = {"rat": "9 Mbit/s", "bw": "9 Mbit/s", "delay": "20"}
    with pytest.raises(tb.ScenarioError) as refused:
        tb.dumbbell(**strange)
    assert [problem.field for problem in refused.value.problems] == ["rate", "bw", "topology.delay", "topology.rat"]


def test_files_are_named_by_texts_and_by_paths(tmp_path: Path) -> None:
    (camera := tmp_path / "camera.csv").write_text("seconds,bytes\n0,2000\n", encoding="utf-8")
    by_text, by_path = ({"name": "replay", "file": file} for file in (str(camera), camera))
    assert tb.flows(1, "sack", by_path) == tb.flows(1, "sack", by_text)  # As traces of links are.
    base = tb.dumbbell(rate="1 Mbit/s", duration="1 s")
    assert base.with_flows(tb.flows(1, "sack", by_path)).run().flows["sent_packets"].item() == 3


@pytest.mark.parametrize(("written", "meant"), [("10 Mbps", "10 Mbit/s"), ("10Mb/s", "10 Mbit/s")])
def test_units_of_other_tools_get_a_hint(written: str, meant: str) -> None:
    with pytest.raises(tb.ScenarioError, match=f'did you mean "{meant}"'):
        tb.dumbbell(rate=written, delay="5 ms", flows=[tb.flows(1, "reno")])


def test_a_wrong_scheme_costs_no_run(here: Path) -> None:
    done = tailback("compare", "cubic", "nope", "--over", "small.toml", "--seeds", "2")
    assert (done.returncode, done.stdout) == (1, "")
    assert 'flows[0].scheme: "nope" is not allowed; expected one of "reno"' in done.stderr
    assert {path.name for path in here.iterdir()} == {"small.toml"}, "nothing was run, kept or written"


def test_a_sweep_of_seeds_alone_can_be_drawn(here: Path) -> None:
    del here
    runs = tb.Scenario.from_toml("small.toml").sweep(seeds=2, jobs=1)
    assert runs.axes == []
    figures = [runs.plot.throughput_delay(), runs.plot.throughput_delay(by="group"), runs.plot.cdf()]
    for figure in figures:
        plt.close(figure)
    assert (runs.summary().height, runs.summary(by="group").height) == (1, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on file sizes")
def test_a_disk_that_fills_up_leaves_no_half_of_a_sweep(here: Path) -> None:
    # The tables fit, the report does not.
    first = """
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
    """
    done = tailback("sweep", "small.toml", "--seeds", "1", "--jobs", "1", first=first)
    assert done.returncode == 1
    assert "out/small-sweep" in done.stderr
    assert "the file is too large; nothing was changed there" in done.stderr
    assert list((here / "out").iterdir()) == []


def test_the_mask_of_permissions_is_never_touched(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = tb.Scenario.from_toml("small.toml").run()
    before = os.umask(0o027)
    try:
        # Whoever reads the mask has to set it, and for a moment it is another thread's too.
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", lambda _: pytest.fail("the mask was changed"))
            folder = result.save(here / "result")
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o640}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="folders are exchanged as Linux does")
def test_at_no_time_is_there_no_result(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = tb.Scenario.from_toml("small.toml")
    folder = scenario.run(seed=1).save(here / "result")
    again = scenario.run(seed=2)
    exchange = files.exchange

    def observed(one: Path, other: Path) -> bool:
        assert tb.Result.load(other).seed == 1
        done = exchange(one, other)
        assert tb.Result.load(other).seed == 2
        return done

    monkeypatch.setattr(files, "exchange", observed)
    monkeypatch.setattr(Path, "rename", lambda *_: pytest.fail("between two renamings there is nothing"))
    again.save(folder)
    assert tb.Result.load(folder).seed == 2


def test_no_link_is_busier_than_always() -> None:
    # A transmission that began a nanosecond before the window.
    links = {"busy": np.array([np.nextafter(8.0, 9.0), 4.0])}
    (utilization,) = [formula for formula in formulas.LINKS if formula.name == "utilization"]
    assert utilization.of(links, 8.0).tolist() == [1.0, 0.5]


def test_whoever_stops_the_start_gets_a_word(here: Path) -> None:
    del here
    first = """
        import sys
        class Impatient:
            def find_spec(self, name, path=None, target=None):
                if name == "tailback.cli":
                    raise KeyboardInterrupt
        sys.meta_path.insert(0, Impatient())
    """
    done = tailback("schemes", first=first)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "tailback: stopped\n")


def test_errors_of_a_full_disk_say_so() -> None:
    for error in (OSError(errno.ENOSPC, "x"), RuntimeError(os.strerror(errno.ENOSPC))):
        assert "no space is left; nothing was changed" in str(files.explained(Path("there"), error))


def test_where_the_system_lets_nobody_look_is_told(here: Path) -> None:
    # A name that is too long fails as a folder does that may not be searched, of which root has none.
    far = "a" * 300
    base = tb.dumbbell(rate="1 Mbit/s", duration="1 s", record={"packets": True})
    flows = base.with_flows(tb.flows(1, "cubic", start={"from": "0 s", "to": "100 ms"}))
    result, runs = flows.run(), flows.sweep(seeds=2, jobs=1, cache=False)
    writers: list[Callable[[str], object]] = [
        result.save,
        runs.save,
        lambda path: result.to_csv(path, "flows"),
        result.scenario.to_toml,
        lambda path: write_pcapng(result, path),
        lambda path: flows.sweep(seeds=2, jobs=1, cache=path),
    ]
    for write in writers:
        with pytest.raises(tb.StorageError, match=r"a[^:]*: cannot be written, File name too long"):
            write(far)
        with pytest.raises(tb.TailbackError, match=r"not allowed; expected|cannot be written, embedded null byte"):
            write("a\0b")
    readers: list[Callable[[str], object]] = [tb.load, tb.Scenario.from_toml, read_trace]
    for read in readers:
        with pytest.raises(tb.StorageError, match="a: cannot be read, File name too long"):
            read(far)
    for words in (
        ["run", far],
        ["run", "small.toml", "--out", far],
        ["run", "small.toml", "--custom", far],
        ["lrd", far],
    ):
        with pytest.raises(tb.StorageError, match="File name too long"):
            CliRunner().invoke(app, words, catch_exceptions=False)
    assert sorted(path.name for path in here.iterdir()) == ["small.toml"]


def test_a_message_does_not_say_the_same_of_thousands_of_flows() -> None:
    base = tb.dumbbell(rate="10 Mbit/s", delay="5 ms", buffer="20 packets")
    many = base.with_flows([tb.flows(1, "reno") for _ in range(300)])
    with pytest.raises(tb.ScenarioError) as caught:
        many.replace(**{"flows.scheme": "renno"})
    assert len(caught.value.problems) == 300
    lines = str(caught.value).splitlines()
    assert len(lines) == 1 + MOST_TOLD
    assert lines[0].endswith("300 problems")
    assert lines[-1] == f"  and {300 - MOST_TOLD + 1} more"
    few = tb.ScenarioError(caught.value.problems[:MOST_TOLD])
    assert len(str(few).splitlines()) == 1 + MOST_TOLD
    assert "more" not in str(few).splitlines()[-1]
