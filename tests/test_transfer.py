"""Files between two processes of this host, from the command line: whole under their names, or one clear error."""

import ctypes
import json
import os
import re
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import tailback as tb
from tailback.cli import app
from tailback.commands.moving import Seen
from tailback.errors import TailbackError
from tailback.transfer import keys
from tailback.transfer.addresses import resolved
from tests.transfers import COMMAND, LONG, Waiting, film, home, run

__all__ = ["film", "home"]


def test_a_file_arrives_and_both_ends_have_a_result(tmp_path: Path, home: dict[str, str], film: Path) -> None:
    receiver = Waiting(tmp_path / "in", home, "--out", str(tmp_path / "received"))
    # Long enough that there are bins to draw: what takes less than one has no series.
    film.write_bytes(film.read_bytes() * 12)
    sent = receiver.send(home, film, "--scheme", "monaco", "--out", str(tmp_path / "sent"), "--json")
    status, out, err = receiver.end()
    assert (sent.returncode, status) == (0, 0), sent.stderr + err
    assert (tmp_path / "in" / "film").read_bytes() == film.read_bytes()
    assert "equal at both ends" in out
    told = json.loads(sent.stdout)
    assert (told["bytes"], told["resumed_bytes"]) == (film.stat().st_size, 0)
    for folder in ("sent", "received"):
        result = tb.load(tmp_path / folder)
        assert isinstance(result, tb.Result)
        row = result.flows.row(0, named=True)
        assert (row["flow"], row["scheme"]) == ("transfer", "monaco")
        assert row["received_bytes"] > film.stat().st_size
        assert result.real["sha256"] == told["sha256"]
        assert (tmp_path / folder / "overview.svg").exists()
        assert result.flow_series["throughput"].sum() > 0
        assert result.summary()["utilization"].item() is None, "nothing is known of the network between"
    assert keys.place().name == "keys.json"
    assert (tmp_path / "config" / "tailback" / "keys.json").stat().st_mode & 0o777 == 0o600


def test_a_receiver_acknowledges_as_the_scheme_asks_it_to(tmp_path: Path, home: dict[str, str], film: Path) -> None:
    """While it looks for the rate, BBR asks for every second packet, or for each where fewer than eight arrive in a round trip
    time, as they may on one machine; the receiver would wait for 64."""
    shares = {}
    for asks in (False, True):
        receiver = Waiting(tmp_path / f"in-{asks}", home)
        words = ["--set", f"scheme.ack_frequency={str(asks).lower()}", "--set", "receiver.ack_every=64", "--json"]
        sent = receiver.send(home, film, "--scheme", "bbr3", "--out", str(tmp_path / f"sent-{asks}"), *words)
        status, _, err = receiver.end()
        assert (sent.returncode, status) == (0, 0), sent.stderr + err
        assert (tmp_path / f"in-{asks}" / "film").read_bytes() == film.read_bytes()
        edge = json.loads((tmp_path / f"sent-{asks}" / "result.json").read_text())["real"]["edge"]
        shares[asks] = edge["received_datagrams"] / edge["sent_datagrams"]
    assert shares[False] < 0.1
    assert shares[True] > 0.2


