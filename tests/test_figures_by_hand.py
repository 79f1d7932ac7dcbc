"""Scenarios so simple that every figure of theirs follows by hand, and that all ways out say that figure, in the same unit:
tables, metrics, files, the command's text and JSON, the report and sweeps. Statistical comparisons are in ``test_theory.py``."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import tailback as tb
from tailback import cli
from tailback.results import fairness, metrics, read_parquet

UNCHECKED = {"name": "fixed-rate", "rate": "1000 Gbit/s", "burst": "1000 packets"}
LINK = {"from": "a", "to": "b", "rate": "5.4 Mbit/s", "delay": "10 ms", "buffer": "20 packets"}


def stream(name: str, rate: str, start: str = "0 s") -> tb.Flows:
    """Datagrams of 500 B, 540 B on the wire, at even intervals."""
    source = {"name": "datagrams", "rate": rate, "size": {"name": "constant", "value": "500 B"}}
    return tb.flows(1, UNCHECKED, source, name=name, from_="a", to="b", start=start, datagram={"header": "40 B"})


@pytest.fixture(scope="module")
def scenario() -> tb.Scenario:
    """Flow x sends every 2 ms, y every 4 ms and 0.4 ms after x; the link takes 0.8 ms for a packet, so that every packet of y
    waits 0.4 ms. The window is no whole number of bins, nor does it begin with one."""
    return tb.graph(
        LINK,
        duration="10.05 s",
        warm_up="2.03 s",
        flows=[stream("x", "2 Mbit/s"), stream("y", "1 Mbit/s", "0.4 ms")],
        record={"bin": "100 ms", "delays": True},
    )


@pytest.fixture(scope="module")
def result(scenario: tb.Scenario) -> tb.Result:
    return scenario.run(seed=1)


@pytest.fixture(scope="module")
def saved(result: tb.Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return result.save(tmp_path_factory.mktemp("by-hand") / "run")


WINDOW = 10.05 - 2.03
FLOWS: dict[str, tuple[float, float]] = {
    "sent_packets": (4010, 2005),
    "received_bytes": (4010 * 540, 2005 * 540),
    "app_bytes": (4010 * 500, 2005 * 500),
    "throughput": (2.16e6, 1.08e6),
    "goodput": (2.16e6, 1.08e6),
    "app_goodput": (2e6, 1e6),
    "one_way_delay": (10.8e-3, 11.2e-3),
    "retransmission_rate": (0.0, 0.0),
}
LINKS: dict[str, float] = {
    "arrived_packets": 6015,
    "transmitted_bytes": 6015 * 540,
    "busy": 6015 * 0.8e-3,
    "throughput": 3.24e6,
    "utilization": 0.6,
    "loss_rate": 0.0,
    "mean_queue": 2005 * 0.4e-3 / WINDOW,
    "queueing_delay": 0.4e-3 / 3,
}
WHOLE: dict[str, float] = {
    "throughput": 3.24e6,
    "goodput": 3.24e6,
    "jain": 0.9,
    **{name: LINKS[name] for name in ("utilization", "loss_rate", "mean_queue", "queueing_delay")},
}


def agrees(found: dict[str, Any], expected: dict[str, float]) -> None:
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-12)


def flows_agree(table: pl.DataFrame) -> None:
    for row, name in enumerate(("x", "y")):
        found = table.row(by_predicate=pl.col("flow") == name, named=True)
        agrees(found, {column: values[row] for column, values in FLOWS.items()})


def link_agrees(table: pl.DataFrame) -> None:
    agrees(table.row(by_predicate=pl.col("link") == "a->b", named=True), LINKS)


def test_tables_and_metrics(result: tb.Result) -> None:
    flows_agree(result.flows)
    link_agrees(result.links)
    agrees(result.summary().row(0, named=True), WHOLE)
    assert result.bottleneck == "a->b"
    assert metrics.goodput(result) == pytest.approx([2.16e6, 1.08e6])
    assert metrics.throughput(result) == pytest.approx([2.16e6, 1.08e6])
    assert metrics.jain_index(result) == pytest.approx(0.9)
    assert fairness.epsilon(result) == pytest.approx(0.5)
    for name in ("utilization", "loss_rate", "mean_queue", "queueing_delay"):
        assert getattr(metrics, name)(result) == pytest.approx(LINKS[name])
    assert fairness.by_group(result)["share"].to_list() == pytest.approx([4 / 3, 2 / 3])


def test_series_count_what_tables_count(result: tb.Result) -> None:
    series = result.series(flow="x")
    assert series.height == 100, "the bin that the end cuts short is left out"
    # The first packet arrives at 10.8 ms, so 45 in the first bin, and 50 in each further one.
    assert series["received_bytes"].to_list() == [45 * 540] + [50 * 540] * 99
    assert series["goodput"][50] == pytest.approx(2.16e6)
    assert series["app_goodput"][50] == pytest.approx(2e6)
    late = result.series(link="a->b", after_warm_up=True)
    assert late["time"][0] == pytest.approx(2.1), "more than half of it lies in the window"
    assert late["throughput"].to_list() == pytest.approx([3.24e6] * 80)
    assert late["mean_queue"].to_list() == pytest.approx([0.1] * 80)
    ends, index = fairness.jain_over_time(result, 1.0)
    assert ends == pytest.approx(np.arange(2, 11)), "y was not there at the beginning of the first second"
    assert index == pytest.approx(np.full(9, 0.9))


def test_files(result: tb.Result, saved: Path, tmp_path: Path) -> None:
    again = tb.Result.load(saved)
    for table in (again.flows, pl.read_csv(saved / "flows.csv"), read_parquet(saved / "flows.parquet")[0]):
        flows_agree(table)
    for table in (again.links, pl.read_csv(saved / "links.csv"), read_parquet(saved / "links.parquet")[0]):
        link_agrees(table)
    agrees(again.summary().row(0, named=True), WHOLE)
    units = read_parquet(saved / "links.parquet")[1]
    said = {name: units[name] for name in ("throughput", "busy", "queueing_delay", "utilization", "mean_queue")}
    assert said == {
        "throughput": "bit/s",
        "busy": "s",
        "queueing_delay": "s",
        "utilization": "fraction",
        "mean_queue": "packets",
    }
    head = result.to_csv(tmp_path / "links.csv", "links", units=True).read_text(encoding="utf-8").splitlines()[0]
    assert all(f"{name} [{unit}]" in head.split(",") for name, unit in said.items())


SHOWN_FLOWS = ("2.16 2.16 0", "1.08 1.08 0")
SHOWN_LINK = "3.24 60 0 0.1 133.3"


def test_command_and_report(scenario: tb.Scenario, saved: Path, tmp_path: Path) -> None:
    file = tmp_path / "by-hand.toml"
    file.write_text(scenario.to_toml(), encoding="utf-8")
    words = ["run", str(file), "--no-plot", "--seed", "1", "--out", str(tmp_path / "run")]
    told = CliRunner().invoke(cli.app, [*words, "--json"])
    assert told.exit_code == 0, told.output
    data = json.loads(told.stdout.splitlines()[0])
    flows_agree(pl.DataFrame(data["flows"]))
    link_agrees(pl.DataFrame(data["links"], infer_schema_length=None))
    agrees(data["summary"], WHOLE)
    text = " ".join(CliRunner().invoke(cli.app, words).output.split())
    assert "goodput 3.24 Mbit/s with headers; at a->b: utilization 60.00 %, loss 0 %, queueing delay 133.3 µs" in text
    page = tb.Result.load(saved).report(tmp_path / "report").read_text(encoding="utf-8")
    page = re.sub(r"<(script|style|svg).*?</\1>", " ", page, flags=re.DOTALL)
    seen = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())
    for name, shown in zip("xy", SHOWN_FLOWS, strict=True):
        assert f"{name} fixed-rate {shown}" in seen
    assert f"a->b {SHOWN_LINK}" in seen
    assert "queueing delay (µs)" in seen


def test_sweeps(scenario: tb.Scenario) -> None:
    runs = scenario.sweep(seeds=1, jobs=1)
    agrees(runs.table.row(0, named=True), WHOLE | {"epsilon": 0.5, "loss_event_rate": 0.0, "mark_rate": 0.0})
    flows_agree(runs.flows)
    link_agrees(runs.links)
    means = dict(runs.intervals("goodput", "queueing_delay").select("metric", "mean").iter_rows())
    assert means == pytest.approx({"goodput": 3.24e6, "queueing_delay": 0.4e-3 / 3})


def test_a_fixed_window_has_a_window_per_round_trip() -> None:
    # 10 packets of 1000 B at a time: the first is acknowledged after 20 ms of propagation, 0.1 ms and the acknowledgement's
    # 4 µs on the link, and each further one 0.1 ms later; then the next ten leave.
    flow = tb.flows(1, {"name": "fixed-window", "window": "10 packets"}, name="w", from_="a", to="b")
    link = LINK | {"rate": "80 Mbit/s", "buffer": "unlimited"}
    record = {"bin": "0.1 s", "delays": True}
    made = tb.graph(link, duration="22.104 s", warm_up="2 s", flows=[flow], record=record).run(seed=1)
    found = made.flows.row(0, named=True)
    rtt = 0.020104
    assert found["goodput"] == pytest.approx(10 * 8000 / rtt, rel=1e-4)
    assert found["sent_packets"] == pytest.approx(10 * 20.104 / rtt, abs=10)
    for name in ("mean_rtt", "smoothed_rtt"):
        assert found[name] == pytest.approx(rtt, rel=1e-9)
    for name in ("rtt_p50", "rtt_p95", "rtt_p99"):
        assert found[name] == pytest.approx(rtt, rel=0.004)
    assert found["one_way_delay"] == pytest.approx(0.0101, rel=1e-9)
    assert metrics.queueing_delay(made, "a->b") == pytest.approx(0.0, abs=1e-9)


def test_a_source_faster_than_its_link_loses_the_rest() -> None:
    # 8.64 Mbit/s on the wire meet 5.4 Mbit/s: 3 in 8 packets are lost. The queue is full, 20 packets, but for the time from a
    # departure to the next arrival: between 0 and 0.5 ms, every 0.8 ms.
    made = tb.graph(LINK, duration="20 s", warm_up="10 s", flows=[stream("x", "8 Mbit/s")]).run(seed=1)
    found = made.links.row(by_predicate=pl.col("link") == "a->b", named=True)
    assert (found["arrived_packets"], found["transmitted_packets"], found["dropped_packets"]) == (20_000, 12_500, 7_500)
    assert found["loss_rate"] == pytest.approx(3 / 8)
    assert found["utilization"] == pytest.approx(1.0)
    assert 19 < found["mean_queue"] < 20
    assert found["queueing_delay"] == pytest.approx(found["mean_queue"] / 1250)
    assert made.flows["goodput"][0] == pytest.approx(5.4e6)
    assert made.flows["app_goodput"][0] == pytest.approx(5e6)
