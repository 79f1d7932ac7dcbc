"""What ``tailback reproduce`` makes of items: verdicts, files, pages and exit status."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import tailback as tb
from tailback import cli
from tailback.papers import finished, ledger, reproduce
from tailback.papers.item import ChangedTest, Check, Outcome, Refutation
from tailback.papers.lab import Lab
from tailback.papers.mtsc import fig_5
from tailback.papers.pcc import eq_1
from tailback.report import write_report
from tests.papers.fakes import Fake, claims, run

KEYS = ("id", "fidelity", "wall_s", "runs", "holds", "verdict", "test", "changed", "refuted",
        "published", "measured", "why", "figure", "data")  # fmt: skip


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


def test_unwritable_places_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = claims(monkeypatch, good=Fake({"value": 1}))
    (tmp_path / "file").write_text("")
    with pytest.raises(tb.StorageError, match="file"):
        run(made, tmp_path / "file" / "out")
