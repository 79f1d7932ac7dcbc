"""The command line as users meet it: what it prints, writes, and exits with."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import tailback as tb
from tailback import cli
from tailback.commands import complete
from tailback.results.versions import versions

SCENARIO = """
name = "small"
duration = "5 s"
[topology]
template = "dumbbell"
rate = "5 Mbit/s"
delay = "5 ms"
buffer = "20 packets"
[[flows]]
name = "sack"
count = 2
scheme = "sack"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own with a scenario in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SCENARIO)
    return tmp_path


def tailback(*words: str) -> tuple[int, str, str]:
    """Runs the command in this process, through its real entry point's handling of errors."""
    result = CliRunner().invoke(cli.app, list(words))
    if isinstance(result.exception, tb.TailbackError):
        return 1, result.stdout, f"tailback: {result.exception}"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_set_mends_a_file_that_is_wrong_without(here: Path) -> None:
    traced = SCENARIO.replace('rate = "5 Mbit/s"', 'trace = { file = "mahimahi.trace" }')
    (here / "there").mkdir()
    (here / "there" / "mahimahi.trace").write_text("1\n2\n3\n")
    (here / "there" / "wire.toml").write_text(traced.replace('"sack"\n', '"kernel-cubic"\n'))
    status, _, err = tailback("run", "there/wire.toml", "--no-plot")
    assert (status, "kernel-cubic" in err) == (1, True)
    status, _, err = tailback("run", "there/wire.toml", "--no-plot", "--set", "flows[0].scheme=cubic")
    assert status == 0, err
    status, _, err = tailback("run", "there/wire.toml", "--set", "flows[0].count=1")
    assert (status, "flows[0].scheme" in err, "there/wire.toml with --set" in err) == (1, True, True)


def test_a_run_without_time_series_says_why(here: Path) -> None:
    said = "record.bin of 3600 s is longer than the run of 5 s, so that no time series was recorded"
    status, out, _ = tailback("run", "small.toml", "--set", "record.bin=1 h", "--out", "long")
    assert (status, f"No overview: {said}." in out) == (0, True)
    with pytest.raises(tb.NotFoundError, match=r"record\.bin of 3600 s"):
        tb.Result.load(here / "long").plot.overview()
    assert "No overview" not in tailback("run", "small.toml", "--set", "record.bin=1 h", "--no-plot")[1]


def test_goodput_says_that_it_has_headers_and_why_it_is_above_throughput(here: Path) -> None:
    _, out, _ = tailback("run", "small.toml", "--no-plot")
    assert "Mbit/s with headers" in out
    assert "Goodput is above" not in out
    example = Path(__file__).resolve().parents[1] / "examples" / "edge_to_edge.toml"
    assert "Goodput is above throughput where data" in tailback("run", str(example), "--no-plot")[1]
    tailback("report", "out/small-seed-1")
    page = (here / "out" / "small-seed-1" / "report" / "index.html").read_text(encoding="utf-8")
    assert "Throughput and goodput are counted on the wire, headers included." in page


def test_a_missing_key_is_called_missing(here: Path) -> None:
    status, _, err = tailback("send", str(here / "small.toml"), "localhost")
    assert (status, "--key is missing; expected what" in err) == (1, True)


def test_run_prints_saves_and_plots(here: Path) -> None:
    status, out, _ = tailback("run", "small.toml", "--seed", "3")
    assert status == 0
    assert "sack-0" in out
    assert "r0->r1" in out
    assert "Jain" in out
    folder = here / "out" / "small-seed-3"
    assert tb.Result.load(folder).seed == 3
    assert (folder / "overview.svg").read_text().startswith("<?xml")


def test_the_index_of_fairness_is_of_those_that_always_send(here: Path) -> None:
    tail = """
[[flows]]
name = "game"
scheme = { name = "fixed-rate", rate = "1 Mbit/s" }
source = { name = "game", direction = "client" }
datagram = { segment_size = "500 B" }
"""
    (here / "mixed.toml").write_text(SCENARIO + tail)
    _, out, _ = tailback("run", "mixed.toml", "--no-plot")
    said = re.search(
        r"Jain's index (0\.\d+|1\.0000) of those that always have data to send \(sack\)", " ".join(out.split())
    )
    assert said is not None, out
    flows = tb.Result.load(here / "out" / "mixed-seed-1").flows
    rates = flows.filter(pl.col("group") == "sack")["goodput"].to_numpy()
    assert float(said[1]) == pytest.approx(rates.sum() ** 2 / (len(rates) * (rates**2).sum()), abs=1e-4)
    assert "one-way delay" not in out
    _, out, _ = tailback("run", "mixed.toml", "--no-plot", "--set", "flows[0].source={name='files', size='9 kB'}")
    assert "Jain" not in out


