"""The commands for many runs: what they say, write and refuse. Those of the documentation run with its pages, in
``tests/docs``."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tailback as tb
from tailback import cli
from tailback.commands.sweep import _print, axes

ROOT = Path(__file__).resolve().parents[2]


def tailback(line: str, status: int = 0) -> str:
    """What a command prints. It runs in this process: that commands can be started at all is tested with the command
    line, and each start takes longer than what most of these do."""
    words = shlex.split(line)
    assert words[0] == "tailback"
    done = CliRunner().invoke(cli.app, words[1:])
    if isinstance(done.exception, tb.TailbackError):
        assert status == 1, done.exception
        return f"{done.output}tailback: {done.exception}"
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == status, done.output
    return done.output


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setenv("TAILBACK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def without_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out the reports, which take most of the time of a short sweep, where only what the terminal says is looked at."""
    monkeypatch.setattr("tailback.report.sweep.write_sweep_report", lambda *_: None)


def test_the_page_shows_the_example() -> None:
    example = (ROOT / "examples" / "gentle.py").read_text(encoding="utf-8")
    shown = re.search(r"class Gentle.*?\n```", (ROOT / "docs" / "custom-controller.md").read_text(), re.DOTALL)
    assert shown is not None
    assert shown[0].removesuffix("```").strip() in example


@pytest.mark.usefixtures("one_figure")
def test_json_and_failures(folder: Path) -> None:
    line = "tailback sweep examples/dumbbell.toml --over duration='3 s' --over warm_up='0 s' --over buffer='9 packets, 9 pints'"
    found = json.loads(tailback(f"{line} --seeds 2 --json", status=1).splitlines()[0])
    assert (found["runs"], found["failed"]) == (4, 2)
    runs = tb.Runs.load(folder / found["out"])
    assert "buffer" in runs.failed["error"][0]
    text = (folder / found["out"] / "report" / "index.html").read_text(encoding="utf-8")
    failed = text[text.index('id="failed"') :].partition("</article>")[0]
    assert failed.count("buffer = 9 pints, seed = ") == 2


@pytest.mark.usefixtures("folder")
def test_mistakes_are_one_message() -> None:
    assert "did you mean buffer" in tailback("tailback sweep examples/dumbbell.toml --over bufer=1,2", status=1)
    assert "FIELD=VALUE" in tailback("tailback sweep examples/dumbbell.toml --over buffer", status=1)
    assert "holds neither" in tailback("tailback plot examples", status=1)
    assert "defines no part" in tailback(
        f"tailback run examples/dumbbell.toml --custom {ROOT / 'tools' / 'requirements.py'}", status=1
    )
    tailback("tailback run examples/dumbbell.toml --set duration='3 s' --set warm_up='0 s'")
    assert "did you mean phase" in tailback("tailback plot out/dumbbell-seed-1 fase", status=1)
    assert "phase.pdf" in tailback("tailback plot out/dumbbell-seed-1 phase --kind pdf")
    assert "index.html" in tailback("tailback report out/dumbbell-seed-1")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--over buffer='9 packets' --over buffer='12 packets'", "buffer: once more is not allowed"),
        ("--over buffer='9 packets' --over topology.buffer='12 packets'", "topology.buffer: once more is not allowed"),
        ("--set topology.buffer='9 packets' --over buffer='12 packets'", "--set or --over, not both"),
        ("--over buffer='9 packets, 9 packets'", "would count twice"),
        ("--over buffer='9 packets, '", "'buffer=9 packets, ' is not allowed; expected FIELD=VALUE, VALUE"),
    ],
)
def test_what_would_be_dropped_or_counted_twice_is_refused(options: str, said: str) -> None:
    assert said in tailback(f"tailback sweep examples/dumbbell.toml {options} --seeds 1", status=1)


@pytest.mark.usefixtures("folder")
def test_a_scheme_is_not_compared_with_itself() -> None:
    said = tailback("tailback compare cubic cubic --over examples/dumbbell.toml --seeds 1", status=1)
    assert "scheme: 'cubic' beside 'cubic' is not allowed" in said