def test_a_killed_sender_goes_on_where_it_was(tmp_path: Path, home: dict[str, str], film: Path) -> None:
    receiver = Waiting(tmp_path / "in", home, "--patience", "20 s")
    # A packet at a time, each acknowledged late.
    slow = ["--set", "transport.window_limit=1 packets", "--set", "receiver.ack_delay=10 ms"]
    words = [*COMMAND, "send", str(film), receiver.host, "--key", receiver.key, *slow]
    with subprocess.Popen(words, env=home, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as sender:
        until = time.monotonic() + LONG
        while not any(part.stat().st_size > 1 << 16 for part in (tmp_path / "in").glob(".film.*.partial")):
            assert time.monotonic() < until
            time.sleep(0.02)
        sender.send_signal(signal.SIGKILL)
    assert [path.name for path in (tmp_path / "in").glob("film")] == [], "no partial file under its name"
    sent = receiver.send(home, film, "--json")
    assert sent.returncode == 0, sent.stderr
    assert json.loads(sent.stdout)["resumed_bytes"] >= 1 << 16
    assert receiver.end()[0] == 0
    assert (tmp_path / "in" / "film").read_bytes() == film.read_bytes()
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["film"]


def test_the_same_commands_again_say_that_the_file_is_there(tmp_path: Path, home: dict[str, str], film: Path) -> None:
    there = tmp_path / "in" / "film"
    for _ in range(2):
        receiver = Waiting(tmp_path / "in", home)
        sent = receiver.send({**home, "PYTHONPROFILEIMPORTTIME": "1"}, film)
        status, out, err = receiver.end()
        assert (sent.returncode, status) == (0, 0), sent.stderr + err
        assert "| tailback.commands.transfer\n" in sent.stderr
        assert "| numpy\n" not in sent.stderr, (
            "nobody keeps a result, and it takes longer to import than the file to arrive"
        )
    for said in (sent.stdout, out):
        assert f"{film.stat().st_size:,} bytes, all of which were there before\nsha256 " in said
    assert there.read_bytes() == film.read_bytes()
    there.write_bytes(bytes(film.stat().st_size))
    receiver = Waiting(tmp_path / "in", home)
    sent = receiver.send(home, film)
    assert (sent.returncode, receiver.process.poll()) == (1, None), "it goes on waiting"
    assert "film is there already, and is another file; expected another name, or recv --overwrite" in sent.stderr
    receiver.process.kill()
    assert "refused film, and still waiting: film is there already" in receiver.end()[2]
    assert there.read_bytes() == bytes(film.stat().st_size)


def test_a_file_that_changes_while_it_is_sent_is_named(tmp_path: Path, home: dict[str, str], film: Path) -> None:
    receiver = Waiting(tmp_path / "in", home)
    words = [
        "send",
        str(film),
        receiver.host,
        "--key",
        receiver.key,
        "--scheme",
        "{name='fixed-rate',rate='30 Mbit/s'}",
    ]
    with subprocess.Popen([*COMMAND, *words], env=home, text=True, stderr=subprocess.PIPE) as sender:
        while not any(part.stat().st_size for part in (tmp_path / "in").glob(".film.*.partial")):
            time.sleep(0.01)
        with film.open("r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"\0" if film.read_bytes()[-1] else b"\1")
        _, err = sender.communicate(timeout=LONG)
    assert sender.returncode == 1
    again = "the same commands send it as it is now"
    assert f"it was thrown away; {film} has changed since it was offered: {again}\n" in err
    assert receiver.end()[0] == 1


@pytest.mark.parametrize("change", [os.utime, lambda film: film.write_bytes(b"another"), Path.unlink])
def test_a_file_that_changes_when_it_has_been_read_arrives_as_it_was(
    change: Callable[[Path], object], tmp_path: Path, home: dict[str, str], film: Path
) -> None:
    """Removed, it has not become another one."""
    offered = film.read_bytes()[:200_000]  # So short that all of it is read at once, before anything is sent.
    film.write_bytes(offered)
    time.sleep(0.05)  # Longer than file systems hold times of files apart by.
    receiver = Waiting(tmp_path / "in", home)
    words = ["send", str(film), receiver.host, "--key", receiver.key, "--scheme", "{name='fixed-rate',rate='2 Mbit/s'}"]
    with subprocess.Popen([*COMMAND, *words], env=home, text=True, stderr=subprocess.PIPE) as sender:
        while not any(part.stat().st_size for part in (tmp_path / "in").glob(".film.*.partial")):
            time.sleep(0.01)
        change(film)
        _, err = sender.communicate(timeout=LONG)
    now = f"tailback: {film} has changed since it was offered: the receiver has it as it was then; "
    again = "`tailback recv --overwrite` and the same command send it as it is now\n"
    assert (sender.returncode, err) == ((0, "") if change is Path.unlink else (1, now + again))
    assert receiver.end()[0] == 0
    assert (tmp_path / "in" / "film").read_bytes() == offered


def test_a_full_disk_is_one_clear_error_at_both_ends(tmp_path: Path, home: dict[str, str], film: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 21, 1 << 21))

    receiver = Waiting(tmp_path / "in", home, limit=limit)
    sent = receiver.send(home, film)
    status, _, err = receiver.end()
    assert (sent.returncode, status) == (1, 1)
    went_on = "2097152 B of 6291456 B are there: the same commands go on from there"
    why = f"File too large (os error 27); {went_on}\n"
    assert re.search(rf"tailback: .*partial: {re.escape(why)}\Z", err), err
    assert sent.stderr == f"tailback: the receiver says: film: {why}"
    assert not (tmp_path / "in" / "film").exists()
    # They do, where there is room by now.
    receiver = Waiting(tmp_path / "in", home)
    sent = receiver.send(home, film, "--json")
    assert (sent.returncode, receiver.end()[0]) == (0, 0), sent.stderr
    assert json.loads(sent.stdout)["resumed_bytes"] == 1 << 21
    assert (tmp_path / "in" / "film").read_bytes() == film.read_bytes()


def test_a_receiver_that_was_killed_is_missed(tmp_path: Path, home: dict[str, str], film: Path) -> None:
    receiver = Waiting(tmp_path / "in", home)
    receiver.process.kill()
    receiver.process.wait()
    began = time.monotonic()
    sent = receiver.send(home, film, "--patience", "0.5 s")
    assert sent.returncode == 1
    assert sent.stderr == f"tailback: {receiver.host} did not answer for 500 ms (nobody listens there)\n"
    assert time.monotonic() - began < LONG / 2


def test_all_addresses_of_a_name_are_tried(tmp_path: Path, home: dict[str, str], film: Path) -> None:
    """``localhost`` has two, and the receiver hears on one of them; an address of a link keeps its interface."""
    receiver = Waiting(tmp_path / "in", home)
    receiver.host = receiver.host.replace("127.0.0.1", "localhost")
    sent = receiver.send(home, film)
    assert sent.returncode == 0, sent.stderr
    assert receiver.end()[0] == 0
    number = socket.if_nametoindex("lo")
    assert list(resolved("fe80::1%lo").values()) == [f"[fe80::1%{number}]:4747"]
    assert list(resolved("[fe80::1%lo]:5").values()) == [f"[fe80::1%{number}]:5"]
    receiver.host = "fe80::1"
    sent = receiver.send(home, film)
    assert sent.returncode == 1
    assert "tailback: cannot reach [fe80::1]:4747: a link-local address is one of an interface" in sent.stderr


def test_plain_text_stays_in_the_lab(tmp_path: Path, home: dict[str, str], film: Path) -> None:
    receiver = Waiting(tmp_path / "in", home, "--plaintext")
    # A scheme of datagrams: all of the file arrives, though nobody retransmits these elsewhere.
    sent = receiver.send(home, film, "--scheme", "tfrc")
    assert sent.returncode == 0, sent.stderr
    assert receiver.end()[0] == 0
    assert (tmp_path / "in" / "film").read_bytes() == film.read_bytes()
    for words in (["send", str(film), "192.0.2.1", "--plaintext"], ["recv", "--plaintext", "--address", "0.0.0.0"]):
        with pytest.raises(TailbackError, match="others need keys"):
            app(words, standalone_mode=False)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["send", "FILM", "127.0.0.1"], "--key"),
        (["send", "FILM", "127.0.0.1", "--key", "abc"], "what `tailback recv` printed"),
        (["send", "FILM", "127.0.0.1:99999", "--key", "KEY"], "HOST"),
        (["send", "FILM", "[::1", "--key", "KEY"], "HOST: '[::1' is not allowed; expected HOST, HOST:PORT"),
        (["send", "FILM", "::1]:5", "--key", "KEY"], "HOST: '::1]:5' is not allowed; expected HOST, HOST:PORT"),
        (["send", "FILM", "[::1]5", "--key", "KEY"], "HOST: '[::1]5' is not allowed; expected HOST, HOST:PORT"),
        (["send", "FILM", "127.0.0.1:5:6", "--key", "KEY"], "HOST: '127.0.0.1:5:6' is not allowed; expected HOST, "),
        (
            ["send", "FILM", "255.255.255.255", "--key", "KEY"],
            "HOST: '255.255.255.255' is not allowed; expected the ad",
        ),
        (
            ["send", "FILM", "[ff02::1]:5", "--key", "KEY"],
            "HOST: '[ff02::1]:5' is not allowed; expected the address of",
        ),
        (["send", "FILM", "0.0.0.0", "--key", "KEY"], "HOST: '0.0.0.0' is not allowed; expected the address of one"),
        (["send", "FILM", "127.0.0.1", "--key", "KEY", "--scheme", "cubik"], '--scheme: "cubik" is not'),
        (["send", "FILM", "127.0.0.1", "--key", "KEY", "--scheme", "probabilistic"], '"probabilistic" sets none'),
        (["send", "FILM", "127.0.0.1", "--key", "KEY", "--patience", "soon"], "--patience"),
        (["send", "FILM", "127.0.0.1", "--key", "KEY", "--raise-mtu", "1 s"], "--raise-mtu"),
        (["send", "no-such-file", "127.0.0.1", "--key", "KEY"], "no-such-file: No such file"),
        (["recv", "FILM/in"], "cannot be written"),
        (["recv", "--only", "abc"], "--show-key"),
        (["recv", "FOLDER", "--address", "fe80::1"], "as in fe80::1%eth0"),
        (["recv", "FOLDER", "--address", "fe80::1%no-such"], "an interface of this host"),
        (["recv", "FOLDER", "--address", "fe80::1:2:3%lo"], "cannot listen at [fe80::1:2:3%LO]:4747"),
    ],
)
def test_what_makes_no_sense_is_named(
    words: list[str], said: str, home: dict[str, str], film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", home["XDG_CONFIG_HOME"])
    put = {"FILM": str(film), "FILM/in": str(film / "in"), "FOLDER": str(film.parent / "in")}
    put |= {"KEY": keys.written(bytes(48))}
    said = said.replace("LO", str(socket.if_nametoindex("lo")))
    with pytest.raises(TailbackError, match=re.escape(said)):
        app([put.get(word, word) for word in words], standalone_mode=False)


@pytest.mark.parametrize("command", ["send", "recv"])
def test_a_path_that_is_no_text_is_named(command: str, tmp_path: Path, home: dict[str, str]) -> None:
    path = os.fsdecode(bytes(tmp_path / "film") + b"\xff")
    Path(path).touch()
    words = [path, "127.0.0.1:9"] if command == "send" else [path + "/in", "--address", "127.0.0.1"]
    if command == "recv":
        Path(path).unlink()
    ended = run(home, command, *words, "--plaintext")
    assert ended.returncode == 1
    shown = f"{tmp_path}/film\\xff" + ("/in" if command == "recv" else "")
    assert ended.stderr == f"tailback: {shown} is not a path in UTF-8; expected a file and folders whose names are\n"


def test_an_address_of_ipv4_is_one_however_it_is_written(tmp_path: Path, home: dict[str, str], film: Path) -> None:
    receiver = Waiting(tmp_path / "in", home, "--plaintext", "--address", "::ffff:127.0.0.1")
    assert receiver.host.startswith("127.0.0.1:")
    receiver.host = receiver.host.replace("127.0.0.1", "[::ffff:127.0.0.1]")
    sent = receiver.send(home, film)
    assert sent.returncode == 0, sent.stderr
    assert sent.stdout.startswith("sent film to 127.0.0.1:")
    assert "from 127.0.0.1:" in receiver.end()[1]


def test_what_is_no_file_is_not_sent(tmp_path: Path, home: dict[str, str]) -> None:
    """A pipe would wait for somebody who writes, and a device has no end."""
    os.mkfifo(tmp_path / "pipe")
    other = "a pipe, a socket or a device; expected a file"
    archive = "a folder; expected a file, such as an archive of it"
    for path, said in ((tmp_path / "pipe", other), (Path("/dev/zero"), other), (tmp_path, archive)):
        ended = run(home, "send", str(path), "127.0.0.1:9", "--plaintext")
        assert ended.returncode == 1
        assert ended.stderr == f"tailback: {path}: {said}\n"


def test_a_folder_that_may_not_be_written_to_is_told_before_anybody_waits(tmp_path: Path, home: dict[str, str]) -> None:
    folder = tmp_path / "in"
    folder.mkdir(mode=0o555)

    def limit() -> None:
        drop, overriding = 24, 1  # PR_CAPBSET_DROP and CAP_DAC_OVERRIDE: whoever may do all may write everywhere.
        ctypes.CDLL(None).prctl(drop, overriding)

    words = [*COMMAND, "recv", str(folder), "--address", "127.0.0.1", "--port", "0"]
    ended = subprocess.run(
        words,
        env=home,
        text=True,
        capture_output=True,
        timeout=LONG,
        check=False,
        preexec_fn=limit,
    )
    said = f"tailback: FOLDER: '{folder}' is not allowed; expected a folder that this user may write to\n"
    assert (ended.returncode, ended.stderr) == (1, said)


def test_who_cannot_listen_says_where(tmp_path: Path, home: dict[str, str]) -> None:
    receiver = Waiting(tmp_path / "in", home)
    for address in (receiver.host.split(":"), ["203.0.113.9", "4747"]):
        ended = run(home, "recv", str(tmp_path / "in"), "--address", address[0], "--port", address[1])
        assert ended.returncode == 1
        assert f"tailback: cannot listen at {':'.join(address)}: " in ended.stderr
    receiver.process.kill()
    receiver.end()


@pytest.mark.parametrize("command", ["send", "recv"])
def test_a_folder_that_cannot_be_written_is_told_first(
    command: str, tmp_path: Path, home: dict[str, str], film: Path
) -> None:
    words = [str(film), "127.0.0.1:9"] if command == "send" else [str(tmp_path / "in"), "--address", "127.0.0.1"]
    ended = run(home, command, *words, "--plaintext", "--out", str(film))
    assert ended.returncode == 1
    assert "film is a file; expected a folder" in ended.stderr
    assert not (tmp_path / "in").exists()


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_file_that_has_arrived_is_told_where_its_result_cannot_be_saved(
    form: tuple[str, ...], tmp_path: Path, home: dict[str, str], film: Path
) -> None:
    """As where the disk is full by then: the folder was good when the transfer began."""
    kept = tmp_path / "kept"
    receiver = Waiting(tmp_path / "in", home, "--out", str(kept), *form)
    kept.write_text("in the way")
    sent = receiver.send(home, film)
    status, out, err = receiver.end()
    assert (sent.returncode, status) == (0, 1), sent.stderr
    assert (tmp_path / "in" / "film").read_bytes() == film.read_bytes()
    assert f"tailback: {kept}: cannot be written, {kept} is a file" in err
    if form:
        assert json.loads(out)["out"] is None
    else:
        assert out.endswith(", equal at both ends\n"), "no folder is named"


def test_keys_are_written_and_read_again() -> None:
    assert keys.invitation(
        f" {keys.written(bytes(range(48))).upper()[:40]} {keys.written(bytes(range(48)))[40:]}"
    ) == bytes(range(48))
    with pytest.raises(TailbackError, match="--only"):
        keys.public(keys.written(bytes(48)))
    for typed in ("é", "1", ""):  # No ASCII, no base32, too short.
        with pytest.raises(TailbackError, match="--key"):
            keys.invitation(typed)


def test_a_path_that_carries_other_packets_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    seen = Seen()
    said = {"phase": "moving", "done": 1, "total": 2, "rtt_seconds": None}
    for packet in (None, 1500, 1500, None, 1420, 1420, None, 1500):
        seen.hear(json.dumps(said | {"packet_bytes": packet}))
    shorter = "the path carries shorter packets now: at most 1,420 bytes each, and 1,500 before\n"
    longer = "the path carries longer packets again: at most 1,500 bytes each, and 1,420 before\n"
    assert capsys.readouterr() == ("", shorter + longer)