def test_recorded_delays_are_shown(here: Path) -> None:
    del here
    _, out, _ = tailback("run", "small.toml", "--no-plot", "--set", "record.delays=true")
    rows = [line.split() for line in out.splitlines()]
    assert ["flow", "ms", "ms", "ms", "ms"] in rows
    delays = [row for row in rows if row[:1] == ["sack-0"]][1]
    assert 5.0 < float(delays[1]) <= float(delays[2]) <= float(delays[3]) < 60.0


def test_run_in_json_with_changes(here: Path) -> None:
    del here
    status, out, _ = tailback(
        "run",
        "small.toml",
        "--set",
        "flows.count=4",
        "--set",
        "buffer=10 packets",
        "--out",
        "there",
        "--no-plot",
        "--json",
    )
    assert status == 0
    found = json.loads(out)
    assert len(found["flows"]) == 4
    assert found["out"] == "there"
    assert found["units"]["goodput"] == "bit/s"
    result = tb.Result.load("there")
    assert result.scenario.to_dict()["topology"]["buffer"] == "10 packets"
    assert not Path("there", "overview.svg").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "none.toml"], "no such file"),
        (["run", "small.toml", "--set", "bufer=10 packets"], "did you mean buffer?"),
        (["run", "small.toml", "--set", "rate=10"], "rate with its unit"),
        (["run", "small.toml", "--set", "scheme=cubik"], '"cubic"'),
        (["run", "small.toml", "--set", "nonsense"], "FIELD=VALUE"),
        (["reproduce", "mtsc/fig-55"], "did you mean mtsc/fig-5?"),
    ],
)
def test_mistakes_get_one_clear_message(here: Path, words: list[str], expected: str) -> None:
    status, _, err = tailback(*words)
    assert status == 1
    assert expected in err
    assert "Traceback" not in err
    assert not (here / "out").exists()


def test_what_is_missing_is_said_to_be_missing(here: Path) -> None:
    (here / "empty.toml").write_text('[topology]\ntemplate = "dumbbell"\n', encoding="utf-8")
    status, _, err = tailback("validate", "empty.toml")
    assert status == 1
    assert "duration is missing; expected a time with its unit" in err
    assert "flows is missing; expected a list of tables" in err


def test_an_item_that_is_not_there_is_named(here: Path) -> None:
    del here
    status, _, err = tailback("reproduce", "tdqm/fig-66")
    assert status != 0
    assert "tdqm/fig-66" in err
    assert "Traceback" not in err


def test_wrong_usage_exits_with_two(here: Path) -> None:
    del here
    assert tailback("run")[0] == 2
    assert tailback("run", "small.toml", "--seed", "minus one")[0] == 2
    assert tailback("reproduce", "--jobs", "0")[0] == 2


def test_a_scenario_with_many_mistakes_lists_them_all(here: Path) -> None:
    (here / "bad.toml").write_text(
        SCENARIO.replace("5 Mbit/s", "5").replace('"sack"\n', '"sakc"\n').replace("5 ms", "-5 ms")
    )
    status, out, err = tailback("validate", "small.toml", "bad.toml")
    assert status == 1
    assert "small.toml: fine, 2 flows for 5 s" in out
    for field in ("topology.rate", "topology.delay", "flows[0].scheme"):
        assert field in err


def test_a_source_shows_the_distributions_that_it_may_draw_from() -> None:
    _, shown, _ = tailback("sources", "on-off")
    assert "What on and off may be" in shown
    assert re.search(r"pareto +mean, min, shape", shown)
    assert "pareto" not in tailback("sources", "voice")[1]


@pytest.mark.parametrize(("kind", "known"), [("schemes", "cubic"), ("queues", "red"), ("sources", "files")])
def test_lists_what_there_is(kind: str, known: str) -> None:
    status, out, _ = tailback(kind)
    assert status == 0
    assert known in out
    status, out, _ = tailback(kind, "--json")
    assert known in {json.loads(line)["name"] for line in out.splitlines()}
    status, out, _ = tailback(kind, known, "--json")
    assert json.loads(out)["parameters"]
    status, one, _ = tailback(kind, known)
    assert one.startswith(known)
    parameter = json.loads(out)["parameters"][0]["name"]
    assert parameter in one
    status, _, err = tailback(kind, known + "x")
    assert status == 1
    assert f"did you mean {known}?" in err


