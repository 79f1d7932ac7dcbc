"""Slips in custom parts that once went unnoticed, or were told in words of nobody's: misspelt methods, settings of the wrong
type, directives in text, and a class that hangs with every seed. What parts do is tested in ``test_custom.py``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

import tailback as tb
from tests.custom.custom_parts import Aimd, Count, Fifo

COUNT = Count(1, 1.0, False)


def base(**fields: Any) -> tb.Scenario:
    return tb.dumbbell(rate="5 Mbit/s", delay="5 ms", duration="1 s", flows=[tb.flows(1, "reno")], **fields)


def test_a_misspelt_method_is_told_at_every_level_of_inheritance() -> None:
    class Slip(Aimd):
        def on_feedbak(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
            """Called by nobody."""

    class Below(Slip):
        pass

    for part in (Slip, Below):
        with pytest.raises(tb.PartError, match=r"on_feedbak is called by nobody; expected on_feedback") as told:
            part.scheme()
        assert "test_slips.py, line" in str(told.value)

    class Camel(Aimd):
        def onSent(self, now: float, sent: tb.Sent, cx: tb.Cx) -> None:  # noqa: N802 (a name in the style of other languages is the slip that is tested)
            """Called by nobody."""

    class Queue(Fifo):
        def enqeue(self, now: float, packet: tb.Packet, cx: tb.QueueCx) -> None:
            """Called by nobody."""

    with pytest.raises(tb.PartError, match="expected on_sent"):
        Camel.scheme()
    with pytest.raises(tb.PartError, match="expected enqueue"):
        Queue.queue()


def test_a_misspelt_attribute_is_told() -> None:
    """It would say nothing to anybody: the class would run without what it asks for."""

    class Asks(Aimd):
        delivry = True

    class Mute(Aimd):
        polcy = tb.ArrivalReports

    class Used(Aimd):
        mark = 3

        def directive(self) -> tb.Directive:
            """Reads an attribute of its own, whose name is like one of ours."""
            return tb.Directive(window=30_000 * self.mark)

    with pytest.raises(tb.PartError, match=r"Asks\.delivry: is read by nobody; expected delivery"):
        Asks.scheme()
    with pytest.raises(tb.PartError, match=r"Mute\.polcy: is read by nobody; expected policy"):
        Mute.scheme()
    assert Used.scheme()["part"] == "used"


def _failing(act: Any) -> str:
    """What is said of a controller that does this at its first feedback."""

    class Acts(Aimd):
        def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
            del now
            act(self, feedback, cx)

    with pytest.raises(tb.PartError) as caught:
        base().with_flows(tb.flows(1, Acts.scheme())).run()
    return str(caught.value)


def test_fields_and_arguments_that_there_are_none_of_are_told_with_those_that_there_are() -> None:
    for act, said in (
        (lambda _, feedback, __: feedback.rt, "expected one of acked, advanced, .* (did you mean rtt?)"),
        (lambda _, __, cx: cx.nte("x", 1), "expected one of chance, exponential, note, uniform (did you mean note?)"),
        (
            lambda *_: cast(Any, tb.Directive)(windw=3),
            "expected one of ack_frequency, burst, .* (did you mean window?)",
        ),
        (lambda *_: cast(Any, tb.Padding)(3), "expected no argument"),
    ):
        assert re.search(said.replace("(", r"\(").replace(")", r"\)").replace("?", r"\?"), _failing(act)), said

    class Orphan(Aimd):
        def __init__(self, connection: tb.Connection) -> None:
            """Forgets what it should begin with."""

        def directive(self) -> tb.Directive:
            """Asks for what was never set."""
            return tb.Directive(window=self.connection.segment)

    with pytest.raises(tb.PartError, match=r"no attribute 'connection'; expected super\(\).__init__\(connection\)"):
        base().with_flows(tb.flows(1, Orphan.scheme())).run()


def test_chances_are_from_0_to_1() -> None:
    class Bold(Fifo):
        chances = (0.5, 2.0)

        def enqueue(self, now: float, packet: tb.Packet, cx: tb.QueueCx) -> None:
            """Takes it with a chance that is none."""
            if all(cx.chance(chance) for chance in self.chances):
                cx.drop(packet)
            else:
                super().enqueue(now, packet, cx)

    for chance in (2.0, -0.1, float("nan")):
        Bold.chances = (0.5, chance)
        with pytest.raises(tb.PartError, match=r"probability: \S+ is not allowed; expected a number from 0 to 1"):
            base(queue=Bold.queue()).run()


def test_methods_that_the_class_calls_itself_may_be_called_anything() -> None:
    class Helped(Aimd):
        def directives(self) -> tb.Directive:
            """A method of the class's own."""
            return super().directive()

        def directive(self) -> tb.Directive:
            """By way of another."""
            return self.directives()

    assert base(name="x").replace(scheme=Helped.scheme()).run().events > 0


