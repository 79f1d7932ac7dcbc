"""How commands end from outside: interrupts, readers that have gone, and full disks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tailback import cli
from tests.cli.command import SCENARIO


def test_an_interrupt_that_a_library_takes_for_a_mistake_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tailback import __main__ as entry

    def interrupted() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt as stopped:
            raise ValueError("no such schema") from stopped

    ended: list[int] = []

    def end(status: int) -> None:
        ended.append(status)
        raise SystemExit(status)

    monkeypatch.setattr(cli, "main", interrupted)
    monkeypatch.setattr("tailback.__main__.atexit._run_exitfuncs", lambda: None)
    monkeypatch.setattr("tailback.__main__.os._exit", end)
    # Whoever started the tests in the background may have had interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit):
            entry.main()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert ended == [130]
    assert capsys.readouterr().err == "tailback: stopped\n"


def test_nothing_is_imported_before_interrupts_are_heard() -> None:
    """Whoever stopped a command in its first 50 ms got Python's traceback: so long took what is imported before ``main``."""
    code = "import sys; had = set(sys.modules); import tailback.__main__; print(*(set(sys.modules) - had))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"tailback", "tailback.__main__", "__future__", "atexit", "gc"}


@pytest.mark.parametrize("import_", [1, 10, 100])
def test_an_interrupt_while_something_is_imported_is_told(import_: int) -> None:
    code = (
        "import signal, sys\n"
        "from tailback.__main__ import main\n"
        "for name in ('signal', 'enum', 'typing', 'threading'):\n"  # What this very script has imported.
        "    sys.modules.pop(name, None)\n"
        "seen = []\n"
        "def hear(event, arguments, stop=signal.raise_signal):\n"
        "    if event == 'import':\n"
        "        seen.append(event)\n"
        f"        if len(seen) == {import_}:\n"
        "            stop(2)\n"
        "sys.addaudithook(hear)\n"
        "sys.argv = ['tailback', 'schemes']\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (130, "tailback: stopped\n", "")


def test_an_interrupt_that_nothing_raises_is_heard_again() -> None:
    """Python calls back while it imports; what is raised there is printed, and the command went on to its end."""
    code = (
        "import signal, time, weakref\n"
        "from tailback import cli\n"
        "from tailback.__main__ import main\n"
        "def begin():\n"
        "    thing = type('Thing', (), {})()\n"
        "    reference = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))\n"
        "    del thing\n"
        "    time.sleep(60)\n"
        "cli.main = begin\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (130, "tailback: stopped\n")


@pytest.mark.parametrize("words", [("run", "long.toml"), ("sweep", "long.toml", "--seeds", "9", "--jobs", "1")])
def test_stopping_is_told(here: Path, words: tuple[str, ...]) -> None:
    (here / "long.toml").write_text(SCENARIO.replace('"5 s"', '"10000 s"'))
    # As the terminal's interrupt would, once the simulation is under way.
    code = (
        "import signal, sys, threading\n"
        "from tailback import _core, cli\n"
        "run = _core.run\n"
        "def begun(*given, **named):\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    return run(*given, **named)\n"
        "_core.run = begun\n"
        f"sys.argv = {['tailback', *words]!r}\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr.startswith("tailback: stopped; ")
    assert done.stderr.count("\n") == 1
    assert not (here / "out").exists()


@pytest.mark.parametrize(
    "words", [["schemes"], ["fields", "--json"], ["--help"], ["run", "--help"], ["run", "small.toml", "--no-plot"]]
)
def test_whoever_stops_reading_ends_a_command_in_silence(here: Path, words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as unread:
        command = [sys.executable, "-m", "tailback", *words]
        done = subprocess.run(command, cwd=here, stdout=unread, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")
    assert (here / "out" / "small-seed-1").is_dir() == (words[0] == "run" and "--help" not in words)


def test_another_pipe_that_breaks_is_no_reader_who_has_gone(here: Path) -> None:
    code = (
        "import os, sys; from tailback import cli; from tailback.commands import registry\n"
        "def broken(*given, **named):\n"
        "    reader, writer = os.pipe()\n"
        "    os.close(reader)\n"
        "    os.write(writer, b'?')\n"
        "registry.show = broken\n"
        "sys.argv = ['tailback', 'schemes']\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "BrokenPipeError" in done.stderr
    assert "a pipe broke that is not standard output" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_behind_standard_output_is_one_message() -> None:
    for words in (["schemes"], ["queues", "--json"], ["--help"]):
        with Path("/dev/full").open("w") as full:
            command = [sys.executable, "-m", "tailback", *words]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, "tailback: standard output: No space left on device\n")
