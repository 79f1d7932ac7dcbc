"""Custom parts that carry real packets: in the lab and behind a shell, where the system lets a test make namespaces, and in
transfers. What they do is what they do in the simulator, and what they do wrong is told in the same words."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tailback as tb
from tailback.lab import run
from tests.custom import real_parts
from tests.custom.custom_parts import Aimd, Fifo
from tests.processes import LONG, await_that, having
from tests.undisturbed import undisturbed, went_on, without_time_out

COMMAND = [sys.executable, "-m", "tailback"]
LOOSE = "10 s, 60 s"
"""A budget that a machine with other work keeps, too."""
PARTS = Path(real_parts.__file__)


def dumbbell(scheme: Any, duration: str = "1500 ms", **link: Any) -> tb.Scenario:
    """One flow over 10 Mbit/s, with a buffer of a bandwidth-delay product."""
    how: dict[str, Any] = {"rate": "10 Mbit/s", "delay": "10 ms", "buffer": "17 packets", "access": {"delay": "0.1 ms"}}
    base = tb.dumbbell(**how, duration=duration, warm_up="500 ms", **link)
    of = "datagram" if isinstance(scheme, Mapping) and scheme.get("part") == "told" else "transport"
    return base.with_flows(tb.flows(1, scheme, name="one", **{of: {"segment_size": "1500 B"}}))


def bottleneck(result: tb.Result) -> dict[str, Any]:
    """The row of the link where packets wait."""
    return result.links.row(by_predicate=pl.col("link") == result.bottleneck, named=True)


# --- what they do ---


@pytest.mark.usefixtures("able")
def test_a_class_does_with_real_packets_what_the_same_scheme_does_in_the_simulator() -> None:
    """The law alone differs between window schemes, so a class that were not asked would be found out by another one's window:
    with a decrease to 0.9 the queue is hardly ever empty."""
    real, simulated = {}, {}
    for decrease in (0.5, 0.9):
        scheme = Aimd.scheme(decrease=decrease)
        scenario = dumbbell(scheme, "6 s").replace(warm_up="2 s")
        real[decrease] = undisturbed(partial(run, scenario, budget=LOOSE), without_time_out)
        simulated[decrease] = dumbbell("sack" if decrease == 0.5 else scheme, "6 s").replace(warm_up="2 s").run()
    for decrease, result in real.items():
        assert result.flows["scheme"].to_list() == ["aimd"]
        assert result.real["calls"]["packets"] > 1000, "one for each acknowledgement, at least"
        was, is_ = bottleneck(simulated[decrease]), bottleneck(result)
        assert was["throughput"] > 9e6, "no time-out there, either"
        # The bound of comparisons of shares; queues differ by what hosts take.
        assert is_["throughput"] == pytest.approx(was["throughput"], rel=0.10)
        assert is_["mean_queue"] == pytest.approx(was["mean_queue"], abs=3)
    low, high = (bottleneck(real[decrease])["mean_queue"] for decrease in (0.5, 0.9))
    assert high > low + 3


@pytest.mark.usefixtures("able")
def test_a_receivers_policy_reports_over_real_packets() -> None:
    result = undisturbed(lambda: run(dumbbell(real_parts.Told.scheme()), budget=LOOSE))
    # 0.8 Mbit/s without reports.
    assert result.flows["throughput"].item() == pytest.approx(4e6, rel=0.1)


@pytest.mark.usefixtures("able")
def test_a_queue_in_python_is_the_routers() -> None:
    result = undisturbed(lambda: run(dumbbell("sack", queue=Fifo.queue()), budget=LOOSE), without_time_out)
    link = bottleneck(result)
    assert link["utilization"] > 0.8
    assert link["dropped_packets"] > 0, "it is full now and then"
    assert result.real["calls"]["packets"] > 2 * 800, "each packet comes and goes"


@pytest.mark.usefixtures("able")
def test_a_class_that_is_slow_is_late_and_the_run_does_not_count() -> None:
    result = run(dumbbell(real_parts.Slow.scheme()), budget="0.2 ms, 1 ms")
    assert not result.real["valid"]
    said = "calls of custom parts came back "
    late = [reason.removeprefix(said) for reason in result.real["reasons"] if reason.startswith(said)]
    calls = result.real["calls"]
    assert 0.003 < calls["p50_seconds"] <= calls["p99_seconds"]
    for reason, which in zip(late, ("p50_seconds", "p99_seconds"), strict=True):
        value, unit, *_ = reason.split()
        assert unit == "ms"
        assert float(value) == pytest.approx(1000 * calls[which], rel=0.01)


# --- what goes wrong ---


def parts() -> list[Any]:
    """Scenarios with parts that fail."""
    ways = ["init", "raise", "exit", "answer", "negative", "type"]
    made = [pytest.param(dumbbell(real_parts.Failing.scheme(how=how)), id=how) for how in ways]
    made.append(pytest.param(dumbbell(real_parts.Reported.scheme()), id="policy"))
    return [*made, pytest.param(dumbbell("sack", queue=real_parts.Twice.queue()), id="queue")]


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize("scenario", parts())
def test_a_part_that_fails_ends_the_run_with_the_simulators_words(scenario: tb.Scenario) -> None:
    with pytest.raises(tb.PartError) as simulated:
        scenario.run()
    began = time.monotonic()
    with pytest.raises(tb.PartError) as real:
        run(scenario.replace(duration="60 s"), budget=LOOSE)
    assert time.monotonic() - began < LONG / 2, "at once"
    assert str(real.value) == str(simulated.value)


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (
            dumbbell(real_parts.Failing.scheme(how="loop")),
            "Failing.on_feedback has not come back for 1 s (TAILBACK_CALL",
        ),
        (
            dumbbell(real_parts.Failing.scheme(how="sleep")),
            "Failing.on_feedback has not come back for 1 s and cannot be",
        ),
        (dumbbell("sack", queue=real_parts.Asleep.queue()), "Asleep.dequeue has not come back for 1 s and cannot be"),
    ],
    ids=["loop", "sleep", "queue"],
)
def test_a_part_that_does_not_come_back_is_told(
    scenario: tb.Scenario, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAILBACK_CALL_LIMIT", "1")
    with pytest.raises(tb.PartError) as caught:
        run(scenario, budget=LOOSE)
    assert said in str(caught.value)
    assert "real_parts.py, line" in str(caught.value)


def file_of(folder: Path, **link: Any) -> Path:
    """A scenario in a file, with the parts of this folder's files by their plain names."""
    path = folder / "scenario.toml"
    dumbbell("sack", **link).to_toml(path)
    return path