class Typed(Aimd):
    """Settings of all kinds."""

    def __init__(
        self,
        connection: tb.Connection,
        *,
        gain: float = 1.0,
        count: int = 2,
        fast: bool = False,
        mode: str = "a",
        free: Any = 0,
        either: int | str = 0,
    ) -> None:
        super().__init__(connection)
        self.told = (gain, count, fast, mode, free, either)


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ({"gain": "x"}, "expected a number for settings.gain of Typed, not 'x'"),
        ({"gain": "2.5 %"}, "not '2.5 %' (did you mean 0.025? Percentages are written as parts of one)"),
        ({"gain": True}, "expected a number for settings.gain of Typed, not True"),
        ({"count": 1.5}, "expected a whole number for settings.count of Typed, not 1.5"),
        ({"fast": 1}, "expected True or False for settings.fast of Typed, not 1"),
        ({"mode": 3}, "expected a text for settings.mode of Typed, not 3"),
        ({"either": 1.5}, "expected a whole number or a text for settings.either of Typed, not 1.5"),
    ],
)
def test_settings_of_the_wrong_type_are_told_when_the_scheme_is_made(settings: dict[str, Any], allowed: str) -> None:
    with pytest.raises(tb.PartError, match=re.escape(allowed)):
        Typed.scheme(**settings)
    Typed.scheme()
    table = {"name": "custom", "part": "typed", "settings": settings}
    with pytest.raises(tb.ScenarioError, match=re.escape(f"{allowed}".replace("not True", "not "))):
        base().replace(scheme=table)


def test_settings_of_the_right_type_pass() -> None:
    scheme = Typed.scheme(gain=2, count=3, fast=True, mode="b", free=True, either="c")
    assert base().replace(scheme=scheme).run().events > 0


@pytest.mark.parametrize(
    ("fields", "allowed"),
    [
        (
            {"window": "30 kB"},
            "window: '30 kB' is not allowed; expected a number, in bytes of at least 0, or None for no",
        ),
        ({"window": True}, "window: True is not allowed; expected a number, in bytes"),
        ({"rate": "1 Mbit/s"}, "rate: '1 Mbit/s' is not allowed; expected a number, in bit/s from 0 to 1e14"),
        ({"media": [1]}, "media: [1] is not allowed; expected a number, in bit/s"),
        ({"burst": None}, "burst: None is not allowed; expected a number, in bytes of at least 0"),
        ({"timeout": "1 s"}, "timeout: '1 s' is not allowed; expected a number, in seconds of at least 1e-6"),
        ({"gate": False, "until": "1 s"}, "until: '1 s' is not allowed; expected a number, in seconds"),
        ({"gate": "open"}, "gate: 'open' is not allowed; expected True or False"),
        ({"gate": None}, "gate: None is not allowed; expected True or False"),
        ({"tokens": 3}, "tokens: 3 is not allowed; expected 'constant' or 'poisson'"),
        ({"probe": 0.1}, "probe: 0.1 is not allowed; expected a tailback.DataPairs, ControlPair, ProbeCluster or"),
        ({"ack_frequency": 2}, "ack_frequency: 2 is not allowed; expected a tailback.AckFrequency, or None"),
        ({"immediate_ack": 1.5}, "immediate_ack: 1.5 is not allowed; expected a whole number, 0 to 4294967295"),
    ],
)
def test_a_directive_of_the_wrong_type_names_the_field(fields: dict[str, Any], allowed: str) -> None:
    with pytest.raises(tb.CallError, match=re.escape(allowed)) as found:
        tb.Directive(**fields)
    assert not hasattr(found.value, "__notes__"), "all is said in one place"

    class Slip(Aimd):
        def directive(self) -> tb.Directive:
            return tb.Directive(**fields)

    place = r"test_slips.py, line \d+, in Slip.directive: CallError: "
    with pytest.raises(tb.PartError, match=place + re.escape(allowed)):
        base().replace(scheme=Slip.scheme()).run()


