"""A sweep killed in the middle loses nothing that was finished, leaves no process behind, and goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

SCRIPT = """
    import sys
    import tailback as tb

    if __name__ == "__main__":
        base = tb.dumbbell(rate="20 Mbit/s", delay="10 ms", duration="15 s").with_flows(tb.flows(8, "reno"))
        told = lambda done, of: print(done, flush=True)
        base.sweep(buffer=["20 packets", "40 packets"], seeds=20, jobs=2, cache=sys.argv[1], progress=told)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no way to kill a process here")
def test_a_killed_sweep_goes_on(tmp_path: Path) -> None:
    script, cache = tmp_path / "sweep.py", tmp_path / "runs"
    script.write_text(textwrap.dedent(SCRIPT), encoding="utf-8")
    command = [sys.executable, str(script), str(cache)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= 5:
                break
        process.kill()
        process.wait()
    records = sorted(cache.rglob("*.json"))
    assert 5 <= len(records) < 40
    before = {record: record.stat().st_mtime_ns for record in records}
    _wait_until_gone(process.pid)
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert int(done.stdout.split()[-1]) == 40
    assert len(done.stdout.split()) == 40 - len(records), "only the rest was made"
    assert len(list(cache.rglob("*.json"))) == 40
    assert all(record.stat().st_mtime_ns == when for record, when in before.items())


INTERRUPTED = """
    import sys
    import tailback as tb

    if __name__ == "__main__":
        base = tb.dumbbell(rate="20 Mbit/s", delay="10 ms").with_flows(tb.flows(8, "reno"))
        told = lambda done, of: print(done, flush=True)
        # Two runs are done at once, the two others would take many minutes.
        base = base.replace(record={"flows": "none", "links": "none", "bin": "1 h"})
        base.sweep(duration=["1 s", "2 s", "8000 h", "8001 h"], jobs=2, cache=sys.argv[1], progress=told)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signals here")
def test_an_interrupt_ends_a_sweep_at_once(tmp_path: Path) -> None:
    script, cache = tmp_path / "sweep.py", tmp_path / "runs"
    script.write_text(textwrap.dedent(INTERRUPTED), encoding="utf-8")
    command = [sys.executable, str(script), str(cache)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == 2:
                break
        process.send_signal(signal.SIGINT)  # To the process alone: nobody tells its workers.
        process.communicate(timeout=60)
    assert process.returncode != 0
    assert len(list(cache.rglob("*.json"))) == 2, "what was finished is kept"
    _wait_until_gone(process.pid)


SLOW = """
    import signal, sys, threading
    import polars  # Whose handler of signals lets interrupted system calls go on.
    from tailback.pool import Pool

    if __name__ == "__main__":
        threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
        try:
            Pool(2, preload=["slow_to_import"]).executor
        except KeyboardInterrupt:
            print("stopped", flush=True)
"""
IMPORTED = """
    import pathlib, time
    time.sleep(3)
    pathlib.Path("imported").touch()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signals here")
def test_an_interrupt_does_not_wait_for_workers_to_import(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(textwrap.dedent(SLOW), encoding="utf-8")
    (tmp_path / "slow_to_import.py").write_text(textwrap.dedent(IMPORTED), encoding="utf-8")
    command = [sys.executable, "script.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "stopped\n"
        assert not (tmp_path / "imported").exists()
        process.kill()


def _wait_until_gone(group: int) -> None:
    """No worker outlives the process that made it by more than some seconds."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("workers live on after the sweep was killed")