@pytest.mark.usefixtures("able")
def test_a_part_that_does_not_come_back_keeps_nothing_alive(tmp_path: Path) -> None:
    """Two commands of which one is killed and the other is interrupted, at once: the parts of both must hang before."""
    ends = {signal.SIGKILL: -9, signal.SIGINT: 130}
    temporary = {number: tmp_path / number.name for number in ends}
    with ExitStack() as entered:
        running = {}
        for number, folder in temporary.items():
            folder.mkdir()
            here = {
                **os.environ,
                "TMPDIR": str(folder),
                "TAILBACK_CALL_LIMIT": "0",
                "PYTHONPATH": str(PARTS.parents[2]),
            }
            words = [*COMMAND, "lab", str(file_of(tmp_path)), "--custom", str(PARTS), "--set", "queue=asleep"]
            words += ["--out", str(tmp_path / "out" / str(number.value))]
            running[number] = entered.enter_context(
                subprocess.Popen(words, stderr=subprocess.PIPE, env=here, text=True)
            )
        for folder in temporary.values():
            await_that(partial(having, folder))
        # Until the parts hang: the runs themselves would be over after this.
        time.sleep(4)
        for number, one in running.items():
            assert having(temporary[number])
            one.send_signal(number)
            assert one.wait(LONG) == ends[number]
    await_that(lambda: not any(map(having, temporary.values())))
    assert [list(folder.iterdir()) for folder in temporary.values()] == [[], []]
    assert list((tmp_path / "out").rglob("*")) == []


