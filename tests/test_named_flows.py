"""Weights of flows by the names of their groups: they stay right when groups grow, are sent on or come from files."""

from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from tailback.errors import ScenarioError

SHARES = {"name": "weighted-fair-queueing", "shares": [{"flows": ["gold"], "weight": 4}]}


def weighted(silver: int = 1, gold: int = 1) -> tb.Scenario:
    base = tb.dumbbell(
        rate="10 Mbit/s", delay="5 ms", buffer="300 packets", duration="20 s", warm_up="5 s", queue=SHARES
    )
    return base.with_flows(tb.flows(silver, "sack", name="silver"), tb.flows(gold, "sack", name="gold"))


def ratio(result: tb.Result) -> float:
    goodput = dict(result.flows.select("group", "goodput").group_by("group").mean().iter_rows())
    return float(goodput["gold"] / goodput["silver"])


@pytest.mark.parametrize(("silver", "gold"), [(1, 1), (3, 1), (2, 3)])
def test_a_name_means_the_flows_of_its_group_however_many_come_before_it(silver: int, gold: int) -> None:
    assert ratio(weighted(silver, gold).run()) == pytest.approx(4.0, rel=0.05)


def test_names_stay_names_in_files_and_in_sweeps(tmp_path: Path) -> None:
    weighted().to_toml(tmp_path / "w.toml")
    assert 'flows = ["gold"]' in (tmp_path / "w.toml").read_text()
    read = tb.Scenario.from_toml(tmp_path / "w.toml")
    assert read == weighted()
    counts: dict[str, Any] = {"flows[0].count": [1, 4]}
    runs = read.sweep(**counts, cache=False, progress=False, jobs=1)
    assert runs.table["hash"].to_list() == [weighted().run().hash, weighted(4).run().hash]
    assert read.replace(**{"flows[0].count": 4}).run().hash == weighted(4).run().hash
    assert read.run().scenario.to_dict()["topology"]["queue"]["shares"][0]["flows"] == ["gold"]


def test_a_scenario_that_names_others_is_refused_once_its_flows_are_known() -> None:
    with pytest.raises(
        ScenarioError, match=r'shares\[0\]\.flows: "gold" is not allowed; expected the name of a group'
    ) as error:
        weighted().with_flows(tb.flows(2, "sack", name="bronze"))
    assert '"bronze", "bronze-0"' in str(error.value)
    by_number = weighted().replace(queue={**SHARES, "shares": [{"flows": [1], "weight": 4}]})
    assert by_number.run().hash == weighted().run().hash
