"""Columns of results are declared once, in Rust, and everything else derives from there. What they say of a run is tested
with results."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tailback as tb
from tailback import _core
from tailback.results import formulas
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
    assert list(raw.flow_series) == list(NAMES["flow_series"])
    link = list(raw.link_series)
    assert link[: len(NAMES["link_series"])] == list(NAMES["link_series"])
    told = link[len(NAMES["link_series"]) :]
    assert told
    assert set(told) <= set(NAMES["queue_state"])


@pytest.mark.parametrize("warm_up", ["0 s", "500 ms"])
def test_tables_are_made_once_and_shared_where_nothing_is_left_out(warm_up: str) -> None:
    base = tb.dumbbell(rate="1 Mbit/s", delay="10 ms", duration="1 s", warm_up=warm_up)
    raw = _core.run(base.with_flows(tb.flows(2, "reno")).to_json())
    assert raw.links is raw.links
    assert raw.flow_series is raw.flow_series
    for whole, measured in ((raw.links, raw.links_measured), (raw.flows, raw.flows_measured)):
        assert (whole is measured) == (warm_up == "0 s")
        assert list(whole) == list(measured)
    assert np.all(raw.flows["sent_packets"] > raw.flows_measured["sent_packets"]) == (warm_up != "0 s")


def test_delays_are_of_the_time_after_the_warm_up_also_where_there_is_none() -> None:
    base = tb.dumbbell(rate="1 Mbit/s", delay="10 ms", duration="1 s", record={"delays": True})
    raw = _core.run(base.with_flows(tb.flows(1, "reno")).to_json())
    assert np.isfinite(raw.flows_measured["rtt_p50_seconds"]).all()
    assert np.isnan(raw.flows["rtt_p50_seconds"]).all()


def test_series_are_one_array_per_column_with_the_members_one_below_the_other() -> None:
    record = {"bin": "100 ms", "links": "all", "queue_state": True}
    base = tb.dumbbell(rate="1 Mbit/s", delay="10 ms", duration="2 s", queue="red", record=record)
    made = base.with_flows(tb.flows(2, "reno"), tb.flows(1, "cubic", name="late", start="1 s"))
    raw, result = _core.run(made.to_json()), made.run()
    assert raw.watched_flows == raw.flows["name"] == ["reno-0", "reno-1", "late"]
    assert raw.watched_links == raw.links["name"]
    assert raw.watched_aggregates == []
    assert not list(raw.aggregate_series)
    for series, members, told in (
        (raw.flow_series, raw.watched_flows, result.flow_series),
        (raw.link_series, raw.watched_links, result.link_series),
    ):
        assert {series[key].size for key in series} == {len(members) * 20}
        assert series["received_bytes" if series is raw.flow_series else "marks"].dtype == np.uint64
        kind = told.columns[1]
        for row, member in enumerate(members):
            one = told.filter(told[kind] == member)["throughput"].to_numpy()
            key = "received_bytes" if kind == "flow" else "transmitted_bytes"
            assert np.allclose(one, series[key][20 * row : 20 * (row + 1)] * 80.0)
    assert not raw.flow_series["sent_bytes"][40:50].any()
    # Hosts' links have drop-tail queues, which tell of no state.
    state = raw.link_series["average_packets"]
    bottleneck = raw.watched_links.index("r0->r1")
    assert np.isfinite(state[20 * bottleneck : 20 * (bottleneck + 1)]).all()
    other = raw.watched_links.index("s0->r0")
    assert np.isnan(state[20 * other : 20 * (other + 1)]).all()


@pytest.mark.parametrize("flows", [1, 2])
def test_a_column_of_series_is_there_until_it_is_taken(flows: int) -> None:
    base = tb.dumbbell(rate="1 Mbit/s", delay="10 ms", duration="1 s")
    series = _core.run(base.with_flows(tb.flows(flows, "reno")).to_json()).flow_series
    keys = list(series)
    assert len(series) == len(keys) > 3
    assert "sent_bytes" in series
    assert series["sent_bytes"] is series["sent_bytes"]
    again = series["sent_bytes"]
    assert series.pop("sent_bytes") is again
    assert series.pop("rtt_seconds").size == flows * 10
    assert list(series) == [key for key in keys if key not in ("sent_bytes", "rtt_seconds")]
    for gone in ("sent_bytes", "rtt_seconds", "nothing"):
        assert gone not in series
        with pytest.raises(KeyError, match=gone):
            series.pop(gone)
        with pytest.raises(KeyError, match=gone):
            series[gone]


@pytest.mark.parametrize(
    ("overflow", "early", "used", "watched", "row"),
    [
        ([0, 3, 3], [0, 9, 1], [1.0, 0.1, 0.5], [True, False, True], 1),  # Most drops, and of these most early ones.
        ([0, 0, 0], [0, 0, 0], [0.5, 0.9, 0.1], [True, False, False], 1),  # The busiest.
        ([2, 2, 2], [1, 1, 1], [0.5, 0.5, 0.5], [False, True, True], 1),  # The first with a series.
        ([2, 2, 2], [1, 1, 1], [0.1, 0.5, 0.5], [True, False, False], 1),  # None has one: the first.
        ([0, 0], [0, 0], [np.nan, 0.5], [True, False], 1),
    ],
)
def test_the_bottleneck_is_the_link_with_most_drops_then_the_busiest_then_one_with_a_series(
    overflow: list[int], early: list[int], used: list[float], watched: list[bool], row: int
) -> None:
    links = {
        "dropped_overflow_packets": np.array(overflow, dtype=np.uint64),
        "dropped_early_packets": np.array(early, dtype=np.uint64),
        "utilization": np.array(used),
    }
    assert formulas.bottleneck(links, np.array(watched)) == row


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
