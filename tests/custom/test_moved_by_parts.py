"""Files that travel under a class: what each end needs of it, and what both say where it is missing, not the same, or fails."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.custom.real_runs import COMMAND, GENTLE, command
from tests.processes import LONG


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
