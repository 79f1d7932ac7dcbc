"""Transfers that the system ends, or whose disk fails at the last moment: both ends say so and what is left, and it can be taken
up. Other ends of transfers are in ``test_transfer.py``."""

import ctypes
import errno
import json
import os
import platform
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.transfers import COMMAND, LONG, Waiting, film, heeding, home

__all__ = ["film", "home"]

SLOW = ["--scheme", "{name='fixed-rate',rate='10 Mbit/s'}"]
"""Some seconds for a film."""
FSYNC = {"x86_64": 74, "aarch64": 82}
WRITE = {"x86_64": 1, "aarch64": 64}
"""Numbers of system calls, by machine."""
SEGMENT = 1000
"""Bytes; what is written of a file has more, and what is said has fewer."""


def begun(receiver: Waiting, home: dict[str, str], film: Path, folder: Path) -> subprocess.Popen[str]:
    """A sender of which something has arrived."""
    words = [*COMMAND, "send", str(film), receiver.host, "--key", receiver.key, *SLOW]
    sender = subprocess.Popen(
        words,
        env=home,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heeding,  # noqa: PLW1509 (nothing else runs in this process)
    )
    until = time.monotonic() + LONG
    while not any(part.stat().st_size > 1 << 16 for part in folder.glob(".film.*.partial")):
        assert time.monotonic() < until
        assert sender.poll() is None
        time.sleep(0.02)
    return sender


@pytest.mark.parametrize(
    ("who", "number"),
    [("recv", signal.SIGTERM), ("recv", signal.SIGHUP), ("send", signal.SIGTERM), ("send", signal.SIGINT)],
)
def test_who_is_told_to_end_says_so_at_both_ends(
    who: str, number: signal.Signals, tmp_path: Path, home: dict[str, str], film: Path
) -> None:
    receiver = Waiting(tmp_path / "in", home)
    sender = begun(receiver, home, film, tmp_path / "in")
    began = time.monotonic()
    (receiver.process if who == "recv" else sender).send_signal(number)
    _, sent = sender.communicate(timeout=LONG)
    status, _, received = receiver.end()
    assert time.monotonic() - began < 9, "nobody waits for a word of the other"
    there = next((tmp_path / "in").glob(".film.*.partial")).stat().st_size
    on = "the same commands go on from there"
    if who == "recv":
        assert (status, sender.returncode) == (128 + number, 1)
        assert received.endswith(f"\ntailback: stopped; what has arrived is kept; {on}\n")
        assert sent == f"tailback: the receiver says: stopped; {there} B of 6291456 B are there: {on}\n"
    else:
        assert (status, sender.returncode) == (1, 128 + number)
        assert sent == f"tailback: stopped; the receiver keeps what has arrived; {on}\n"
        assert "\ntailback: the sender says: stopped; " in received
        assert received.endswith(f"are there: {on}\n")
    receiver = Waiting(tmp_path / "in", home)
    again = receiver.send(home, film, "--json")
    assert (again.returncode, receiver.end()[0]) == (0, 0), again.stderr
    assert json.loads(again.stdout)["resumed_bytes"] == there
    assert (tmp_path / "in" / "film").read_bytes() == film.read_bytes()


def test_who_waits_and_is_told_to_end_ends(tmp_path: Path, home: dict[str, str]) -> None:
    receiver = Waiting(tmp_path / "in", home)
    receiver.process.send_signal(signal.SIGTERM)
    status, _, err = receiver.end()
    assert (status, err) == (143, "tailback: stopped; nothing has come\n")