def test_checks_are_told_in_json(here: Path) -> None:
    (here / "bad.toml").write_text(SCENARIO.replace("5 Mbit/s", "5"))
    status, out, err = tailback("validate", "small.toml", "bad.toml", "--json")
    fine, bad = (json.loads(line) for line in out.splitlines())
    assert (status, err) == (1, "")
    assert fine == {"file": "small.toml", "fine": True, "flows": 2, "duration": "5 s"}
    assert not bad["fine"]
    assert "topology.rate" in bad["error"]


def test_shells_complete_names() -> None:
    assert complete.schemes("cub") == ["cubic"]
    assert "red" in complete.queues("r")
    assert "files" in complete.sources("")
    assert {"mtsc", "mtsc/fig-5"} <= set(complete.items("mtsc"))
    status, out, _ = tailback("--help")
    assert status == 0
    assert "--install-completion" in out


def test_results_say_the_revision_of_the_source() -> None:
    root = Path(tb.__file__).resolve().parents[2]
    if not (root / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a clone")
    head = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    assert head.stdout.startswith(versions()["revision"].removesuffix("+changes"))


def test_an_interrupt_that_a_library_takes_for_a_mistake_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tailback import __main__ as entry

    def interrupted() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt as stopped:
            raise ValueError("no such schema") from stopped

    ended: list[int] = []

    def end(status: int) -> None:
        ended.append(status)
        raise SystemExit(status)

    monkeypatch.setattr(cli, "main", interrupted)
    monkeypatch.setattr("tailback.__main__.atexit._run_exitfuncs", lambda: None)
    monkeypatch.setattr("tailback.__main__.os._exit", end)
    # Whoever started the tests in the background may have had interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit):
            entry.main()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert ended == [130]
    assert capsys.readouterr().err == "tailback: stopped\n"


def test_who_stops_us_while_git_works_finds_no_lock_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from tailback.results import versions as module

    asked: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 0, "0123456789ab", "")

    monkeypatch.setattr("tailback.results.versions.subprocess.run", run)
    module._git("git", Path(), "status")
    assert "--no-optional-locks" in asked[0]


def test_version() -> None:
    status, out, _ = tailback("--version")
    assert (status, out.split()[0]) == (0, "tailback")


def test_ledger_is_listed() -> None:
    status, out, _ = tailback("reproduce", "--list")
    assert status == 0
    assert "mtsc/fig-5" in out
    status, out, _ = tailback("reproduce", "pcc", "--list", "--json")
    listed = [json.loads(line) for line in out.splitlines()]
    assert {entry["id"].split("/")[0] for entry in listed} == {"pcc"}
    assert all(entry["built"] for entry in listed)