@pytest.mark.parametrize(
    ("kind", "given", "allowed"),
    [
        (tb.DataPairs, ["1 s"], "singleton_timeout: '1 s' is not allowed; expected a number, in seconds"),
        (tb.ControlPair, ["a"], "id: 'a' is not allowed; expected a whole number, 0 to"),
        (tb.ProbeCluster, [1, "1 Mbit/s", 1], "rate: '1 Mbit/s' is not allowed; expected a number, in bit/s"),
        (tb.ProbeCluster, [1, 1, "1 kB"], "bytes: '1 kB' is not allowed; expected a number, in bytes"),
        (tb.AckFrequency, ["2", 1], "threshold: '2' is not allowed; expected a whole number, 1 to 65535 packets"),
        (tb.AckFrequency, [2, "1 s"], "max_delay: '1 s' is not allowed; expected a number, in seconds from 0"),
        (partial(tb.Outgoing, lane=cast(Any, "x")), [COUNT], "lane: 'x' is not allowed; expected a whole number, 0"),
        (partial(tb.Outgoing, size=cast(Any, 1.5)), [COUNT], "size: 1.5 is not allowed; expected a whole number, 0"),
        (tb.Outgoing, [3], "report: 3 is not allowed; expected a data class of numbers"),
        (tb.ControlPair, [True], "id: True is not allowed; expected a whole number, 0 to 18446744073709551615"),
        (tb.ArrivalReports, ["50 ms"], "interval: '50 ms' is not allowed; expected a number, in seconds from 0.01 to"),
        (
            partial(tb.ArrivalReports, overlap=cast(Any, "3")),
            [],
            "overlap: '3' is not allowed; expected a whole number",
        ),
        (
            partial(tb.ArrivalReports, after=cast(Any, 2.5)),
            [],
            "after: 2.5 is not allowed; expected a whole number, at",
        ),
        (partial(tb.ArrivalReports, after_frames=cast(Any, 1)), [], "after_frames: 1 is not allowed; expected True or"),
        (partial(tb.ArrivalReports, clock_drift=cast(Any, "1 %")), [], "clock_drift: '1 %' is not allowed; expected a"),
    ],
)
def test_other_answers_of_the_wrong_type_name_the_field(kind: Any, given: list[Any], allowed: str) -> None:
    with pytest.raises(tb.CallError, match=re.escape(allowed)) as found:
        kind(*given)
    assert not hasattr(found.value, "__notes__")


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: tb.Directive(window=-1), "window: -1 is not allowed; expected bytes of at least 0"),
        (lambda: tb.Directive(tokens=cast(Any, "even")), "tokens: \"even\" is not allowed; expected 'constant' or"),
        (lambda: tb.Directive(until=1), "until: is not allowed while the gate is open; expected with gate=False"),
        (lambda: tb.DataPairs(-1), "singleton_timeout: -1 is not allowed; expected seconds of at least 0"),
        (lambda: tb.ControlPair(-1), "id: -1 is not allowed; expected 0 to 18446744073709551615"),
        (lambda: tb.ControlPair(2**64), "id: 18446744073709551616 is not allowed; expected 0 to 18446744073709551615"),
        (lambda: tb.ProbeCluster(1, 1e15, 1), "rate: 1000000000000000 is not allowed; expected bit/s from 0 to 1e14"),
        (lambda: tb.AckFrequency(0, 1), "threshold: 0 is not allowed; expected 1 to 65535 packets"),
        (lambda: tb.Outgoing(COUNT, lane=8), "lane: 8 is not allowed; expected 0 to 7"),
        (lambda: tb.Outgoing(Count(1, float("nan"), False)), "report.mean_size: nan is not allowed; expected a finite"),
        (
            lambda: tb.ArrivalReports(2.0, overlap=10_001),
            "interval: 2 s is not allowed; expected 10 ms to 1 s; overlap: ",
        ),
        (lambda: tb.ArrivalReports(overlap=-1), "overlap: -1 is not allowed; expected 0 to 10000"),
        (lambda: tb.ArrivalReports(after=0), "after: 0 is not allowed; expected at least 1 packet, or None"),
    ],
)
def test_values_out_of_range_are_refused_outside_of_a_part_as_other_arguments_are(made: Any, said: str) -> None:
    """In a notebook's cell, for example: by the package's own error, in one piece."""
    with pytest.raises(tb.ArgumentError, match=re.escape(said)) as found:
        made()
    assert not isinstance(found.value, TypeError)
    assert not hasattr(found.value, "__notes__")


class Hangs(Aimd):
    """Does not come back."""

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """For ever."""
        del now, feedback, cx
        while True:
            pass


def test_a_class_that_hangs_is_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILBACK_CALL_LIMIT", "1")
    runs = tb.compare([Hangs.scheme(), "reno"], base(), seeds=8, jobs=1, cache=tmp_path, progress=False)
    errors = runs.failed["error"].to_list()
    assert len(errors) == 8
    assert all("has not come back for 1 s" in error for error in errors)
    assert sum(error.startswith("not tried, since with another seed: ") for error in errors) == 7


