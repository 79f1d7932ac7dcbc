"""The ledger, its items, and what ``tailback reproduce`` makes of them."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import tailback as tb
from tailback import cli, processes
from tailback.analysis import mm1n
from tailback.papers import finished, ledger, reproduce
from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter, Refutation
from tailback.papers.lab import Lab
from tailback.papers.mtsc import fig_5
from tailback.papers.pcc import eq_1
from tailback.pool import Pool
from tailback.progress import Bar
from tailback.report import write_report

KEYS = ("id", "fidelity", "wall_s", "runs", "holds", "verdict", "test", "changed", "refuted",
        "published", "measured", "why", "figure", "data")  # fmt: skip
BUILT = [claim for claim in ledger.claims() if claim.built]


def test_ledger_is_complete() -> None:
    assert len(ledger.claims()) == len({claim.id for claim in ledger.claims()}) == 73
    papers = {paper.id for paper in ledger.papers()}
    for claim in ledger.claims():
        assert claim.paper in papers
        assert claim.title
        assert claim.source
        assert claim.setup
        assert claim.holds
        assert claim.measure
    assert {"mtsc/fig-5", "pcc/eq-1"} <= {claim.id for claim in BUILT}


@pytest.mark.parametrize("claim", BUILT, ids=lambda claim: claim.id)
def test_every_parameter_says_where_it_comes_from(claim: ledger.Claim) -> None:
    for fidelity in ("quick", "full"):
        parameters = claim.item().parameters(fidelity)
        assert parameters
        for parameter in parameters:
            assert parameter.origin in {"stated", "inferred"}
            assert parameter.why, parameter.name


def test_selects_by_id_paper_and_all() -> None:
    assert [claim.id for claim in ledger.select(["pcc/eq-1"])] == ["pcc/eq-1"]
    assert [claim.id for claim in ledger.select(["all"])] == [claim.id for claim in BUILT]
    assert all(claim.paper == "mtsc" for claim in ledger.select(["mtsc"]))
    assert len(ledger.select(["pcc", "pcc/eq-1"])) == len(ledger.select(["pcc"]))


def test_mm1n_scenario_is_the_queue_of_theory() -> None:
    run = fig_5.Run(load=0.9, packets=200_000, seed=1)
    counted = fig_5.simulate(run)
    exact = mm1n(0.9, fig_5.PLACES)
    assert counted.offered == pytest.approx(200_000, rel=0.01)
    assert counted.dropped / counted.offered == pytest.approx(exact.loss[0], rel=0.05)
    assert counted.busy == pytest.approx(exact.throughput[0], rel=0.01)


def test_eq_1_loses_only_by_chance() -> None:
    seen = eq_1.simulate(eq_1.Run(loss=0.01, seconds=30, seed=1))
    assert seen.loss == pytest.approx(0.01, rel=0.1)
    assert seen.utilization < 0.8
    assert seen.rtt == pytest.approx(eq_1.RTT, rel=0.02)


def test_json_has_exactly_the_keys_of_the_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eq_1, "_effort", lambda _: (20, 2))
    out = tmp_path / "report"
    result = CliRunner().invoke(cli.app, ["reproduce", "pcc/eq-1", "--json", "--jobs", "1", "--out", str(out)])
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert tuple(found) == KEYS
    assert found["id"] == "pcc/eq-1"
    assert found["fidelity"] == "quick"
    assert found["runs"] == 10
    assert found["holds"] is True
    assert (found["verdict"], found["test"], found["changed"], found["refuted"]) == ("holds", "ledger", None, None)
    assert set(found["measured"]) == {"ratio"}
    assert set(found["measured"]["ratio"]) == {"0.001", "0.005", "0.01", "0.02", "0.05"}
    figure = Path(found["figure"]).read_text()
    assert figure.count("<svg") == 1
    data = pl.read_parquet(found["data"])
    assert data["ratio"].to_list() == list(found["measured"]["ratio"].values())
    assert Path(found["data"]).with_suffix(".csv").exists()
    page = (out / "index.html").read_text()
    check_page(page)
    for word in ("pcc/eq-1", "inferred", "stated", "tailback reproduce pcc/eq-1 --quick", "0.75 to 1.35"):
        assert word in page


def test_the_quickstarts_figure_is_measured_drawn_and_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fig_5, "_effort", lambda _: (40_000, 2))
    result = CliRunner().invoke(cli.app, ["reproduce", "mtsc/fig-5", "--json", "--jobs", "1", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["runs"] == 2 * len(fig_5.LOADS)
    assert found["verdict"] in {"holds", "fails"}, "with so few packets, by chance"
    assert "<svg" in Path(found["figure"]).read_text()
    data = pl.read_parquet(found["data"])
    assert data["load"].n_unique() == len(fig_5.LOADS)
    scenario = tb.Scenario.from_toml(Path(found["data"]).with_suffix(".toml"))
    assert scenario.replace(duration="1 s").run().flows.height
    assert "tailback run mtsc/fig-5.toml" in (tmp_path / "index.html").read_text()
    assert (tmp_path / "index.html").exists()


def _without_times(folder: Path) -> dict[Path, bytes]:
    """The files in a folder, without the minute at which a page was made: the next page may be of the next minute."""
    minute = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
    return {path: minute.sub(b"", path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def test_a_reproduction_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eq_1, "_effort", lambda _: (20, 2))
    words = ["reproduce", "pcc/eq-1", "--jobs", "1", "--out", str(tmp_path)]
    first = CliRunner().invoke(cli.app, words)
    assert "finished before" not in first.output
    files = _without_times(tmp_path)

    def measured(_: Lab) -> Outcome:
        raise AssertionError("run anew")

    measure = eq_1.measure
    monkeypatch.setattr(eq_1, "measure", measured)
    second = CliRunner().invoke(cli.app, words)
    assert second.exit_code == 0, second.output
    assert "s, finished before" in second.output
    said = "The item was finished before by the same code and not run now; --again runs everything anew."
    assert second.output.endswith(f"{said}\n")
    assert _without_times(tmp_path) == files
    # What differs in any way is run: another length, a table or a record that was touched, other code, and when it is asked.
    assert "run anew" in CliRunner().invoke(cli.app, [*words, "--full"]).output
    (tmp_path / "plan.json").write_bytes(files[tmp_path / "plan.json"])
    table, record = (tmp_path / "pcc" / f"eq-1{ending}" for ending in (".parquet", ".json"))
    pl.read_parquet(table).head(2).write_parquet(table)
    assert "run anew" in CliRunner().invoke(cli.app, words).output
    table.write_bytes(files[table])
    record.write_bytes(files[record].replace(b"0.0", b"0.1"))
    assert "run anew" in CliRunner().invoke(cli.app, words).output
    record.write_bytes(files[record])
    with monkeypatch.context() as other:
        other.setattr(finished, "_code", lambda: "other code")
        assert "run anew" in CliRunner().invoke(cli.app, words).output
    assert "run anew" in CliRunner().invoke(cli.app, [*words, "--again"]).output
    monkeypatch.setattr(eq_1, "measure", measure)
    again = CliRunner().invoke(cli.app, [*words, "--again"])
    assert "finished before" not in again.output
    assert (tmp_path / "pcc" / "eq-1.parquet").read_bytes() == files[tmp_path / "pcc" / "eq-1.parquet"]


def check_page(page: str) -> None:
    """Nothing in it needs a network."""
    loaded = re.findall(r'(?:src|href)="([^"#]+)"', page) + re.findall(r"url\(([^)]+)\)|@import", page)
    assert not [link for link in loaded if "//" in link]
    assert "<script src" not in page
    assert page.count("<html") == 1


class Fake:
    """An item made for a test."""

    def __init__(self, measured: Any, holds: bool | None = True, **more: Any) -> None:
        self.measured, self.holds, self.more = measured, holds, more

    def parameters(self, fidelity: Fidelity) -> Sequence[Parameter]:
        """Some parameters."""
        return (Parameter("fidelity", fidelity, "inferred", "for the test"),)

    def measure(self, lab: Lab) -> Outcome:
        """Some measurement, in the pool."""
        squares = lab.map(square, [1, 2, 3])
        if isinstance(self.measured, Exception):
            raise self.measured
        data = pl.DataFrame({"x": [1, 2, 3], "square": squares})
        check = Check("squares", str(squares), "[1, 4, 9]", self.holds)
        return Outcome(self.measured, [check], data, {"x": "s"}, "made up", **self.more)

    def draw(self, outcome: Outcome) -> Any:
        """Some figure."""
        from tailback.plot import figure

        made, (axis,) = figure()
        axis.plot(outcome.data["x"], outcome.data["square"])
        return made


def square(number: int) -> int:
    return number * number


def inverse(number: int) -> float:
    return 1 / number


def claims(monkeypatch: pytest.MonkeyPatch, **items: Fake) -> list[ledger.Claim]:
    made = [ledger.Claim(f"pcc/{name}", name, "§0", "set-up", ("value",), "always", {"value": 1.5}) for name in items]
    monkeypatch.setattr(ledger.Claim, "item", lambda claim: items[claim.id.split("/")[1]])
    return made


def run(claims: Sequence[ledger.Claim], out: Path) -> dict[str, reproduce.Verdict]:
    verdicts = reproduce.reproduce(claims, "quick", out, jobs=1, show_progress=False)
    return {verdict.claim.id: verdict for verdict in verdicts}


def test_one_failing_item_does_not_take_others_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = claims(
        monkeypatch,
        good=Fake({"value": {0.5: [np.float64(2.0), np.inf]}, "more": 1}),
        wrong=Fake({"value": 1.0}, holds=False),
        broken=Fake(ZeroDivisionError("no flows")),
        silent=Fake({"other": 1}),
    )
    found = run(made, tmp_path)
    assert [verdict.ran for verdict in found.values()] == [True, True, False, False]
    assert [verdict.holds for verdict in found.values()] == [True, False, False, False]
    good = found["pcc/good"].as_json()
    assert good["measured"] == {"value": {"0.5": [2.0, None]}}
    assert good["published"] == {"value": 1.5}
    assert good["runs"] == 3
    assert json.loads(json.dumps(good)) == good
    assert found["pcc/broken"].as_json()["why"] == "could not run: ZeroDivisionError: no flows"
    assert "does not measure value" in found["pcc/silent"].error
    page = write_report(list(found.values()), tmp_path).read_text()
    check_page(page)
    assert "does not hold" in page
    assert "ZeroDivisionError: no flows" in page
    assert "<strong>1</strong> of 4 claims reproduced, 1 not reproduced, 2 could not run." in page


@pytest.mark.parametrize("kept", [False, True])
def test_an_item_whose_drawing_fails_does_not_take_others_down(
    kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Undrawn(Fake):
        def draw(self, outcome: Outcome) -> Any:
            del outcome
            raise ZeroDivisionError("no axes")

    good, bad = Fake({"value": 1.0}), Undrawn({"value": 1.0})
    if kept:
        run(claims(monkeypatch, bad=Fake({"value": 1.0}), good=good), tmp_path)
    made = claims(monkeypatch, bad=bad, good=good)
    verdicts = reproduce.reproduce(made, "quick", tmp_path, jobs=1, show_progress=False, resume=kept)
    assert [(verdict.word, verdict.kept) for verdict in verdicts] == [("error", kept), ("holds", kept)]
    assert verdicts[0].error == "its figure could not be drawn: ZeroDivisionError: no axes"
    assert "no axes" in write_report(verdicts, tmp_path).read_text()
    if not kept:  # It is tried again.
        again = reproduce.reproduce(made, "quick", tmp_path, jobs=1, show_progress=False, resume=True)
        assert [verdict.kept for verdict in again] == [False, True]


YES, NO, UNRUN = (Check("a test", "seen", "wanted", holds) for holds in (True, False, None))


def test_every_part_of_an_outcome_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    item = Fake(
        {"value": {0.5: [np.float64(2.0), np.inf]}},
        scenario="seed = 1",
        notes=("a note",),
        changed=ChangedTest([YES, UNRUN], "the moment cannot be meant"),
        refutation=Refutation("the proof", [YES]),
    )
    (made,) = claims(monkeypatch, one=item)
    (first,) = reproduce.reproduce([made], "quick", tmp_path, jobs=1, show_progress=False)
    (second,) = reproduce.reproduce([made], "quick", tmp_path, jobs=1, show_progress=False, resume=True)
    assert (first.kept, second.kept) == (False, True)
    assert second.as_json() == first.as_json()
    assert second.parameters == first.parameters
    one, other = first.outcome, second.outcome
    assert one is not None
    assert other is not None
    assert one.data.equals(other.data)
    assert other.units == one.units
    for name in ("why", "scenario", "notes", "verdict"):
        assert getattr(other, name) == getattr(one, name), name
    assert [(title, list(checks)) for title, checks in other.tests] == [(title, list(c)) for title, c in one.tests]
    # What another process finished counts; what could not run does not.
    broken = claims(monkeypatch, broken=Fake(ZeroDivisionError("no flows")))
    for _ in range(2):
        (verdict,) = reproduce.reproduce(broken, "quick", tmp_path, jobs=1, show_progress=False, resume=True)
        assert not verdict.kept


@pytest.mark.parametrize(
    ("checks", "refuting", "word"),
    [
        ([YES, YES], None, "holds"),
        ([YES, NO], None, "fails"),
        ([], None, "fails"),
        ([YES, UNRUN], None, "open"),
        ([NO, UNRUN], None, "fails"),
        ([YES, NO], [YES], "refuted"),
        ([YES, NO], [YES, NO], "fails"),
        ([YES, NO], [UNRUN], "fails"),
        ([YES], [YES], "holds"),
        ([Check("by NumPy", "", "", cast("bool", np.bool_(False)))], None, "fails"),
    ],
)  # fmt: skip
def test_the_ledgers_tests_alone_decide(checks: list[Check], refuting: list[Check] | None, word: str) -> None:
    refutation = Refutation("proof", refuting) if refuting else None
    for changed in (None, ChangedTest([YES], "why"), ChangedTest([NO], "why")):
        outcome = Outcome({}, checks, pl.DataFrame(), {}, "", changed=changed, refutation=refutation)
        assert outcome.verdict == word
        assert outcome.holds == (word == "holds")


def test_both_verdicts_are_shown_where_the_test_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = claims(
        monkeypatch,
        moved=Fake({"value": 1}, holds=False, changed=ChangedTest([YES], "one run decides by chance")),
        false=Fake({"value": 1}, holds=False, refutation=Refutation("z² is not z", [YES])),
        half=Fake({"value": 1}, holds=None),
    )
    found = run(made, tmp_path)
    moved, false, half = (verdict.as_json() for verdict in found.values())
    assert (moved["holds"], moved["verdict"], moved["test"]) == (False, "fails", "changed")
    assert moved["changed"] == {"holds": True, "why": "one run decides by chance"}
    assert (false["holds"], false["verdict"], false["test"]) == (False, "refuted", "ledger")
    assert false["refuted"] == {"holds": True, "proof": "z² is not z"}
    assert (half["holds"], half["verdict"]) == (False, "open")
    counted = reproduce.summary(list(found.values()), 34)
    assert counted == (
        "0 of 3 claims reproduced, 1 refuted, 1 not reproduced, 1 open (part of the test could not be run), "
        "and 34 not built yet. 1 also judged by a changed test: 1 of these hold by it."
    )
    page = write_report(list(found.values()), tmp_path, summary=counted).read_text()
    for words in (
        counted.split(" ", 1)[1],
        "test changed: holds",
        "one run decides by chance",
        "z² is not z",
        "not run",
        "refuted",
    ):
        assert words in page


def test_what_is_not_built_is_counted_where_a_paper_was_asked_for() -> None:
    missing = len(ledger.claims()) - len(BUILT)
    assert ledger.unbuilt(["all"]) == sum(ledger.unbuilt([paper.id]) for paper in ledger.papers()) == missing
    assert ledger.unbuilt(["pcc/eq-1"]) == 0


@pytest.mark.parametrize(
    ("item", "strict", "status"),
    [
        (Fake({"value": 1}), True, 0),
        (Fake({"value": 1}, holds=False), False, 0),
        (Fake({"value": 1}, holds=False), True, 1),
        (Fake({"value": 1}, holds=False, refutation=Refutation("so", [YES])), True, 0),
        (Fake(ValueError("no")), False, 1),
    ],
    ids=["holds", "fails", "fails, strict", "refuted, strict", "cannot run"],
)
def test_exit_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, item: Fake, strict: bool, status: int) -> None:
    from tailback.commands.reproduce import reproduce_items

    made = claims(monkeypatch, item=item)
    monkeypatch.setattr(ledger, "select", lambda _: tuple(made))
    found = reproduce_items(["x"], full=False, out=tmp_path, strict=strict, jobs=1, as_json=True)
    assert found == status


def test_figures_and_data_are_the_same_bytes_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = claims(monkeypatch, good=Fake({"value": 1}))
    first, second = run(made, tmp_path / "a"), run(made, tmp_path / "b")
    for kind in ("figure", "data"):
        one, two = (getattr(verdicts["pcc/good"], kind).read_bytes() for verdicts in (first, second))
        assert one == two


def test_pools_give_answers_in_order() -> None:
    told: list[int] = []
    with Pool(2) as pool:
        assert pool.map(square, range(20), lambda: told.append(1)) == [n * n for n in range(20)]
    assert len(told) == 20
    with Pool(1) as pool, Bar("x", show=False) as bar:
        lab = Lab("quick", pool, bar)
        assert lab.map(square, [3]) == [9]
        assert lab.runs == 1
        with pytest.raises(ZeroDivisionError):
            lab.map(inverse, [0])


def test_threads_share_one_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def start(jobs: int, _: Sequence[str]) -> ThreadPoolExecutor:
        made.append(jobs)
        time.sleep(0.1)
        return ThreadPoolExecutor(1)

    monkeypatch.setattr("tailback.processes.start", start)
    with Pool(2) as pool, ThreadPoolExecutor(4) as threads:
        assert len({id(executor) for executor in threads.map(lambda _: pool.executor, range(4))}) == 1
    assert made == [2]


def test_a_pool_is_stopped_while_its_processes_start(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), threading.Event()

    def start(*_: object) -> ThreadPoolExecutor:
        begun.set()
        assert ended.wait(20)
        raise EOFError

    monkeypatch.setattr("tailback.processes.start", start)
    monkeypatch.setattr("tailback.processes.end_server", ended.set)
    with Pool(2) as pool, ThreadPoolExecutor(1) as threads:
        future = threads.submit(lambda: pool.executor)
        assert begun.wait(20)
        pool.stop()
        with pytest.raises(EOFError):
            future.result(20)
        with pytest.raises(RuntimeError, match="stopped"):
            _ = pool.executor


def test_calls_that_were_cancelled_may_lose_their_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a full disk ends a sweep: what waits is cancelled, and then the processes end."""
    told: list[object] = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    with Pool(2) as pool:
        assert isinstance(pool.executor, processes.Workers)
        workers: Any = pool.executor
        futures = [workers.submit(time.sleep, 60.0) for _ in range(12)]
        while not futures[2].running() or len(workers._processes) < 2:
            time.sleep(0.01)
        for future in futures:
            future.cancel()
        thread = workers._executor_manager_thread
        for process in list(workers._processes.values()):
            process.terminate()
        thread.join(timeout=20.0)
        assert not thread.is_alive()
    assert told == []


def test_unwritable_places_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = claims(monkeypatch, good=Fake({"value": 1}))
    (tmp_path / "file").write_text("")
    with pytest.raises(tb.StorageError, match="file"):
        run(made, tmp_path / "file" / "out")
