"""Pages that several files of these tests look at: of papers' items, of sweeps, of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tailback as tb
from tailback.papers import ledger
from tailback.papers.item import Check, Outcome, Parameter
from tailback.papers.reproduce import Verdict
from tailback.plot import figure, save, style
from tailback.report import write_report


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with one item that holds, one that does not, one that could not run, and a comparison."""
    out = tmp_path_factory.mktemp("report")
    with style():
        made, (axis,) = figure()
        axis.plot([0, 1, 2], [0, 1, 4])
        axis.set_xlabel("time (s)")
    save(made, out / "figure.svg")
    (out / "data.parquet").write_bytes(b"")
    (out / "data.csv").write_text("x\n1\n", encoding="utf-8")
    verdicts = []
    for index, claim in enumerate(ledger.select(["mtsc/fig-5", "pcc/eq-1"])):
        checks = [Check("a test <with> signs", "1.0 ± 0.1", "0.9 to 1.1", index == 0)]
        outcome = Outcome(
            measured={key.split("[")[0]: [0.123456] * 20 for key in claim.measure},
            checks=checks,
            data=pl.DataFrame({"x": [1]}),
            units={},
            why="because & only because",
            scenario='duration = "1 s"',
        )
        parameters = (Parameter("alpha", "1.05", "stated", "§1"), Parameter("n", "10", "inferred", "chosen"))
        verdicts.append(
            Verdict(
                claim,
                "quick",
                1.0,
                3,
                parameters,
                outcome,
                figure=out / "figure.svg",
                data=out / "data.parquet",
                drawn=made,
            )
        )
    broken = next(claim for claim in ledger.claims() if claim.id == "tdqm/fig-6")
    verdicts.append(Verdict(broken, "quick", error="not yet built"))
    row = {"setup": "dumbbell/sack", "quantity": "loss, %", "reference": "1", "measured": "2", "tolerance": "± 0.1"}
    return write_report(
        verdicts, out, [{**row, "agrees": True, "remark": ""}, {**row, "agrees": False, "remark": "so"}]
    )


@pytest.fixture(scope="session")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a small sweep with two axes and two groups of flows."""
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", duration="4 s", warm_up="1 s")
    mixed = base.with_flows(tb.flows(1, "reno"), tb.flows(1, "cubic"))
    axes: dict[str, Any] = {"buffer": ["5 packets", "20 packets"], "rate": ["2 Mbit/s", "5 Mbit/s"]}
    runs = mixed.sweep(**axes, seeds=3, jobs=1, cache=False, progress=False)
    return runs.report(tmp_path_factory.mktemp("sweep report with a blank"))


@pytest.fixture(scope="session")
def one(tmp_path_factory: pytest.TempPathFactory, result: tb.Result) -> Path:
    """The report of a single run."""
    return result.report(tmp_path_factory.mktemp("one"))


@pytest.fixture(params=["page", "sweep", "one"])
def any_page(request: pytest.FixtureRequest) -> Path:
    """Each kind of report."""
    found: Path = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="session")
def four_axes() -> tb.Runs:
    """A sweep over four fields."""
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", duration="1 s").with_flows(tb.flows(1, "reno"))
    return base.sweep(
        scheme=["reno", "cubic"],
        delay=["5 ms", "20 ms"],
        rate=["2 Mbit/s", "5 Mbit/s", "8 Mbit/s"],
        buffer=["5 packets", "20 packets", "40 packets"],
        cache=False,
        jobs=1,
    )


@pytest.fixture(scope="session")
def four_axes_page(four_axes: tb.Runs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its report."""
    return four_axes.report(tmp_path_factory.mktemp("four axes"))
