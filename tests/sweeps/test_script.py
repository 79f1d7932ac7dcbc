"""A sweep in a script of a few lines: no guard against its own workers, a controller beside it, and nothing but failures."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import polars as pl
import pytest

import tailback as tb
from tailback.custom import shipping
from tests.custom.custom_parts import Aimd

SCRIPT = """
    import tailback as tb

    class Steady(tb.Controller):
        def on_feedback(self, now, feedback, cx):
            pass

        def directive(self):
            return tb.Directive(window=WINDOW)

    WINDOW = 8000
    print("once")
    base = tb.dumbbell(rate="8 Mbit/s", delay="20 ms", duration="3 s").with_flows(tb.flows(1, "reno"))
    runs = base.sweep(scheme=["reno", Steady.scheme()], seeds=2, jobs=2, cache=False)
    assert runs.failed.is_empty(), runs.failed["error"][0]
    print(round(runs.select(scheme="steady").table["goodput"][0] / 1e3))
"""


def test_a_script_needs_no_guard_and_brings_its_custom_parts(tmp_path: Path) -> None:
    script = tmp_path / "sweep.py"
    script.write_text(textwrap.dedent(SCRIPT), encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    said, goodput = done.stdout.split()
    assert said == "once", "workers do not run the script"
    assert 1000 < int(goodput) < 1600, "8000 bytes in flight over 40 to 50 ms"


MODULE = """
    import os
    import tailback as tb

    DEPTH = int(os.environ.get("DEPTH", "0"))
    assert DEPTH < 2, "workers of workers"
    os.environ["DEPTH"] = str(DEPTH + 1)

    class Steady(tb.Controller):
        def on_feedback(self, now, feedback, cx):
            pass

        def directive(self):
            return tb.Directive(window=8000)

    base = tb.dumbbell(rate="8 Mbit/s", delay="20 ms", duration="1 s").with_flows(tb.flows(1, "reno"))
"""
OWN = """
    runs = base.sweep(scheme=["reno", Steady.scheme()], seeds=2, jobs=2, cache=False)
"""
GIVEN = """
    import concurrent.futures
    import multiprocessing

    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        runs = base.sweep(scheme=["reno", Steady.scheme()], seeds=2, executor=executor, cache=False)
"""


@pytest.mark.parametrize("pool", [OWN, GIVEN], ids=["own", "given"])
def test_a_module_that_sweeps_where_it_is_imported_makes_no_workers_of_workers(tmp_path: Path, pool: str) -> None:
    """Each of them would import it, and so begin the sweep again: hundreds of processes within a minute. Those of somebody
    else's executor, such as a cluster's, would too."""
    (tmp_path / "lab.py").write_text(textwrap.dedent(MODULE + pool), encoding="utf-8")
    script = "import lab; print(lab.runs.failed['scheme'].to_list()); print(*lab.runs.failed['error'])"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    failed, error = done.stdout.splitlines()
    assert failed == "['steady', 'steady']"
    assert error.startswith("a sweep began in a worker of another sweep, which imports the module of a class")


def test_a_class_whose_module_makes_a_cluster_fails_with_where_to_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask's workers may have no children: the error was Dask's own, which says nothing of the class."""
    (tmp_path / "clustered.py").write_text("raise RuntimeError('Nanny failed to start.')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    pickled = b"cclustered\nSteady\n."  # By reference: the module's name and the class's.
    shipped = shipping.Shipped(("scheme", "clustered-steady"), pickled, "digest", {})
    with pytest.raises(tb.PartError) as caught:
        shipping.receive((shipped,))
    said = str(caught.value)
    assert said.startswith("clustered-steady: cannot be made again in another process, which imports its module (")
    assert 'belongs below `if __name__ == "__main__":`)' in said
    assert "clustered.py, line 1" in said
    assert "RuntimeError: Nanny failed to start." in said


class Broken(Aimd):
    """Fails at once."""

    def directive(self) -> tb.Directive:
        """Not allowed."""
        return tb.Directive(window=-1)


def test_where_all_runs_fail_the_tables_are_there_and_say_so(tmp_path: Path) -> None:
    base = tb.dumbbell(rate="8 Mbit/s", delay="20 ms", duration="3 s").with_flows(tb.flows(1, "reno"))
    runs = base.sweep(buffer=["10 packets", "20 packets"], scheme=[Broken.scheme()], seeds=2, jobs=1, cache=False)
    assert runs.failed.height == len(runs) == 4
    assert runs.summary().select("runs", "failed").rows() == [(0, 2), (0, 2)]
    assert runs.summary(by="group").is_empty()
    assert runs.compare("buffer")["difference"].null_count() == runs.compare("buffer").height > 0
    assert {"flow", "group", "goodput"} <= set(runs.flows.columns)
    runs.save(tmp_path / "failed")
    loaded = tb.Runs.load(tmp_path / "failed")
    assert loaded.failed["error"].str.contains("window: -1 is not allowed").all()
    assert loaded.table.schema["goodput"] == pl.Float64
