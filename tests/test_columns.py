"""Columns of results are declared once, in Rust, and everything else derives from there. What they say of a run is tested
with results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tailback as tb
from tailback import _core
from tailback.results.columns import NAMES, RECORDED
from tailback.results.units import LABELS, UNITS

ROOT = Path(__file__).parent.parent
SOURCES = [
    path
    for folder in ("crates/sim/src", "crates/scenario/src", "crates/python/src", "python/tailback/results")
    for path in sorted((ROOT / folder).rglob("*.py" if folder.startswith("python") else "*.rs"))
]
# What a formula or a rule reads has to be named where it is read.
READ = {"python/tailback/results/formulas.py", "python/tailback/results/from_core.py"}


@pytest.fixture(scope="module")
def raw() -> _core.Result:
    record = {"bin": "100 ms", "accumulation": True, "packets": True, "state": True, "queue_state": True}
    base = tb.dumbbell(rate="1 Mbit/s", delay="10 ms", duration="2 s", queue="red", record=record)
    return _core.run(
        base.with_flows(
            tb.flows(1, "reno", source={"name": "files", "size": {"name": "constant", "value": "20 kB"}})
        ).to_json()
    )


def test_the_tables_have_the_columns_that_are_declared(raw: _core.Result) -> None:
    for table in ("links", "flows", "messages", "state", "packets"):
        assert list(getattr(raw, table)) == list(NAMES[table]), table
    assert list(next(iter(raw.flow_series.values()))) == list(NAMES["flow_series"])
    link = list(raw.link_series["r0->r1"])
    assert link[: len(NAMES["link_series"])] == list(NAMES["link_series"])
    told = link[len(NAMES["link_series"]) :]
    assert told
    assert set(told) <= set(NAMES["queue_state"])


def test_a_columns_unit_and_label_are_those_of_its_declaration() -> None:
    for columns in RECORDED.values():
        for column in columns:
            assert UNITS.get(column.name, "") == column.unit
            assert LABELS[column.name] == column.label


def test_a_column_is_declared_in_one_place() -> None:
    """A second list of columns, wherever it is, would have to name some."""
    series = {"transmitting_bytes", "smoothed_rtt_seconds", "in_flight_bytes", "window_bytes", "mean_queue_packets"}
    tables = {"propagating_packets", "left_packets", "gated_packets", "feedback_packets", "size_bytes", "began_seconds"}
    declared = {key for names in NAMES.values() for key in names}
    assert series | tables <= declared
    for key in sorted(series | tables):
        spot = re.compile(rf'"{key}"|\b{key}: \w+( => \w+)?, (counted|level|mean)')
        text = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in SOURCES}
        found = [name for name, source in text.items() if name not in READ and spot.search(source)]
        tabled = sum(key in names for names in NAMES.values())
        assert 1 <= len(found) <= tabled, f"{key}: {found}"
    stub = (ROOT / "python/tailback/_core.pyi").read_text(encoding="utf-8")
    assert not [key for key in series | tables if f"``{key}``" in stub]


def test_a_column_declared_anew_reaches_unit_label_and_file(monkeypatch: pytest.MonkeyPatch, raw: _core.Result) -> None:
    """What a table carries and declares, all that is made of it carries too."""
    from tailback.results import from_core

    known = dict(NAMES["flows"]) | {"patience_seconds": "patience"}
    monkeypatch.setattr(from_core, "NAMES", {**NAMES, "flows": known})
    table = from_core.table_of({**raw.flows, "patience_seconds": raw.flows["start_seconds"]}, "flows")
    assert "patience" in table.columns
