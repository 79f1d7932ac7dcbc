"""A process that was forked from one that had made tables says so; it never waits for threads that did not come along."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

CODE = """
    import multiprocessing, os, sys
    import tailback as tb

    BASE = tb.dumbbell(rate="1 Mbit/s", delay="5 ms", duration="1 s", flows=[tb.flows(1, "reno")])

    def run(seed):
        try:
            return BASE.run(seed=seed).hash
        except tb.TailbackError as error:
            return str(error)

    if __name__ == "__main__":
        if sys.argv[1] == "after a run":
            BASE.run(seed=1)
        with multiprocessing.get_context(sys.argv[2]).Pool(1) as pool:
            print(pool.map_async(run, [1]).get(timeout=60)[0])
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks as Linux does")
@pytest.mark.parametrize(
    ("when", "method", "told"),
    [
        ("after a run", "fork", "this process was forked from one that had made tables"),
        ("before any", "fork", ""),
        ("after a run", "forkserver", ""),
    ],
)
def test_forks(when: str, method: str, told: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    script = tmp_path_factory.mktemp("fork") / "script.py"
    script.write_text(textwrap.dedent(CODE), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), when, method], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith(told) if told else len(done.stdout.strip()) == 32, done.stdout
