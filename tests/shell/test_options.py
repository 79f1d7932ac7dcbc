"""What the shell is told becomes a link, or is refused before anything starts."""

import json
from pathlib import Path

import pytest

from tailback.errors import ScenarioError
from tailback.shell.links import Link, scenario_of
from tests.shell.shells import shell


def test_options_become_a_scenario() -> None:
    link = Link(
        "20 Mbit/s",
        delay="10 ms",
        queue="fq-codel",
        loss="0.01",
        schedule="10 s: 5 Mbit/s, 20 s: 20 Mbit/s",
        up=["rate=2 Mbit/s", "loss=0.1", "corruption=0.2", "duplication={ probability = 0.3 }"],
        down=["queue={ name = 'codel', ecn = true }"],
    )
    said = json.loads(scenario_of(link))["topology"]["links"][0]
    assert said["rate"] == "2 Mbit/s"
    assert said["loss"]["probability"] == 0.1
    assert said["corruption"] == {"probability": 0.2}
    assert said["duplication"] == {"probability": 0.3}
    assert said["reverse"]["rate"] == "20 Mbit/s"
    assert said["reverse"]["loss"]["probability"] == 0.01
    assert [step["rate"] for step in said["reverse"]["schedule"]] == ["5 Mbit/s", "20 Mbit/s"]
    assert (said["buffer"], said["reverse"]["queue"]["name"]) == ("1 BDP", "codel")
    assert json.loads(scenario_of(Link("1 Mbit/s")))["topology"]["links"][0]["buffer"] == "100 packets"


def test_a_trace_stands_in_place_of_the_rate() -> None:
    trace = str(Path(__file__).resolve().parents[2] / "examples" / "cellular.trace")
    assert json.loads(scenario_of(Link(trace=trace)))["topology"]["links"][0]["trace"]["file"] == trace
    scenario_of(Link(up=[f"trace={trace}"], down=["rate=5 Mbit/s"]))
    for short in (Link(), Link(up=[f"trace={trace}"])):
        with pytest.raises(ScenarioError, match="--rate is missing; expected the link's rate"):
            scenario_of(short)


@pytest.mark.parametrize(
    ("link", "said"),
    [
        (Link("20"), "--rate"),
        (Link("20 Mbit/s", delay="-1 ms"), "--delay"),
        (Link("20 Mbit/s", queue="fq-coddle"), "fq-codel"),
        (Link("20 Mbit/s", loss="2"), "--loss"),
        (Link("20 Mbit/s", schedule="5 Mbit/s"), "--schedule"),
        (Link(trace="no-such.trace"), "no-such.trace"),
        (Link("20 Mbit/s", trace="examples/cellular.trace"), "--rate: '20 Mbit/s' is not allowed; expected a rate or"),
        (Link("20 Mbit/s", up=["rate"]), "--up"),
        (Link("20 Mbit/s", down=["delay=9"]), "--delay (down)"),
        (Link("20 Mbit/s", up=["foo=3"]), "--up foo"),
        (Link("20 Mbit/s", down=["corruption=3"]), "--down corruption"),
    ],
)
def test_a_wrong_option_is_named(link: Link, said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario_of(link)
    assert said in str(caught.value)


@pytest.mark.parametrize("link", [Link("20 Mbits"), Link("20 Mbit/s", queue="fq-coddle"), Link(trace="no-such.trace")])
def test_a_mistake_in_both_directions_is_told_once(link: Link) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario_of(link)
    assert len(caught.value.problems) == 1
    assert "(down)" not in str(caught.value)


def test_a_mistake_in_each_direction_is_told_for_each() -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario_of(Link("20 Mbit/s", up=["rate=4"], down=["rate=5"]))
    assert [problem.field for problem in caught.value.problems] == ["--rate", "--rate (down)"]


def test_all_mistakes_are_told_at_once() -> None:
    wrong = Link(delay="-1 ms", queue="fq-coddle", schedule="5 Mbit/s", up=["rate"], down=["loss=2"])
    with pytest.raises(ScenarioError) as caught:
        scenario_of(wrong)
    told = [problem.field for problem in caught.value.problems]
    assert sorted(told) == ["--delay", "--loss.probability (down)", "--queue", "--rate", "--schedule", "--up"]


def test_a_wrong_option_ends_before_anything_starts() -> None:
    ended = shell("--rate", "fast", "--", "echo", "started")
    assert ended.returncode == 1
    assert "--rate" in ended.stderr
    assert not ended.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--packets"], "--packets: there is no folder for the log; expected --record FOLDER with it"),
        (["--server", ""], "--server: '' is not allowed; expected a command"),
        (
            ["--budget", "1 ms, 0.2 ms"],
            "--budget: '1 ms, 0.2 ms' is not allowed; expected two times, the first not above",
        ),
        (["--budget", "1 ms"], "--budget: '1 ms' is not allowed; expected two times"),
    ],
)
def test_options_that_make_no_sense_are_refused(words: list[str], said: str, tmp_path: Path) -> None:
    ended = shell("--rate", "1 Mbit/s", "--no-outside", *words, "--", "touch", str(tmp_path / "begun"))
    assert (ended.returncode, said in ended.stderr) == (1, True), ended.stderr
    assert not (tmp_path / "begun").exists()


def test_a_server_that_no_shell_could_read_is_refused() -> None:
    ended = shell("--rate", "1 Mbit/s", "--server", "'", "--", "true")
    assert (ended.returncode, '--server: "\'" is not allowed; expected a command' in ended.stderr) == (1, True), (
        ended.stderr
    )


def test_a_folder_that_cannot_be_written_is_told_before_the_command_begins(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("no result")
    ended = shell("--rate", "1 Mbit/s", "--record", str(tmp_path / "taken"), "--", "touch", str(tmp_path / "begun"))
    assert ended.returncode == 1
    assert "taken is a file; expected a folder" in ended.stderr
    assert not (tmp_path / "begun").exists()