def test_the_real_command_shows_no_traceback(here: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tailback.cli", "run", "none.toml"],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("tailback: none.toml: there is no such file")


HELP_MAY_IMPORT = {"annotated_doc", "colorama", "shellingham", "tailback", "typer", "typing_extensions"}
"""The packages, other than Python's own, that --help may cost: each takes longer than Python itself."""


@pytest.mark.parametrize("words", [["--help"], [], ["run", "--help"], ["run"]])
def test_help_imports_only_what_it_needs(words: list[str]) -> None:
    imported = _imported(words)
    foreign = {name.partition(".")[0] for name in imported} - set(sys.stdlib_module_names)
    assert {name for name in foreign if not name.startswith("_")} <= HELP_MAY_IMPORT
    assert not imported & {"tailback._core", "asyncio"}


@pytest.mark.parametrize(
    ("words", "left_out"),
    [
        (["schemes", "cubic"], {"numpy", "polars", "pydantic", "matplotlib"}),
        (["run", "small.toml", "--no-plot"], {"pydantic", "matplotlib", "scipy", "tailback.scenario._models"}),
        (["run", "small.toml"], {"pydantic", "scipy", "matplotlib.pyplot"}),
    ],
)
def test_commands_import_only_what_they_need(here: Path, words: list[str], left_out: set[str]) -> None:
    del here
    assert _imported(words) & left_out == set()


def _imported(words: list[str]) -> set[str]:
    """The modules that a command imports, in a process of its own."""
    code = f"import sys; sys.argv = ['tailback', *{words}]; import tailback.cli\n"
    code += "try: tailback.cli.main()\nexcept SystemExit: pass\n"
    code += "print('imported:', *sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env=_paths())
    assert "Usage: tailback" in done.stdout + done.stderr or len(words) > 1
    return set(done.stdout.splitlines()[-1].split()[1:])


def _paths() -> dict[str, str]:
    """Finds packages without ``site``, which may import whatever an environment asks for."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def test_a_bar_only_for_what_takes_long(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from tailback import progress

    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with progress.Bar("counting for a log file", 10) as bar:
        now[0] = 3.0
        bar.advance()
        assert bar._progress is None
    now[0] = 0.0
    monkeypatch.setattr(progress, "_seen", lambda: True)
    with progress.Bar("counting", 10) as bar:
        now[0] = 1.9
        bar.advance()
        assert bar._progress is None
        now[0] = 2.1
        bar.advance()
        assert bar._progress is not None
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("columns", ["30", "200"])
def test_no_width_leaves_anything_out(here: Path, columns: str) -> None:
    (here / "long.toml").write_text(SCENARIO.replace('name = "sack"', 'name = "selective-acknowledgements"'))
    environment = {**os.environ, "COLUMNS": columns, "FORCE_COLOR": "", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "tailback.cli", "run", "long.toml", "--no-plot"]
    out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    for word in ("selective-acknowledgements-0", "throughput", "utilization", "r0->r1", "mean queue"):
        assert word in out
    assert "…" not in out
    assert "\x1b" not in out
    assert f"Saved in {Path('out', 'long-seed-1')}" in out


def test_letters_that_a_locale_lacks_do_no_harm(here: Path) -> None:
    del here
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for words in (["schemes"], ["--help"], ["run", "none.toml"]):
        command = [sys.executable, "-m", "tailback.cli", *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr
        assert done.returncode == (words[0] == "run")


def test_signs_that_an_output_lacks_become_words() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "COLUMNS": "100"}
    code = (
        "from tailback import cli; from tailback.commands.letters import HANDLER, written; import sys;"
        "sys.stdout.reconfigure(errors=HANDLER); print('0.14 \u00b1 0.03 \u2713 \u4e00');"
        "print(written('[red]\u2717[/red]', 'latin-1'), written('\u00b1', 'latin-1') == '\u00b1')"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["0.14 +- 0.03 yes ?", "[red]no[/red] True"]
    from tailback.commands.letters import HANDLER

    words = "import sys, tailback.cli as c; c.app = lambda **_: print('5 \u00b1 1'); c.main()"
    done = subprocess.run([sys.executable, "-c", words], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "5 +- 1\n", HANDLER


def test_names_of_items_stay_whole_on_a_narrow_terminal() -> None:
    environment = {**os.environ, "COLUMNS": "60", "FORCE_COLOR": "1", "TERM": "xterm"}
    command = [sys.executable, "-m", "tailback.cli", "reproduce", "mtsc", "--list"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "mtsc/estimators" in done.stdout or "mtsc/fig-5" in done.stdout
    assert "…" not in done.stdout


def test_captures_are_what_their_endings_say(here: Path) -> None:
    short = ("--set", "duration=3 s")
    files = [str(here / name) for name in ("a.pcapng", "sack-0.qlog", "a.trace")]
    status, out, _ = tailback("capture", "small.toml", *files, "--flow", "sack-0", *short)
    assert (status, out.split()) == (0, files)
    assert Path(files[0]).read_bytes()[:4] == bytes.fromhex("0a0d0d0a"), "a section header of pcapng"
    assert json.loads(Path(files[1]).read_text())["traces"][0]["title"].endswith("sack-0")
    assert Path(files[2]).read_text().split("\n", 1)[0].isdigit()
    for words, said in (
        ((files[1],), "expected the flow that a .qlog file is of, one of sack-0"),
        ((str(here / "a.pcap"),), "expected a file that ends in .pcapng, .qlog, .trace"),
        ((files[0], "--at", "r0-r1"), "did you mean r0->r1?"),
    ):
        status, _, complaint = tailback("capture", "small.toml", *words, *short)
        assert status == 1
        assert said in complaint


@pytest.mark.parametrize("words", [("run", "long.toml"), ("sweep", "long.toml", "--seeds", "9", "--jobs", "1")])
def test_stopping_is_told(here: Path, words: tuple[str, ...]) -> None:
    (here / "long.toml").write_text(SCENARIO.replace('"5 s"', '"10000 s"'))
    # As the terminal's interrupt would, once the simulation is under way.
    code = (
        "import signal, sys, threading\n"
        "from tailback import _core, cli\n"
        "run = _core.run\n"
        "def begun(*given, **named):\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    return run(*given, **named)\n"
        "_core.run = begun\n"
        f"sys.argv = {['tailback', *words]!r}\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr.startswith("tailback: stopped; ")
    assert done.stderr.count("\n") == 1
    assert not (here / "out").exists()


@pytest.mark.parametrize(
    "words", [["schemes"], ["fields", "--json"], ["--help"], ["run", "--help"], ["run", "small.toml", "--no-plot"]]
)
def test_whoever_stops_reading_ends_a_command_in_silence(here: Path, words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as unread:
        command = [sys.executable, "-m", "tailback", *words]
        done = subprocess.run(command, cwd=here, stdout=unread, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")
    assert (here / "out" / "small-seed-1").is_dir() == (words[0] == "run" and "--help" not in words)


def test_another_pipe_that_breaks_is_no_reader_who_has_gone(here: Path) -> None:
    code = (
        "import os, sys; from tailback import cli; from tailback.commands import registry\n"
        "def broken(*given, **named):\n"
        "    reader, writer = os.pipe()\n"
        "    os.close(reader)\n"
        "    os.write(writer, b'?')\n"
        "registry.show = broken\n"
        "sys.argv = ['tailback', 'schemes']\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "BrokenPipeError" in done.stderr
    assert "a pipe broke that is not standard output" in done.stderr


def test_standard_input_is_no_scenario(here: Path) -> None:
    for words in (
        ["run", "-"],
        ["run", "-", "--set", "buffer=3 packets"],
        ["sweep", "-", "--over", "buffer=3 packets"],
    ):
        assert tailback(*words) == (
            1,
            "",
            "tailback: -: standard input is not read; expected a scenario in TOML, in a file",
        )
    assert not (here / "out").exists()


def test_a_folder_whose_name_is_no_text_is_refused_before_the_run(here: Path) -> None:
    for words in (["run", "small.toml"], ["sweep", "small.toml", "--over", "buffer=3 packets", "--no-cache"]):
        status, _, said = tailback(*words, "--out", os.fsdecode(b"a\xff"))
        assert (status, said) == (1, r"tailback: 'a\udcff': cannot be written; expected a name in UTF-8")
    assert [path.name for path in here.iterdir()] == ["small.toml"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["buffer=3 packets", "buffer=4 packets"], "buffer: a second --set of it is not allowed; expected one value"),
        (["buffer=3 packets", "topology.buffer=4 packets"], "topology.buffer: what --set buffer gives, too, is not al"),
        (["queue.ecn=true", "queue=red"], "queue: a --set behind queue.ecn, which it would undo, is not allowed; exp"),
        (["flows[0].scheme=reno", "flows.scheme=cubic"], "flows.scheme: a --set behind flows[0].scheme, which it wo"),
    ],
)
def test_a_change_that_would_undo_another_is_refused(here: Path, changes: list[str], said: str) -> None:
    options = [word for change in changes for word in ("--set", change)]
    for words in (
        ["run", "small.toml"],
        ["sweep", "small.toml", "--over", "delay=5 ms"],
        ["shrink", "small.toml", "--while", "failed"],
    ):
        status, _, told = tailback(*words, *options)
        assert status == 1
        assert f"  {said}" in told
    (here / "wrong.toml").write_text(SCENARIO.replace('duration = "5 s"', 'duration = "5"'))
    assert tailback("run", "wrong.toml")[0] == 1
    options += ["--set", "duration=5 s"]  # Which mends it.
    assert tailback("run", "wrong.toml", *options)[2].startswith(f"tailback: --set: 1 problem\n  {said}")


def test_arguments_of_figures_and_fields_of_a_direction_are_given_once() -> None:
    from tailback.commands.figures import _options
    from tailback.shell.links import _fields

    with pytest.raises(tb.ArgumentError, match="--set: 'by = queue' is not allowed; expected one value of by"):
        _options(["by=scheme", "by = queue"])
    with pytest.raises(tb.ScenarioError, match="--up rate: a second value is not allowed; expected one value"):
        _fields(["rate=5 Mbit/s", "rate=6 Mbit/s"], "--up")


def test_changes_that_go_from_the_whole_to_its_parts_are_all_made(here: Path) -> None:
    del here
    status, out, _ = tailback(
        "run", "small.toml", "--json", "--no-plot", "--set", "queue=red", "--set", "queue.gentle=true",
        "--set", "flows.scheme=cubic", "--set", "flows[0].scheme=vegas",
    )  # fmt: skip
    assert status == 0
    assert json.loads(out)["flows"][0]["scheme"] == "vegas"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_behind_standard_output_is_one_message() -> None:
    for words in (["schemes"], ["queues", "--json"], ["--help"]):
        with Path("/dev/full").open("w") as full:
            command = [sys.executable, "-m", "tailback", *words]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, "tailback: standard output: No space left on device\n")


@pytest.mark.parametrize(
    "command", ["run", "sweep", "compare", "plot", "report", "capture", "reproduce", "validate", "schemes"]
)
def test_every_command_has_help(command: str) -> None:
    status, out, _ = tailback(command, "--help")
    assert status == 0
    assert "--help" in out
