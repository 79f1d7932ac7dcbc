"""A server at the far end of the shell's link: what becomes of one that fails, ends early or serves to the end."""

import shlex
import sys
from pathlib import Path

import pytest

import tailback as tb
from tests.shell.shells import shell


@pytest.mark.usefixtures("able")
def test_a_server_that_cannot_be_started_is_named() -> None:
    ended = shell("--rate", "1 Mbit/s", "--server", "no-such-server -s", "--", "true")
    said = "tailback: the server no-such-server cannot be started: No such file or directory\n"
    assert (ended.returncode, ended.stderr) == (1, said)


@pytest.mark.usefixtures("able")
def test_a_server_that_fails_at_once_is_told_and_the_command_does_not_begin(tmp_path: Path) -> None:
    server = "sh -c 'echo no port for me >&2; exit 3'"
    ended = shell("--rate", "1 Mbit/s", "--server", server, "--", "touch", str(tmp_path / "begun"))
    said = ended.stderr.splitlines()
    assert (ended.returncode, said[0], said[-1]) == (1, "no port for me", "no port for me"), said
    assert said[1].startswith("tailback: the server `sh -c ")
    assert said[1].endswith("` ended with status 3 before it could serve:")
    assert not (tmp_path / "begun").exists()


DYING = """
import socket, sys
listener = socket.create_server(("0.0.0.0", 5001))
print("on standard output", flush=True)
connection, _ = listener.accept()
connection.recv(1)
sys.exit("one client was enough")
"""


@pytest.mark.usefixtures("able")
def test_a_server_that_ends_before_the_command_is_told_with_its_last_words(tmp_path: Path) -> None:
    record = tmp_path / "result"
    link = ["--rate", "1 Mbit/s", "--server", shlex.join([sys.executable, "-c", DYING]), "--record", str(record)]
    talk = (
        "import os, socket; s = socket.create_connection((os.environ['TAILBACK_FAR'], 5001)); s.send(b'x'); s.recv(1)"
    )
    ended = shell(*link, "--", sys.executable, "-c", f"{talk}; import time; time.sleep(0.3); print('mine')")
    assert (ended.returncode, ended.stdout) == (0, "mine\n"), "standard output is the command's"
    assert "on standard output" in ended.stderr
    told = "  the server ended with status 1 before the command did, and said last:\n    one client was enough\n"
    assert told in ended.stderr
    result = tb.load(record)
    assert isinstance(result, tb.Result)
    assert result.real["server"] == {"status": 1, "said": ["one client was enough"]}


@pytest.mark.usefixtures("able")
def test_a_server_that_serves_to_the_end_is_no_news(files: dict[str, str]) -> None:
    link = ["--rate", "10 Mbit/s", "--server", f"{sys.executable} {files['server']}"]
    ended = shell(*link, "--", sys.executable, files["client"], "1000")
    assert (ended.returncode, "server" in ended.stderr) == (0, False), ended.stderr