@pytest.mark.usefixtures("able")
def test_a_part_that_fails_when_nobody_waits_any_more_leaves_no_folder(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    here = {**os.environ, "TMPDIR": str(temporary), "TAILBACK_CALL_LIMIT": "2", "PYTHONPATH": str(PARTS.parents[2])}
    words = [*COMMAND, "lab", str(file_of(tmp_path)), "--custom", str(PARTS), "--set", "queue=asleep"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, env=here, text=True) as running:
        await_that(lambda: having(temporary))
        time.sleep(1)
        running.kill()
    await_that(lambda: not having(temporary))
    assert list(temporary.iterdir()) == []


# --- commands ---

GENTLE = """
import tailback as tb


class Gentle(tb.Controller):
    def __init__(self, connection, window: float = 20_000, at: float = 1e9):
        super().__init__(connection)
        self.window, self.at = window, at

    def on_feedback(self, now, feedback, cx):
        if now > self.at:
            raise ValueError("enough")

    def directive(self):
        return tb.Directive(window=self.window)


class Count(tb.FeedbackPolicy):
    every = 100

    def __init__(self, connection):
        super().__init__(connection)
        self.seen = 0

    def on_arrival(self, now, arrival, cx):
        self.seen += 1
        if self.seen == 1000:
            raise ValueError("too many")

    def poll_report(self, now, cx):
        return None


class Counted(Gentle):
    policy = Count


class Mine(tb.QueueDiscipline):
    def __init__(self, link, most: int = 1000):
        super().__init__(link)
        self.waiting, self.most = [], most

    def enqueue(self, now, packet, cx):
        self.most -= 1
        if self.most < 0:
            raise ValueError("no more")
        self.waiting.append(packet)

    def dequeue(self, now, cx):
        return self.waiting.pop(0) if self.waiting else None
"""


@pytest.fixture
def gentle(tmp_path: Path) -> Path:
    """A file of parts, which no process can import but by its place."""
    path = tmp_path / "gentle_and_others.py"
    path.write_text(GENTLE, encoding="utf-8")
    return path


def command(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """What became of a command line."""
    return subprocess.run(
        [*COMMAND, *words], env={**os.environ, **more}, capture_output=True, text=True, timeout=LONG, check=False
    )


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


def moved(
    tmp_path: Path,
    receiver: list[str],
    sender: list[str],
    meanwhile: Callable[[], object] = lambda: None,
    *,
    stays: bool = False,
) -> tuple[tuple[int, str], tuple[int, str]]:
    """Status and standard error of receiver and sender; a receiver that ``stays``, since it has refused, is ended. ``meanwhile``
    is called when the one waits and before the other begins."""
    here = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    words = [*COMMAND, "recv", str(tmp_path / "in"), "--address", "127.0.0.1", "--port", "0", "--plaintext", *receiver]
    with subprocess.Popen(words, env=here, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as waiting:
        assert waiting.stderr is not None
        first = waiting.stderr.readline()
        host = first.split("send FILE ")[1].split()[0]
        meanwhile()
        sent = command("send", str(tmp_path / "film"), host, "--plaintext", *sender, XDG_CONFIG_HOME=str(tmp_path))
        said = ""
        if stays:
            said = waiting.stderr.readline()
            waiting.send_signal(signal.SIGINT)
        rest = said + waiting.stderr.read()
        return (waiting.wait(LONG), rest), (sent.returncode, sent.stdout + sent.stderr)


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """A file of a few thousand packets."""
    path = tmp_path / "film"
    path.write_bytes(os.urandom(1 << 22))
    return path


def test_a_file_travels_under_a_class(gentle: Path, film: Path, tmp_path: Path) -> None:
    custom = ["--custom", str(gentle)]
    received, sent = moved(tmp_path, custom, [*custom, "--scheme", "{ name = 'gentle', window = 60000 }", "--json"])
    assert (received[0], sent[0]) == (0, 0), received[1] + sent[1]
    assert (tmp_path / "in" / "film").read_bytes() == film.read_bytes()
    assert "comes under gentle" in received[1]
    assert json.loads(sent[1])["calls"]["packets"] > 100


@pytest.mark.parametrize("acks", [1, None])
def test_a_receiver_needs_no_class_to_do_what_the_senders_wants(
    acks: int | None, gentle: Path, film: Path, tmp_path: Path
) -> None:
    """Without a part for the receiver, how it acknowledges comes with the offer: by itself it would after each second packet."""
    gentle.write_text(
        GENTLE.replace("class Gentle(tb.Controller):\n", f"class Gentle(tb.Controller):\n    acks = {acks}\n")
    )
    received, sent = moved(tmp_path, [], ["--custom", str(gentle), "--scheme", "gentle", "--json"])
    assert (received[0], sent[0]) == (0, 0), received[1] + sent[1]
    assert "comes under gentle" in received[1]
    assert (tmp_path / "in" / "film").read_bytes() == film.read_bytes()
    edge = json.loads(sent[1])["edge"]
    share = edge["received_datagrams"] / edge["sent_datagrams"]
    assert share > 0.8 if acks == 1 else share < 0.7


REPORTED = """
import tailback as tb


class Reported(tb.Controller):
    reliability = "datagram"
    policy = tb.ArrivalReports(0.02, overlap=3)

    def __init__(self, connection):
        super().__init__(connection)
        self.rate = 80e3

    def on_feedback(self, now, feedback, cx):
        if feedback.report is not None and feedback.report.packets:
            self.rate = 80e6

    def directive(self):
        return tb.Directive(rate=self.rate)
"""


def test_a_receiver_needs_no_class_to_report_arrivals(gentle: Path, film: Path, tmp_path: Path) -> None:
    """The file would take minutes without reports."""
    gentle.write_text(REPORTED)
    received, sent = moved(tmp_path, [], ["--custom", str(gentle), "--scheme", "reported"])
    assert (received[0], sent[0]) == (0, 0), received[1] + sent[1]
    assert (tmp_path / "in" / "film").read_bytes() == film.read_bytes()


@pytest.mark.usefixtures("film")
def test_a_receiver_that_lacks_its_part_of_the_class_says_so_at_both_ends(gentle: Path, tmp_path: Path) -> None:
    received, sent = moved(tmp_path, [], ["--custom", str(gentle), "--scheme", "counted"], stays=True)
    said = "the class counted has a part for the receiver, which does not know it; expected `tailback recv --custom FILE.py` "
    said += f"with the sender's gentle_and_others.py (digest {digest(GENTLE)})"
    assert sent[0] == 1
    assert f"the receiver refuses: {said}" in sent[1]
    assert received[0] == 130
    assert f"refused film, and still waiting: {said}" in received[1]


@pytest.mark.usefixtures("film")
def test_classes_that_are_not_the_same_are_refused_at_both_ends(gentle: Path, tmp_path: Path) -> None:
    """The receiver's is the one that it read when it began: what its file says later does not count."""
    other = tmp_path / "theirs" / "older.py"
    other.parent.mkdir()
    older = GENTLE.replace("every = 100", "every = 50")
    other.write_text(older)
    received, sent = moved(
        tmp_path,
        ["--custom", str(other)],
        ["--custom", str(gentle), "--scheme", "counted"],
        meanwhile=lambda: other.write_text(GENTLE),
        stays=True,
    )
    said = "the class counted is not the same at both ends: the sender has gentle_and_others.py "
    said += f"(digest {digest(GENTLE)}), the receiver older.py (digest {digest(older)}); expected the sender's file"
    assert (received[0], sent[0]) == (130, 1)
    assert f"the receiver refuses: {said}" in sent[1]
    assert f"refused film, and still waiting: {said}" in received[1]
    assert not (tmp_path / "in" / "film").exists()


def digest(text: str) -> str:
    """What people see of a file's digest, as `b2sum -l 128` has it."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()[:12]


@pytest.mark.usefixtures("film")
@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_a_class_that_fails_ends_a_transfer_at_both_ends(end: str, gentle: Path, tmp_path: Path) -> None:
    custom = ["--custom", str(gentle)]
    scheme = "{ name = 'gentle', at = 0.01 }" if end == "sender" else "counted"
    received, sent = moved(tmp_path, custom, [*custom, "--scheme", scheme])
    assert (received[0], sent[0]) == (1, 1)
    broken, other = (sent, received) if end == "sender" else (received, sent)
    assert "gentle_and_others.py, line" in broken[1]
    assert f"ValueError: {'enough' if end == 'sender' else 'too many'}" in broken[1]
    assert f"the {end} says: stopped" in other[1]
    assert not (tmp_path / "in" / "film").exists()
