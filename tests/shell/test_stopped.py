"""A shell that is killed, ended or interrupted leaves nothing behind."""

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.processes import LONG, await_that, having
from tests.shell.shells import SHELL


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_stays_behind(number: signal.Signals, tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    begun = tmp_path / "begun"
    script = f"sh -c 'sleep 1000; echo {mark}' & echo > {begun}; sleep 1000; echo {mark}"
    interfaces = set(os.listdir("/sys/class/net"))
    with subprocess.Popen([*SHELL, "--rate", "1 Mbit/s", "--no-outside", "--", "sh", "-c", script]) as running:
        await_that(begun.exists)
        assert len(having(mark)) >= 3, "the script, its child, and what started them"
        running.send_signal(number)
        status = running.wait(LONG)
    assert status == (-9 if number == signal.SIGKILL else 143)
    await_that(lambda: not having(mark))
    assert set(os.listdir("/sys/class/net")) == interfaces


INTERRUPT = "import os, signal; signal.signal(signal.SIGINT, signal.SIG_IGN); os.killpg(0, signal.SIGINT)"
"""What a terminal does at Ctrl-C: all processes of the group hear it, but for this one."""
UNSHARE = """#!{python}
import os, signal, sys
if "tailback" in " ".join(sys.argv):
    os.killpg(0, signal.SIGINT)  # It waits here too, as it does for who starts this.
os.execv("{unshare}", sys.argv)
"""
PART = """
import os, signal
import tailback as tb
if os.getpid() == 1:  # The process in the namespaces; the one that starts it reads this file, too.
    os.killpg(0, signal.SIGINT)

class Mine(tb.QueueDiscipline):
    def enqueue(self, now, packet, cx):
        cx.drop(packet)

    def dequeue(self, now, cx):
        return None
"""
LISTENER = (
    INTERRUPT
    + """; import socket, sys, time
sys.stderr.write("heard and not heeded"); socket.create_server(("0.0.0.0", 5001)); time.sleep(1000)"""
)


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize("when", ["before the namespaces", "in them", "while the server starts"])
def test_an_interrupt_before_the_command_begins_ends_it(when: str, tmp_path: Path) -> None:
    """Nothing here depends on who is quicker: the interrupt comes from what runs at that moment."""
    begun, found = tmp_path / "begun", os.environ["PATH"]
    options = ["--rate", "1 Mbit/s"]
    if when == "while the server starts":
        options += ["--server", shlex.join([sys.executable, "-c", LISTENER])]
    else:
        options += ["--no-outside"]
    if when == "in them":
        (tmp_path / "mine.py").write_text(PART, encoding="utf-8")
        options += ["--custom", str(tmp_path / "mine.py"), "--queue", "mine"]
    if when == "before the namespaces":
        instead = tmp_path / "unshare"
        instead.write_text(UNSHARE.format(python=sys.executable, unshare=shutil.which("unshare")))
        instead.chmod(0o755)
        found = f"{tmp_path}:{found}"
    ended = subprocess.run(
        [*SHELL, *options, "--", "touch", str(begun)],
        env={**os.environ, "PATH": found},
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG,
        start_new_session=True,
    )
    said = ended.stderr.removeprefix("heard and not heeded")
    assert (ended.returncode, said) == (130, "tailback: stopped\n")
    assert not begun.exists()


def test_the_network_of_the_test_is_as_before() -> None:
    assert not [name for _, name in socket.if_nameindex() if name.startswith("tailback")]
