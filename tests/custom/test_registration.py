"""What is refused when a class of a custom part is registered, or named in a scenario: wrong signatures, wants, settings and types
of reports. Misspelt methods are in ``test_slips.py``."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

import pytest

import tailback as tb
from tailback.commands.custom import use_files
from tailback.errors import TailbackWarning
from tests.custom.custom_parts import Aimd, Echo, Fifo, Paced, Reporter


def test_types_of_reports_are_checked_on_registration() -> None:
    @dataclass
    class Wordy:
        said: str

    class Talks(Reporter):
        Report = Wordy

    class Talking(Echo):
        policy = Talks

    with pytest.raises(tb.PartError, match=r"Wordy.said: <class 'str'> cannot travel"):
        Talking.scheme()
    Talks.Report = list  # type: ignore[assignment]  # The wrong type is what is tested.
    with pytest.raises(tb.PartError, match="list: cannot be a type of reports"):
        Talking.scheme()


def test_unregistered_parts_are_named() -> None:
    with pytest.raises(tb.ScenarioError, match=r"nobody.*registered part"):
        tb.dumbbell(rate="1 Mbit/s", delay="1 ms").with_flows(tb.flows(1, {"name": "custom", "part": "nobody"})).run()


def test_settings_are_checked() -> None:
    with pytest.raises(tb.PartError, match=r"settings\.increse: .*did you mean increase"):
        Aimd.scheme(increse=2.0)
    with pytest.raises(tb.PartError, match=r"settings\.rate, which Paced has no default for"):
        Paced.scheme()
    with pytest.raises(
        tb.PartError, match=r"expected no settings, because Fifo\.__init__ takes none; not settings\.limit"
    ):
        Fifo.queue(limit=3)


@pytest.mark.parametrize("value", [lambda rate: rate, [1.0], None, float("nan"), float("inf")])
def test_settings_are_what_a_scenario_can_say(value: Any) -> None:
    with pytest.raises(tb.PartError, match=r"Aimd: settings\.increase: .* is not allowed; expected a finite number"):
        Aimd.scheme(increase=value)


def test_classes_are_checked_on_registration() -> None:
    class Lacking(tb.Controller):
        def directive(self) -> tb.Directive:
            return tb.Directive()

    with pytest.raises(tb.PartError, match=r"Lacking \(.*test_registration.py, line \d+\): lacks on_feedback"):
        tb.register(Lacking)

    class Wrong(Aimd):
        def on_timer(self, now: float) -> None:  # type: ignore[override]  # The wrong call is what is tested.
            del now

    with pytest.raises(tb.PartError, match=r"line \d+\): on_timer.* expected on_timer\(self, now, cx\)"):
        tb.register(Wrong)
    with pytest.raises(tb.PartError, match="subclass of Controller or QueueDiscipline"):
        tb.register(cast(Any, deque))


def test_needs_are_checked_on_registration() -> None:
    for attribute, value, allowed in (
        ("reliability", "ftp", "one of 'reno', 'new-reno', 'vegas', 'sack', 'offsets', 'datagram'"),
        ("reliability", None, "one of 'reno', "),
        ("ecn", "ect2", "one of 'off', 'ect0', 'ect1'"),
        ("ecn", True, "one of 'off', 'ect0', 'ect1'"),
        ("echo", "often", "one of 'latched', 'per-packet', 'state-change', 'counted', 'codepoints', or None"),
        ("echo", "hidden", "another word, or None"),
        ("marks", "nobody", "one of 'rfc3168', 'controller'"),
    ):
        wrong = type("Wrong", (Aimd,), {attribute: value})
        with pytest.raises(tb.PartError, match=f"Wrong.{attribute}: {value!r} is not allowed; expected {allowed}"):
            tb.register(wrong)
    with pytest.raises(tb.PartError, match=r"Wrong.acks: 0 is not allowed; expected at least 1 packet, or None"):
        tb.register(type("Wrong", (Aimd,), {"acks": 0}))
    wrong_types: list[tuple[str, Any, str]] = [
        ("acks", 2.5, "at least 1 packet, or None"),
        ("acks", -1, "at least 1 packet, or None"),
        ("echo", 7, "one of 'latched', 'per-packet', 'state-change', 'counted', 'codepoints', or None"),
        ("stamps", "yes", "True or False"),
        ("delivery", 1, "True or False"),
        ("lost_retransmissions", None, "True or False"),
        ("policy", Aimd, "a subclass of FeedbackPolicy, an instance of ArrivalReports, or None"),
    ]
    for attribute, given, allowed in wrong_types:
        told = re.escape(f"Wrong.{attribute}: {given!r} is not allowed; expected {allowed}")
        with pytest.raises(tb.PartError, match=told):
            tb.register(type("Wrong", (Aimd,), {attribute: given}))


def test_needs_that_do_not_go_together_are_told() -> None:
    for together, told in (
        ({"delivery": True, "reliability": "datagram"}, "delivery: True .*False with reliability 'datagram'"),
        ({"lost_retransmissions": True, "reliability": "new-reno"}, "lost_retransmissions: True .*reliability 'sack'"),
    ):
        with pytest.raises(tb.PartError, match=f"Wrong.{told}"):
            tb.register(type("Wrong", (Aimd,), together))


def test_every_word_of_the_documentation_is_known() -> None:
    for attribute, kind in get_type_hints(tb.Controller).items():
        words = [
            word for part in (kind, *get_args(kind)) for inner in (part, *get_args(part)) for word in get_args(inner)
        ]
        for word in {word for word in words if isinstance(word, str)}:
            tb.register(type("Right", (Aimd,), {attribute: word}))


def _namesake(folder: Path, file: str) -> Path:
    """A file with a class that is called as that of others of these files, and is another one."""
    path = folder / file
    path.write_text(
        "import tailback as tb\n\n\nclass Namesake(tb.Controller):\n"
        "    def on_feedback(self, now, feedback, cx):\n        pass\n\n"
        "    def directive(self):\n        return tb.Directive(window=20_000)\n"
    )
    return path


def test_two_files_do_not_give_one_name_to_two_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    anne, bert = _namesake(tmp_path, "annes_part.py"), _namesake(tmp_path, "berts_part.py")
    use_files([anne, anne])
    use_files([bert])
    with pytest.raises(
        tb.PartError, match=r"berts_part.py: Namesake is called namesake, as .*annes_part.py is; expected"
    ):
        use_files([anne, bert])


def test_a_part_that_takes_over_a_name_says_so() -> None:
    def first() -> type[Aimd]:
        class Heir(Aimd):
            pass

        return Heir

    def second() -> type[Aimd]:
        class Heir(Aimd):
            pass

        return Heir

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # A class that is defined again, as in a notebook, replaces the earlier one.
        first().scheme()
        first().scheme()
    with pytest.warns(TailbackWarning, match=r"heir means .*second.*Heir from now on, .*first.*Heir") as told:
        second().scheme()
    assert told[0].filename == __file__


def test_a_part_that_is_not_registered_is_told_with_what_to_do(tmp_path: Path) -> None:
    class Unknown(tb.Controller):
        pass

    link = tb.dumbbell(rate="1 Mbit/s", delay="5 ms", duration="1 s")
    with pytest.raises(tb.ScenarioError, match=r"expected Unknown\.scheme\(\), with the class's settings"):
        link.with_flows(tb.flows(1, Unknown))  # type: ignore[arg-type]  # That is the mistake.
    ways = r"YourClass\.{}\(\) in its place, or tb\.register\(YourClass\) beforehand"
    with pytest.raises(tb.ScenarioError, match=ways.format("scheme")) as told:
        link.with_flows(tb.flows(1, "unheard-of"))
    assert "FILE.py" not in str(told.value), "that is the command line's way"
    with pytest.raises(tb.ScenarioError, match="queue.part: .*" + ways.format("queue")):
        tb.dumbbell(rate="1 Mbit/s", queue={"name": "custom", "part": "unheard-of"}, duration="1 s")
    file = tmp_path / "mine.toml"
    file.write_text(link.with_flows(tb.flows(1, "reno")).to_toml().replace('"reno"', '"unheard-of"', 1))
    with pytest.raises(tb.ScenarioError, match=ways.format("scheme")) as told:
        tb.Scenario.from_toml(file)
    assert "FILE.py" not in str(told.value)
    said = subprocess.run([sys.executable, "-m", "tailback", "run", file], capture_output=True, text=True, check=False)
    assert "its file is loaded: --custom FILE.py" in said.stderr.replace("\n", " ")
    assert "tb.register" not in said.stderr
    with pytest.raises(tb.ScenarioError, match=r"expected Unknown\.queue\(\)"):
        tb.dumbbell(rate="1 Mbit/s", queue=Unknown, duration="1 s")  # type: ignore[arg-type]  # Likewise.


def test_a_class_that_is_no_part_is_told_what_to_extend() -> None:
    class Plain:
        pass

    link = tb.dumbbell(rate="1 Mbit/s", delay="5 ms", duration="1 s")
    with pytest.raises(tb.ScenarioError, match=r"extends neither .*; expected a class that extends tb\.Controller"):
        link.with_flows(tb.flows(1, Plain))  # type: ignore[arg-type]  # That is the mistake.
    with pytest.raises(tb.ScenarioError, match=r"expected a class that extends tb\.QueueDiscipline, by its \.queue"):
        tb.dumbbell(rate="1 Mbit/s", queue=Plain, duration="1 s")  # type: ignore[arg-type]  # Likewise.


def test_a_file_of_classes_that_is_none_is_told_why(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").touch()
    for name, said in (
        ("nope.py", "there is no such file; expected a Python file with your classes"),
        ("", "is a folder; expected a Python file with your classes"),
        ("mine.toml", "is no Python file; expected one whose name ends in .py"),
    ):
        with pytest.raises(tb.StorageError, match=re.escape(said)):
            use_files([tmp_path / name])
