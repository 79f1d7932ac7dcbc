"""Predicted allocations beside measured ones, from any scenario: by result, by scenario, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tailback as tb
from tailback.cli import app
from tailback.errors import PredictionError
from tailback.papers.accumulation import network
from tailback.results import Result
from tailback.scenario import Scenario


def lot(queue: dict[str, object] | None = None, *, others: bool = False) -> Scenario:
    """Two bottlenecks of 8 Mbit/s, a long flow over both, a short one over each, the second of twice the weight."""
    fields = {"queue": queue} if queue else {}
    links = [network.link("r0", "r1", 8e6, 10e-3, **fields), network.link("r1", "r2", 8e6, 10e-3)]
    flows = []
    for name, first, last, target in (("long", "r0", "r2", 3), ("short-0", "r0", "r1", 3), ("short-1", "r1", "r2", 6)):
        links += [network.link(f"{name}-s", first, 100e6, 1e-3), network.link(last, f"{name}-d", 100e6, 1e-3)]
        scheme = {"name": "monaco", "target": network.packets(target)}
        flows.append(network.flow(name, scheme, f"{name}-s", f"{name}-d"))
    if others:
        late = {"start": "12 s", "stop": "14 s"}
        flows.append(network.flow("guest", "monaco", "short-0-s", "short-0-d", **late))
    return tb.graph(*links, duration="30 s", warm_up="10 s", flows=flows, record={"links": "none", "flows": "none"})


@pytest.fixture(scope="module")
def result() -> Result:
    return lot().run()


def test_measured_rates_and_delays_are_as_predicted(result: Result) -> None:
    found = result.predicted()
    rows = {row["flow"]: row for row in found.flows.iter_rows(named=True)}
    # At rest x_long (p1 + p2) = 3 packets, short flows have the rest of each link: 3 and 6 packets over p1 and p2.
    assert rows["long"]["predicted"] + rows["short-0"]["predicted"] == pytest.approx(8e6)
    assert all(abs(row["difference"]) < 0.08 for row in rows.values())
    assert rows["short-1"]["goodput"] == result.flows.row(2, named=True)["goodput"]
    full = found.links.filter(found.links["load"] > 0.999)
    assert full["link"].to_list() == ["r0->r1", "r1->r2"]
    assert full["queueing_delay"].to_list() == pytest.approx(full["predicted_delay"].to_list(), rel=0.1)
    # Little's law: every flow's own accumulation is its target.
    delays = dict(full.select("link", "predicted_delay").iter_rows())
    assert rows["long"]["predicted"] * sum(delays.values()) / 8 == pytest.approx(3000)
    assert found.kkt_residual is not None
    assert found.kkt_residual < 1e-6


def test_other_ideas_of_fairness(result: Result) -> None:
    # Weights double the second short flow's claim: levels 4 and 8/3.
    shares = result.predicted("max-min").flows["predicted"].to_list()
    assert shares == pytest.approx([8e6 / 3, 16e6 / 3, 16e6 / 3])
    equal = result.predicted("max-min", {"long": 1, "short-0": 1, "short-1": 1})
    assert equal.flows["predicted"].to_list() == pytest.approx([4e6, 4e6, 4e6])
    assert "predicted_delay" not in equal.links.columns
    assert result.predicted(1.0).flows.equals(result.predicted("proportional").flows)
    with pytest.raises(PredictionError, match="fairness: 200 is not allowed; expected a smaller alpha, or max-min"):
        result.predicted(200.0)
    nearly = result.predicted(40.0, {"short-0": 1}).flows["predicted"].to_list()
    assert nearly == pytest.approx([4e6, 4e6, 4e6], rel=0.02)


def test_a_scenario_is_predicted_without_a_run(result: Result) -> None:
    alone = lot().predicted()
    assert alone.flows["predicted"].to_list() == result.predicted().flows["predicted"].to_list()
    assert "goodput" not in alone.flows.columns


def test_virtual_queues_and_guests_take_their_part() -> None:
    aimed = lot({"name": "avd", "target": 0.9}).predicted()
    assert aimed.links.filter(aimed.links["link"] == "r0->r1")["capacity"].to_list() == [7.2e6]
    assert lot(others=True).predicted().flows.height == 4
    result = lot(others=True).run()
    found = result.predicted()
    assert found.flows["flow"].to_list() == ["long", "short-0", "short-1"]
    took = result.flows.filter(result.flows["flow"] == "guest")["throughput"][0]
    capacity = found.links.filter(found.links["link"] == "r0->r1")["capacity"][0]
    assert capacity == pytest.approx(8e6 - took)


def test_flows_without_an_accumulation_weigh_the_same() -> None:
    scenario = tb.dumbbell(
        rate="10 Mbit/s", delay="10 ms", buffer="50 packets", flows=[tb.flows(4, "reno")], duration="5 s"
    )
    found = scenario.predicted()
    assert found.flows["predicted"].to_list() == pytest.approx([2.5e6] * 4)
    assert "price" in found.links.columns


def test_a_flow_that_starts_at_warm_up_takes_part() -> None:
    base = tb.dumbbell(rate="1 Mbit/s", delay="10 ms", duration="16 s", warm_up="15 s", record={"links": "none"})
    found = (
        base.with_flows(tb.flows(1, "sack", name="a"), tb.flows(1, "sack", name="b", start="15 s")).run().predicted()
    )
    assert found.flows["flow"].to_list() == ["a", "b"]


def test_what_cannot_be_predicted_is_said(result: Result) -> None:
    for fairness, words in (("fair", "proportional, max-min"), (-1.0, "above 0")):
        with pytest.raises(PredictionError, match=words):
            result.predicted(fairness)
    with pytest.raises(PredictionError, match="no flow or group is called lng"):
        result.predicted(weights={"lng": 2})
    with pytest.raises(PredictionError, match="long=0"):
        result.predicted(weights={"long": 0})
    idle = tb.dumbbell(
        rate="1 Mbit/s", delay="10 ms", buffer="9 packets", flows=[tb.flows(1, "reno", "files")], duration="1 s"
    )
    with pytest.raises(PredictionError, match="nothing to predict"):
        idle.predicted()


def test_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "lot.toml"
    lot().replace(duration="12 s").to_toml(file)
    common = ["run", str(file), "--out", str(tmp_path / "out"), "--no-plot", "--predict"]
    shown = CliRunner().invoke(app, [*common, "proportional"])
    assert shown.exit_code == 0, shown.output
    assert "Predicted by proportional fairness" in shown.output
    assert "predicted delay" in shown.output
    least = CliRunner().invoke(app, [*common, "2"])
    assert "Predicted by alpha-fairness with alpha = 2," in least.output
    told = CliRunner().invoke(app, [*common, "2", "--json"])
    assert [row["flow"] for row in json.loads(told.stdout)["predicted"]["flows"]] == ["long", "short-0", "short-1"]
    wrong = CliRunner().invoke(app, [*common, "fairly"])
    assert isinstance(wrong.exception, PredictionError)
