"""Scenarios that would fill memory: each is one complaint that names the field, and the process lives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from typing import Any

import pytest

import tailback as tb
from tailback import memory

resource = pytest.importorskip("resource")

SMALL = {"rate": "10 Mbit/s", "delay": "5 ms", "duration": "1 s"}
GREEDY: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    # Bins ahead of time: the end of a transmission that lies hours ahead.
    (
        {"rate": "1 bit/s", "buffer": "unlimited", "record": {"accumulation": True, "bin": "1 ms"}},
        {"count": 1, "scheme": "reno"},
        "",
    ),
    (
        {},
        {"count": 1000, "scheme": "reno", "transport": {"initial_window": "1048576 packets"}},
        "flows[0].transport.initial_window",
    ),
    (
        {},
        {"count": 100, "scheme": {"name": "fixed-window", "window": "16777216 packets"}},
        "flows[0].scheme.window",
    ),
    ({"duration": "100000 s", "record": {"bin": "10 ms"}}, {"count": 1000, "scheme": "reno"}, "record.bin"),
    (
        {"rate": "100 Mbit/s", "buffer": "unlimited", "duration": "1000 s"},
        {
            "count": 1,
            "scheme": {"name": "fixed-rate", "rate": "90 Gbit/s"},
            "source": {"name": "datagrams", "rate": "90 Gbit/s", "size": {"name": "constant", "value": "100 B"}},
        },
        "buffer",
    ),
    (
        {"rate": "90 Gbit/s", "duration": "1000 s", "record": {"packets": True}},
        {"count": 1, "scheme": {"name": "fixed-window", "window": "100000 packets"}},
        "record.packets",
    ),
]
LIMIT = 4 * 2**30


@pytest.mark.parametrize(("fields", "flows", "field"), GREEDY, ids=[each[2] or "accumulation" for each in GREEDY])
def test_too_much_is_one_complaint_under_an_address_limit(
    fields: dict[str, Any], flows: dict[str, Any], field: str
) -> None:
    # What grows while it runs would take minutes to reach the default.
    most = "120 MB" if field in {"buffer", "record.packets"} else ""
    code = """
        import json, resource, sys
        resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]), int(sys.argv[2])))
        import tailback as tb
        fields, flows = json.loads(sys.argv[1])
        scenario = tb.dumbbell(**fields, flows=[tb.flows(flows.pop("count"), flows.pop("scheme"), **flows)])
        try:
            print("ran", scenario.run().events > 0)
        except tb.ScenarioError as error:
            (problem,) = error.problems
            print(problem.field, "|", problem)
    """
    asked = json.dumps([{**SMALL, **fields}, flows])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), asked, str(LIMIT)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TAILBACK_MEMORY": most},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    if field:
        assert field in done.stdout.split("|")[0], done.stdout
        assert "a run may take" in done.stdout
    else:
        assert done.stdout == "ran True\n"


def test_what_was_asked_for_is_obeyed(dumbbell: tb.Scenario) -> None:
    logged = dumbbell.replace(packets=True)
    assert logged.run(memory="1 GB").hash == logged.run().hash
    with pytest.raises(tb.ScenarioError, match=r"record\.packets.*a run may take 2\.0 MB"):
        logged.run(memory="2 MB")
    runs = logged.sweep(seeds=2, jobs=1, cache=False, memory=2 * 10**6)
    assert runs.failed.height == 2


def test_budgets_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("ten", "5 s", 0, -3, "1 Mbit/s"):
        with pytest.raises(tb.ArgumentError, match='an amount of memory, as in "4 GB"'):
            memory.budget(wrong)
    monkeypatch.setenv("TAILBACK_MEMORY", "3 GB")
    assert memory.budget() == 3 * 10**9
    assert memory.budget("1 GiB") == 2**30
    monkeypatch.setenv("TAILBACK_MEMORY", "")
    assert 10**8 < memory.budget() < 10**14


LONG = """
import resource, sys
import tailback as tb

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

def run(duration):
    flow = tb.flows(1, {"name": "fixed-rate", "rate": "20 kbit/s"}, name="slow")
    link = {"rate": "1 Mbit/s", "delay": "5 ms", "duration": duration}
    return tb.dumbbell(**link, flows=[flow], record={"bin": "10 ms", "flows": "all", "links": "main"}).run()

run("1 s")
before = peak()
result = run("3000 s")
columns = result.flow_series.estimated_size() + result.link_series.estimated_size()
print((peak() - before) / columns, columns / 2**20)
"""


def test_a_long_run_takes_little_more_memory_than_its_columns() -> None:
    done = subprocess.run([sys.executable, "-c", LONG], capture_output=True, text=True, check=True)
    ratio, mebibytes = map(float, done.stdout.split())
    assert mebibytes > 50.0
    # A whole copy of the columns would make it 1.9.
    assert ratio < 1.35


def test_a_budget_that_allows_no_run_is_complained_of_itself() -> None:
    with pytest.raises(tb.ScenarioError, match=r"memory: 1\.0 kB is not allowed; expected at least 1\.0 MB"):
        tb.dumbbell(**SMALL, flows=[tb.flows(2, "reno")]).run(memory="1 kB")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system's own allocator decides")
@pytest.mark.parametrize(("said", "found"), [(None, 10), ("77", 77)])
def test_freed_memory_goes_back_soon_unless_the_user_says_when(said: str | None, found: int) -> None:
    """The option is known by its number alone: that the environment's value comes back proves that it is the right one."""
    environment = {name: value for name, value in os.environ.items() if name != "MIMALLOC_PURGE_DELAY"}
    if said is not None:
        environment["MIMALLOC_PURGE_DELAY"] = said
    line = "from tailback import _core; print(_core.purge_delay())"
    told = subprocess.run([sys.executable, "-c", line], env=environment, capture_output=True, text=True, check=True)
    assert int(told.stdout) == found