@pytest.mark.usefixtures("one_figure")
def test_words_after_a_figure_say_what_it_shows(folder: Path) -> None:
    changed = "--set duration='4 s' --set warm_up='0 s' --set flows.start='0 s'"
    axes = "--over buffer='9 packets, 12 packets' --over scheme=reno,cubic"
    tailback(f"tailback sweep examples/dumbbell.toml {changed} {axes} --seeds 2 --out swept")
    assert tb.Runs.load(folder / "swept").axes == ["buffer", "scheme"]
    plot = "tailback plot swept"
    for words in (
        "over goodput",
        "over buffer goodput jain --set by=scheme",
        "over --set metrics=goodput,jain",
        "cdf jain",
    ):
        assert ".svg" in tailback(f"{plot} {words}")
    assert len(tailback(f"{plot} heatmap jain throughput_delay").splitlines()) == 2
    for words, said in (
        ("over goodputt", "goodputt: no such axis or metric; expected one of buffer, "),
        ("over buffer goodputt", "goodputt: no such metric; expected one of "),
        ("heatmap goodputt", "did you mean goodput?"),
        ("overr", "overr: no such figure; expected one of cdf, "),
        ("fairness buffer x", "fairness takes axis"),
        ("throughput_delay x", "throughput_delay takes no words, but --set NAME=VALUE"),
        (
            "over --set metrik=goodput",
            "metrik: no such argument of over; expected one of axis, by, level, log, metrics",
        ),
        ("over --set metrics", "--set: 'metrics' is not allowed; expected NAME=VALUE"),
        ("over --kind gif", "--kind: 'gif' is not allowed; expected one of svg, png, pdf"),
    ):
        assert said in tailback(f"{plot} {words}", status=1)


def test_a_file_named_as_a_module_is_told_apart(tmp_path: Path) -> None:
    from tailback.commands.custom import use_files

    file = tmp_path / "statistics.py"
    file.write_text("import tailback as tb\n", encoding="utf-8")
    with pytest.raises(tb.TailbackError, match="another module is called statistics"):
        use_files([file])


@pytest.mark.usefixtures("one_figure")
def test_what_fails_is_told_in_one_place_with_the_users_own_line(folder: Path) -> None:
    lines = ["import tailback as tb", "class Raises(tb.Controller):", "    def on_feedback(self, now, feedback, cx):"]
    lines += [
        "        raise RuntimeError('[red] ideas')",
        "    def directive(self):",
        "        return tb.Directive(5000)",
    ]
    (folder / "raises.py").write_text("\n".join(lines), encoding="utf-8")
    told = tailback(
        "tailback compare raises cubic --custom raises.py --over examples/dumbbell.toml --seeds 1", status=1
    )
    said = " ".join(told.split())
    assert "raises.py, line 4, in Raises.on_feedback: RuntimeError: [red] ideas" in said
    assert "Traceback" not in told
    told = tailback("tailback run examples/dumbbell.toml --custom raises.py --set scheme=raises --out one", status=1)
    assert "raises.py, line 4, in Raises.on_feedback: RuntimeError: [red] ideas" in " ".join(told.split())
    (folder / "broken.py").write_text("def f(:", encoding="utf-8")
    told = tailback("tailback run examples/dumbbell.toml --custom broken.py", status=1)
    assert "broken.py, line 1: SyntaxError: invalid syntax" in told


def test_groups_are_not_called_like_schemes_that_they_do_not_run() -> None:
    base = tb.dumbbell(rate="2 Mbit/s", duration="1 s").with_flows(
        tb.flows(1, "reno"), tb.flows(1, "cubic", name="web")
    )
    runs = base.sweep(scheme=["cubic", "bbr1"], seeds=1, cache=False, jobs=1)
    assert runs.flows["group"].unique(maintain_order=True).to_list() == ["flows 1", "web"]
    assert runs.intervals(by="group")["group"].unique(maintain_order=True).to_list() == ["flows 1", "web"]
    names = runs.plot.share("scheme").axes[0].get_legend_handles_labels()[1]
    assert names == ["flows 1", "web"]
    assert runs.flows["flow"].unique(maintain_order=True).to_list() == ["flows 1", "web"]
    pairs = tb.dumbbell(rate="2 Mbit/s", duration="1 s").with_flows(tb.flows(2, "reno"), tb.flows(1, "cubic"))
    swept: dict[str, Any] = {"flows[0].scheme": ["vegas", "bbr1"]}
    one = pairs.sweep(**swept, seeds=1, cache=False, jobs=1)
    assert one.flows["flow"].unique(maintain_order=True).to_list() == ["flows 1-0", "flows 1-1", "cubic"]
    assert one.flows["group"].unique(maintain_order=True).to_list() == ["flows 1", "cubic"]
    drawn = one.result(**{"flows[0].scheme": "bbr1"}).plot.throughput()
    labels = drawn.axes[0].get_legend_handles_labels()[1]
    assert labels == ["reno-0 (bbr1)", "reno-1 (bbr1)", "cubic"]
    kept = base.sweep(buffer=["5 packets", "9 packets"], seeds=1, cache=False, jobs=1)
    assert kept.flows["group"].unique(maintain_order=True).to_list() == ["reno", "web"]


