"""What tests of transfers share: a user without keys, a file to send, and receivers in processes of their own. No tests."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "tailback"]
LONG = 60
"""Seconds; only a hang gets there."""


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment in which the user has no keys yet."""
    return {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")}


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """A file that does not fit into any buffer."""
    path = tmp_path / "film"
    path.write_bytes(os.urandom(1 << 20) * 6)
    return path


def run(home: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """What becomes of a command with these words."""
    return subprocess.run([*COMMAND, *words], env=home, text=True, capture_output=True, timeout=LONG, check=False)


def heeding() -> None:
    """Makes a process heed the signals that end it, also where the tests themselves run by ``nohup`` or behind a shell."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


class Waiting:
    """A receiver, and the command that it printed."""

    def __init__(self, folder: Path, home: dict[str, str], *words: str, limit: Callable[[], None] = heeding) -> None:
        address = ["--address", "127.0.0.1", "--port", "0"]
        self.process = subprocess.Popen(
            [*COMMAND, "recv", str(folder), *address, *words],
            env=home,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=limit,  # noqa: PLW1509 (nothing else runs in this process)
        )
        assert self.process.stderr is not None
        said = self.process.stderr.readline()
        found = re.search(r"send FILE (\S+) (?:--key (\S+)|--plaintext)", said)
        assert found, said
        self.host, self.key = found[1], found[2]

    def send(self, home: dict[str, str], file: Path, *words: str) -> subprocess.CompletedProcess[str]:
        """What becomes of the command with this file."""
        key = ["--key", self.key] if self.key else ["--plaintext"]
        return run(home, "send", str(file), self.host, *key, *words)

    def end(self) -> tuple[int, str, str]:
        """Status, output and errors, when it is over."""
        out, err = self.process.communicate(timeout=LONG)
        return self.process.returncode, out, err