def test_each_process_of_a_comparison_waits_once(tmp_path: Path) -> None:
    # In a process of its own, whose workers know the limit.
    hangs = "import tailback as tb\nfrom tests.custom.custom_parts import Aimd\n\nclass Hangs(Aimd):\n"
    hangs += "    def on_feedback(self, now, feedback, cx):\n        while True: pass\n"
    (tmp_path / "hangs_for_ever.py").write_text(hangs, encoding="utf-8")
    base().to_toml(tmp_path / "small.toml")
    words = [
        "compare",
        "hangs",
        "reno",
        "--over",
        "small.toml",
        "--custom",
        "hangs_for_ever.py",
        "--seeds",
        "8",
        "--jobs",
        "2",
    ]
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "TAILBACK_CALL_LIMIT": "2", "TAILBACK_CACHE": "cache", "PYTHONPATH": root}
    command = [sys.executable, "-m", "tailback.cli", *words]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert "tailback: failed: not tried, since with another seed: " in done.stderr, done.stdout + done.stderr
    assert "No differences from hangs" in done.stdout


def test_a_comparison_without_pairs_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from tailback.commands.sweep import _show
    from tailback.results.places import Place

    class Raises(Aimd):
        def directive(self) -> tb.Directive:
            raise ValueError("no")

    runs = tb.compare([Raises.scheme(), "reno"], base(), seeds=2, jobs=1, cache=tmp_path, progress=False)
    _show(runs, Place(tmp_path), "scheme")
    told = capsys.readouterr().out
    assert "No differences from raises: no two runs of the same seed came to their end" in told
    assert "Differences from raises, seed" not in told


def test_plain_names_of_registered_parts(tmp_path: Path) -> None:
    typed, fifo = Typed.scheme(gain=2), Fifo.queue()
    said = tb.flows(1, {"name": "typed", "gain": 2})
    assert said.name == "typed"
    written = base().with_flows(said).replace(queue="fifo")
    meant = base().with_flows(tb.flows(1, typed)).replace(queue=fifo)
    assert written.to_dict()["topology"]["queue"]["part"] == "fifo"
    assert written.run().hash == meant.run().hash
    assert tb.dumbbell(rate="5 Mbit/s", queue="fifo").to_dict()["topology"]["queue"]["part"] == "fifo"
    file = tmp_path / "plain.toml"
    file.write_text(
        'duration = "1 s"\n[topology]\ntemplate = "dumbbell"\nrate = "5 Mbit/s"\ndelay = "5 ms"\nqueue = "fifo"\n'
        'buffer = "1 BDP"\n[[flows]]\nscheme = { name = "typed", gain = 2 }\n',
        encoding="utf-8",
    )
    assert tb.Scenario.from_toml(file).run().hash == meant.run().hash
    runs = base().sweep(scheme=["typed", "reno"], jobs=1, cache=False, progress=False)
    assert not runs.failed.height


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: tb.Directive(windw=3), "Directive(): windw: no such argument; expected one of ack_frequency, burst, "),  # type: ignore[call-arg]  # On purpose.
        (lambda: tb.Directive(windw=3), "(did you mean window?)"),  # type: ignore[call-arg]  # On purpose.
        (
            lambda: cast(Any, tb.Directive)(1, 2, 3),
            "Directive(): 3: expected with its name; the arguments are window, rate, burst, ",
        ),
        (tb.DataPairs, "DataPairs(): singleton_timeout is missing; the arguments are singleton_timeout"),
        (lambda: tb.ControlPair(idd=1), "ControlPair(): idd: no such argument; expected one of id (did you mean id?)"),  # type: ignore[call-arg]  # On purpose.
        (lambda: tb.ProbeCluster(1, 2), "ProbeCluster(): bytes is missing; the arguments are id, rate, bytes"),  # type: ignore[call-arg]  # On purpose.
        (lambda: tb.Padding(3), "Padding(): 3: expected no argument"),  # type: ignore[call-arg]  # On purpose.
        (lambda: tb.AckFrequency(8), "AckFrequency(): max_delay is missing; the arguments are threshold, max_delay"),  # type: ignore[call-arg]  # On purpose.
        (lambda: tb.ArrivalReports(intervall=1), "ArrivalReports(): intervall: no such argument; expected one of "),  # type: ignore[call-arg]  # On purpose.
        (lambda: tb.Outgoing(lanes=1), "Outgoing(): lanes: no such argument; expected one of lane, report, size "),  # type: ignore[call-arg]  # On purpose.
        (tb.Outgoing, "Outgoing(): report is missing; the arguments are report, lane, size"),
    ],
)
def test_values_that_parts_make_tell_slips_outside_of_parts_too(call: Any, said: str) -> None:
    with pytest.raises(tb.CallError, match=re.escape(said)):
        call()


def test_a_setting_beside_the_name_of_a_part_is_told_where_it_belongs() -> None:
    scenario = base().with_flows(tb.flows(1, Typed.scheme()))
    calls: list[Any] = [scenario.replace, partial(scenario.sweep, seeds=1, cache=False)]
    for call in calls:
        with pytest.raises(tb.ScenarioError, match=r"expected `settings\.gain`, if it is a setting of the custom part"):
            call(**{"flows[0].scheme.gain": 2})
    assert scenario.replace(**{"flows[0].scheme.settings.gain": 3}).run().flows.height
