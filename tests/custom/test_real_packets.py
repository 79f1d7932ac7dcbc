"""Custom parts that carry real packets in the lab, where the system lets a test make namespaces. What they do is what they do in
the simulator, and what they do wrong is told in the same words."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tailback as tb
from tailback.lab import run
from tests.custom import real_parts
from tests.custom.custom_parts import Aimd, Fifo
from tests.custom.real_runs import COMMAND, LOOSE, dumbbell, file_of
from tests.processes import LONG, await_that, having
from tests.undisturbed import undisturbed, without_time_out

PARTS = Path(real_parts.__file__)


def bottleneck(result: tb.Result) -> dict[str, Any]:
    """The row of the link where packets wait."""
    return result.links.row(by_predicate=pl.col("link") == result.bottleneck, named=True)


# --- what they do ---


@pytest.mark.usefixtures("able")
def test_a_class_does_with_real_packets_what_the_same_scheme_does_in_the_simulator() -> None:
    """The law alone differs between window schemes, so a class that were not asked would be found out by another one's window:
    with a decrease to 0.9 the queue is hardly ever empty."""
    real, simulated = {}, {}
    for decrease in (0.5, 0.9):
        scheme = Aimd.scheme(decrease=decrease)
        scenario = dumbbell(scheme, "6 s").replace(warm_up="2 s")
        real[decrease] = undisturbed(partial(run, scenario, budget=LOOSE), without_time_out)
        simulated[decrease] = dumbbell("sack" if decrease == 0.5 else scheme, "6 s").replace(warm_up="2 s").run()
    for decrease, result in real.items():
        assert result.flows["scheme"].to_list() == ["aimd"]
        assert result.real["calls"]["packets"] > 1000, "one for each acknowledgement, at least"
        was, is_ = bottleneck(simulated[decrease]), bottleneck(result)
        assert was["throughput"] > 9e6, "no time-out there, either"
        # The bound of comparisons of shares; queues differ by what hosts take.
        assert is_["throughput"] == pytest.approx(was["throughput"], rel=0.10)
        assert is_["mean_queue"] == pytest.approx(was["mean_queue"], abs=3)
    low, high = (bottleneck(real[decrease])["mean_queue"] for decrease in (0.5, 0.9))
    assert high > low + 3


@pytest.mark.usefixtures("able")
def test_a_receivers_policy_reports_over_real_packets() -> None:
    result = undisturbed(lambda: run(dumbbell(real_parts.Told.scheme()), budget=LOOSE))
    # 0.8 Mbit/s without reports.
    assert result.flows["throughput"].item() == pytest.approx(4e6, rel=0.1)


@pytest.mark.usefixtures("able")
def test_a_queue_in_python_is_the_routers() -> None:
    result = undisturbed(lambda: run(dumbbell("sack", queue=Fifo.queue()), budget=LOOSE), without_time_out)
    link = bottleneck(result)
    assert link["utilization"] > 0.8
    assert link["dropped_packets"] > 0, "it is full now and then"
    assert result.real["calls"]["packets"] > 2 * 800, "each packet comes and goes"


@pytest.mark.usefixtures("able")
def test_a_class_that_is_slow_is_late_and_the_run_does_not_count() -> None:
    result = run(dumbbell(real_parts.Slow.scheme()), budget="0.2 ms, 1 ms")
    assert not result.real["valid"]
    said = "calls of custom parts came back "
    late = [reason.removeprefix(said) for reason in result.real["reasons"] if reason.startswith(said)]
    calls = result.real["calls"]
    assert 0.003 < calls["p50_seconds"] <= calls["p99_seconds"]
    for reason, which in zip(late, ("p50_seconds", "p99_seconds"), strict=True):
        value, unit, *_ = reason.split()
        assert unit == "ms"
        assert float(value) == pytest.approx(1000 * calls[which], rel=0.01)


# --- what goes wrong ---


def parts() -> list[Any]:
    """Scenarios with parts that fail."""
    ways = ["init", "raise", "exit", "answer", "negative", "type"]
    made = [pytest.param(dumbbell(real_parts.Failing.scheme(how=how)), id=how) for how in ways]
    made.append(pytest.param(dumbbell(real_parts.Reported.scheme()), id="policy"))
    return [*made, pytest.param(dumbbell("sack", queue=real_parts.Twice.queue()), id="queue")]


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize("scenario", parts())
def test_a_part_that_fails_ends_the_run_with_the_simulators_words(scenario: tb.Scenario) -> None:
    with pytest.raises(tb.PartError) as simulated:
        scenario.run()
    began = time.monotonic()
    with pytest.raises(tb.PartError) as real:
        run(scenario.replace(duration="60 s"), budget=LOOSE)
    assert time.monotonic() - began < LONG / 2, "at once"
    assert str(real.value) == str(simulated.value)


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (
            dumbbell(real_parts.Failing.scheme(how="loop")),
            "Failing.on_feedback has not come back for 1 s (TAILBACK_CALL",
        ),
        (
            dumbbell(real_parts.Failing.scheme(how="sleep")),
            "Failing.on_feedback has not come back for 1 s and cannot be",
        ),
        (dumbbell("sack", queue=real_parts.Asleep.queue()), "Asleep.dequeue has not come back for 1 s and cannot be"),
    ],
    ids=["loop", "sleep", "queue"],
)
def test_a_part_that_does_not_come_back_is_told(
    scenario: tb.Scenario, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAILBACK_CALL_LIMIT", "1")
    with pytest.raises(tb.PartError) as caught:
        run(scenario, budget=LOOSE)
    assert said in str(caught.value)
    assert "real_parts.py, line" in str(caught.value)


@pytest.mark.usefixtures("able")
def test_a_part_that_does_not_come_back_keeps_nothing_alive(tmp_path: Path) -> None:
    """Two commands of which one is killed and the other is interrupted, at once: the parts of both must hang before."""
    ends = {signal.SIGKILL: -9, signal.SIGINT: 130}
    temporary = {number: tmp_path / number.name for number in ends}
    with ExitStack() as entered:
        running = {}
        for number, folder in temporary.items():
            folder.mkdir()
            here = {
                **os.environ,
                "TMPDIR": str(folder),
                "TAILBACK_CALL_LIMIT": "0",
                "PYTHONPATH": str(PARTS.parents[2]),
            }
            words = [*COMMAND, "lab", str(file_of(tmp_path)), "--custom", str(PARTS), "--set", "queue=asleep"]
            words += ["--out", str(tmp_path / "out" / str(number.value))]
            running[number] = entered.enter_context(
                subprocess.Popen(words, stderr=subprocess.PIPE, env=here, text=True)
            )
        for folder in temporary.values():
            await_that(partial(having, folder))
        # Until the parts hang: the runs themselves would be over after this.
        time.sleep(4)
        for number, one in running.items():
            assert having(temporary[number])
            one.send_signal(number)
            assert one.wait(LONG) == ends[number]
    await_that(lambda: not any(map(having, temporary.values())))
    assert [list(folder.iterdir()) for folder in temporary.values()] == [[], []]
    assert list((tmp_path / "out").rglob("*")) == []


@pytest.mark.usefixtures("able")
def test_a_part_that_fails_when_nobody_waits_any_more_leaves_no_folder(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    here = {**os.environ, "TMPDIR": str(temporary), "TAILBACK_CALL_LIMIT": "2", "PYTHONPATH": str(PARTS.parents[2])}
    words = [*COMMAND, "lab", str(file_of(tmp_path)), "--custom", str(PARTS), "--set", "queue=asleep"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, env=here, text=True) as running:
        await_that(lambda: having(temporary))
        time.sleep(1)
        running.kill()
    await_that(lambda: not having(temporary))
    assert list(temporary.iterdir()) == []