def test_who_is_told_to_end_before_anybody_answers_has_sent_nothing(home: dict[str, str], film: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        words = [*COMMAND, "send", str(film), f"127.0.0.1:{nobody.getsockname()[1]}", "--plaintext"]
        with subprocess.Popen(words, env=home, text=True, stderr=subprocess.PIPE) as sender:
            nobody.recv(2000)  # It asks, and is not answered.
            sender.terminate()
            assert sender.communicate(timeout=LONG)[1] == "tailback: stopped; nothing was sent\n"
    assert sender.returncode == 143


def test_who_ignores_the_end_of_the_terminal_goes_on(tmp_path: Path, home: dict[str, str], film: Path) -> None:
    """As with ``nohup``."""

    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    receiver = Waiting(tmp_path / "in", home, limit=ignore)
    receiver.process.send_signal(signal.SIGHUP)
    sent = receiver.send(home, film)
    assert (sent.returncode, receiver.end()[0]) == (0, 0), sent.stderr


def interrupted(tmp_path: Path, home: dict[str, str], film: Path) -> Path:
    """What has arrived of a file whose sender was told to end."""
    receiver = Waiting(tmp_path / "in", home)
    sender = begun(receiver, home, film, tmp_path / "in")
    sender.terminate()
    sender.communicate(timeout=LONG)
    receiver.end()
    (left,) = (tmp_path / "in").iterdir()
    return left


def test_what_is_left_of_a_file_that_changed_between_two_attempts_is_named(
    tmp_path: Path, home: dict[str, str], film: Path
) -> None:
    left = interrupted(tmp_path, home, film)
    film.write_bytes(film.read_bytes()[1:])
    receiver = Waiting(tmp_path / "in", home)
    sent = receiver.send(home, film, "--json")
    status, out, err = receiver.end()
    assert (sent.returncode, status) == (0, 0), sent.stderr + err
    assert json.loads(sent.stdout)["resumed_bytes"] == 0
    assert out.endswith(
        f"\nbeside it is {left}, of a transfer that broke off: of this name, with other bytes or from another sender\n"
    )
    assert left.exists()
    assert (tmp_path / "in" / "film").read_bytes() == film.read_bytes()


def failing(number: int, calls: Mapping[str, int] = FSYNC, least: int = 0) -> Callable[[], None]:
    """Makes every such call of a process and its children fail with this error, by a filter of the system (seccomp); of those that
    write, those of this many bytes at least."""
    load, is_equal, is_least, answer = 0x20, 0x15, 0x35, 0x06
    refused, allowed, third_argument = 0x0005_0000 | number, 0x7FFF_0000, 32
    filters = [(load, 0, 0, 0), (is_equal, 0, 3 if least else 1, calls[platform.machine()])]
    if least:
        filters += [(load, 0, 0, third_argument), (is_least, 0, 1, least)]
    filters += [(answer, 0, 0, refused), (answer, 0, 0, allowed)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in filters))
    program = struct.pack("HxxxxxxP", len(filters), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)

    def limit() -> None:
        no_new_privileges, set_filter, by_filter = 38, 22, 2
        if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(set_filter, by_filter, program, 0, 0):
            raise OSError(ctypes.get_errno(), "no filter")

    limit.code = code  # type: ignore[attr-defined]  # It must live as long.
    return limit


@pytest.mark.skipif(platform.machine() not in FSYNC, reason="the number of the system call is not known here")
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_what_the_disk_does_not_take_is_thrown_away(
    number: int, tmp_path: Path, home: dict[str, str], film: Path
) -> None:
    """Linux forgets after an error that its copy was not written: a second ``fsync`` would succeed, and nothing be there."""
    receiver = Waiting(tmp_path / "in", home, limit=failing(number))
    sent = receiver.send(home, film)
    status, _, err = receiver.end()
    assert (sent.returncode, status) == (1, 1), sent.stderr + err
    why = f"the disk did not take all of it: {os.strerror(number)} (os error {number}); it was thrown away, "
    # The sender hears of the name that it offered: where the file lies there is not its business.
    for said, named in ((sent.stderr, "tailback: the receiver says: film"), (err, ".partial")):
        assert f"{named}: {why}" in said
        assert said.endswith("the same commands begin anew\n")
    assert list((tmp_path / "in").iterdir()) == []
    receiver = Waiting(tmp_path / "in", home)
    again = receiver.send(home, film, "--json")
    assert (again.returncode, receiver.end()[0]) == (0, 0), again.stderr
    assert json.loads(again.stdout)["resumed_bytes"] == 0
    # What has its name stays, and is not said to be well.
    receiver = Waiting(tmp_path / "in", home, limit=failing(number))
    sent = receiver.send(home, film)
    status, _, err = receiver.end()
    assert (sent.returncode, status) == (1, 1), sent.stderr + err
    assert f"in/film: {os.strerror(number)}" in err
    assert f"the receiver says: film: {os.strerror(number)}" in sent.stderr
    assert (tmp_path / "in" / "film").read_bytes() == film.read_bytes()


@pytest.mark.skipif(platform.machine() not in WRITE, reason="the number of the system call is not known here")
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_what_has_arrived_is_kept_unless_the_disk_fails(
    number: int, tmp_path: Path, home: dict[str, str], film: Path
) -> None:
    """A system may say late that a disk has failed, of bytes that were written before."""
    left = interrupted(tmp_path, home, film)
    os.truncate(left, there := (left.stat().st_size - 1) | 1)  # An odd number is said in bytes.
    receiver = Waiting(tmp_path / "in", home, limit=failing(number, WRITE, SEGMENT))
    sent = receiver.send(home, film)
    status, _, err = receiver.end()
    assert (sent.returncode, status) == (1, 1), sent.stderr + err
    reason = f"{os.strerror(number)} (os error {number})"
    if number == errno.EIO:
        why = f"the disk did not take all of it: {reason}; it was thrown away, because nobody can say which bytes are on the disk"
        what = f"{why}: the same commands begin anew"
    else:
        what = f"{reason}; {there} B of {film.stat().st_size} B are there: the same commands go on from there"
    assert err.endswith(f"tailback: {left}: {what}\n")
    assert sent.stderr == f"tailback: the receiver says: film: {what}\n"
    assert left.exists() == (number != errno.EIO)
    receiver = Waiting(tmp_path / "in", home)
    again = receiver.send(home, film, "--json")
    assert (again.returncode, receiver.end()[0]) == (0, 0), again.stderr
    assert json.loads(again.stdout)["resumed_bytes"] == (0 if number == errno.EIO else there)
    assert (tmp_path / "in" / "film").read_bytes() == film.read_bytes()