WEB = """
duration = "6 s"
warm_up = "1 s"
[topology]
template = "dumbbell"
rate = "10 Mbit/s"
delay = "10 ms"
buffer = "60 packets"
queue = { name = "codel", ecn = true }
[[flows]]
name = "long"
count = 2
scheme = "cubic"
transport = { ecn = "ect0" }
[[flows]]
name = "mice"
count = 2
scheme = "cubic"
source = { name = "files", size = { name = "exponential", mean = "30 kB" }, pause = { name = "exponential", mean = "200 ms" } }
"""


def heads(said: str) -> str:
    """What the tables are about: their first lines, words put together again."""
    return " ".join(said.split("\n ─", maxsplit=1)[0].split())


def test_metrics_by_name_stand_in_the_tables(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_reports(monkeypatch)
    (folder / "web.toml").write_text(WEB)
    line = "tailback sweep web.toml --over buffer='30 packets, 60 packets' --seeds 2"
    usual = tailback(line)
    assert "mark" in heads(usual), "packets were marked"
    assert "Jain's index is over all flows, mice too" in usual
    assert "mark" not in heads(tailback(f"{line} --set queue=drop-tail --out unmarked")), "nothing to tell"
    asked = tailback(f"{line} --metric completion_time --metric queueing_delay_p99 --metric one_way_delay_p99")
    assert "completion" in heads(asked)
    assert "goodput" not in asked
    assert "Per flow of each group" in asked
    assert "one_way_delay_p99: no run has measured any; --set record.delays=true does" in asked
    assert "one_way_delay_p99: no run" not in tailback(
        f"{line} --set record.delays=true --metric one_way_delay_p99 --out delays"
    )
    data = json.loads(tailback(f"{line} --metric queueing_delay_p99 --json").splitlines()[0])
    assert {row["metric"] for row in data["summary"]} == {"queueing_delay_p99"}


def test_metrics_that_there_are_none_of_are_refused_before_anything_runs(folder: Path) -> None:
    (folder / "web.toml").write_text(WEB)
    for command in ("sweep web.toml", "compare cubic reno --over web.toml"):
        said = tailback(f"tailback {command} --metric queueing_delay_p90", status=1)
        assert "queueing_delay_p90: no such metric" in said
        assert "did you mean queueing_delay_p" in said
    assert not (folder / "out").exists()
    assert not (folder / "cache").exists()


@pytest.mark.usefixtures("one_figure")
def test_competing_flows_keep_their_scheme(folder: Path) -> None:
    (folder / "web.toml").write_text(WEB.replace("cubic", "sack", 1))  # The long flows' alone.
    line = "tailback compare reno vegas --over web.toml --seeds 2"
    tailback(f"{line} --in-place-of sack --out one")
    ran = tb.Runs.load(folder / "one").flows.select("group", "scheme", "flow_scheme").unique()
    assert set(ran.filter(group="mice")["flow_scheme"]) == {"cubic"}
    others = ran.filter(group="long")
    assert others["flow_scheme"].to_list() == others["scheme"].to_list()
    said = tailback(f"{line} --in-place-of nada", status=1)
    assert "in_place_of: 'nada' is not allowed; expected a scheme that a flow has: sack, cubic" in said


def test_a_change_that_does_not_fit_one_of_several_files_names_it(folder: Path) -> None:
    (folder / "web.toml").write_text(WEB)
    over = "--over web.toml --over examples/dumbbell.toml"
    said = tailback(f"tailback compare cubic reno {over} --set duration='8 s'", status=1)
    assert "examples/dumbbell.toml with --set: 1 problem\n  warm_up: 10 s is not allowed" in said


def test_a_field_that_is_none_is_told_of_the_option_that_names_it(folder: Path) -> None:
    (folder / "web.toml").write_text(WEB)
    said = tailback("tailback sweep web.toml --over bufer='5 packets, 9 packets'", status=1)
    assert "tailback: --over: 1 problem\n  bufer: an unknown field" in said


def test_a_group_that_there_is_none_of_is_told_how_many_there_are(folder: Path) -> None:
    (folder / "web.toml").write_text(WEB)
    said = tailback("tailback run web.toml --set flows[7].scheme=reno", status=1)
    assert "[7] is not allowed; expected one of 0 to 1: there are 2" in said


def test_a_part_of_ones_own_is_validated_with_its_file(folder: Path) -> None:
    (folder / "own.toml").write_text(WEB.replace('scheme = "cubic"', 'scheme = "never-heard-of"', 1))
    assert '"never-heard-of" is not allowed' in tailback("tailback validate own.toml", status=1)
    half = (
        "import tailback as tb\n\nclass NeverHeardOf(tb.Controller):\n"
        "    def directive(self):\n        return tb.Directive(window=3000)\n"
    )
    (folder / "half_of_it.py").write_text(half)
    lacks = tailback("tailback validate own.toml --custom half_of_it.py", status=1)
    assert "half_of_it.py: NeverHeardOf lacks on_feedback" in lacks
    (folder / "all_of_it.py").write_text(f"{half}    def on_feedback(self, now, feedback, cx):\n        pass\n")
    assert "fine, 4 flows" in tailback("tailback validate own.toml --custom all_of_it.py")


def test_shares_are_drawn_along_what_varies_most(folder: Path) -> None:
    (folder / "web.toml").write_text(WEB)
    tailback(
        "tailback sweep web.toml --over queue=drop-tail,codel --over delay='5 ms, 10 ms, 20 ms' --seeds 2 --out swept"
    )
    assert "tailback plot swept share delay" in (folder / "swept/report/index.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("one_figure")
@pytest.mark.filterwarnings("error")  # The command says it in its own place, not as Python does, with a line of ours.
def test_means_without_intervals_say_why(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "web.toml").write_text(WEB)
    one = tailback("tailback compare cubic reno --over web.toml --seeds 1")
    assert "2 runs, 1 seed each\n" in one
    assert "One seed says nothing about the spread: means have no intervals. --seeds 5 gives some." in one
    page = (folder / "out/web-compare/report/index.html").read_text(encoding="utf-8")
    assert "One seed says nothing about the spread" in page
    without_reports(monkeypatch)
    still = 'duration = "3 s"\ntopology = { template = "dumbbell" }\n[[flows]]\nscheme = "cubic"\n'
    (folder / "still.toml").write_text(still)
    alike = tailback("tailback compare cubic reno --over still.toml --seeds 2")
    assert "All seeds gave the same runs" in alike
    assert "draws when they start" in alike
    some = tailback("tailback sweep still.toml --over loss='0, 0.01' --seeds 2")
    assert "Where no ± stands, all seeds gave the same run" in some
    both = tailback("tailback sweep still.toml --over loss=0.01,0.02 --seeds 2 --out both")
    assert "seeds gave the same" not in both


def test_values_of_an_axis_are_names_and_tables_side_by_side() -> None:
    for table in ("{ name = 'red', min = '5 packets' }", '{"name": "red", "min": "5 packets"}'):
        found = axes([f"queue=drop-tail, {table}, codel", "buffer=9 packets,1 BDP", "loss=0,0.01"])
        assert found["queue"] == ["drop-tail", {"name": "red", "min": "5 packets"}, "codel"]
        assert found["buffer"] == ["9 packets", "1 BDP"]
        assert found["loss"] == [0, 0.01]
    assert axes(["queue={ name = 'a, }', at = [1, 2] }, b"]) == {"queue": [{"name": "a, }", "at": [1, 2]}, "b"]}
    assert axes(["scheme=['reno', 'cubic']"]) == axes(["scheme=reno,cubic"]) == {"scheme": ["reno", "cubic"]}


def test_figures_and_report_are_told_of_and_may_be_stopped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of thousands of runs they take longer than the runs: who waits is told what for, and what is left where he stops it."""
    said: list[str] = []

    @contextmanager
    def heard(what: str) -> Iterator[None]:
        said.append(what)
        yield

    def stopped(*_: object) -> None:
        assert said == ["drawing the figures, writing the report"]
        raise KeyboardInterrupt

    monkeypatch.setattr("tailback.commands.sweep.told", heard)
    monkeypatch.setattr("tailback.report.sweep.write_sweep_report", stopped)
    line = "examples/dumbbell.toml --set duration='3 s' --set warm_up='0 s' --seeds 1"
    for command in (f"sweep {line} --over buffer='9 packets, 12 packets'", f"compare reno cubic --over {line}"):
        said.clear()
        assert "stopped; finished runs are kept" in tailback(f"tailback {command}", status=130)
    assert not list((folder / "out").glob("*/*"))


def test_a_terminal_is_not_filled_with_a_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    base = tb.dumbbell(rate="1 Mbit/s", delay="5 ms", buffer="5 packets", duration="0.2 s").with_flows(
        tb.flows(1, "reno")
    )
    runs = base.sweep(delay=["1 ms", "2 ms", "3 ms", "4 ms"], jobs=1, cache=False, progress=False)
    monkeypatch.setattr("tailback.commands.sweep.MOST_ROWS", 3)
    _print(runs.means("goodput"), runs.axes)
    assert "4 ms" in capsys.readouterr().out
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    _print(runs.means("goodput"), runs.axes)
    out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "3 ms" in out
    assert "4 ms" not in out
    assert "The first 3 of 4 rows; the report has all." in out
