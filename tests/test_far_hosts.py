"""Round trips that nobody meant: short links between routers, and hosts far away because nothing is said of them."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import tailback as tb
from tailback.errors import TailbackWarning
from tailback.scenario import _models
from tailback.scenario.far_hosts import far_hosts
from tests.cli.command import tailback

FLOW = tb.flows(1, "reno", {"name": "files", "size": "10 kB", "count": 1})


def near(**fields: Any) -> tb.Scenario:
    return tb.dumbbell(**{"rate": "1 Gbit/s", "delay": "10 us", "duration": "200 ms", "flows": [FLOW], **fields})


def test_what_the_round_trip_is_is_said_where_hosts_are_far_away_by_default() -> None:
    with pytest.warns(TailbackWarning, match="the round trip is 20.02 ms, of which hosts' links are 20 ms") as caught:
        result = near().run()
    assert caught[0].filename == __file__
    assert result.flows["round_trip"][0] == pytest.approx(0.02002)
    assert any("5 ms each way by default" in warning and "see `access.delay`" in warning for warning in result.warnings)


@pytest.mark.parametrize(
    "fields",
    [
        {"access": {"delay": "1 us"}},
        {"access": {"delay": "4 ms"}},
        {"access": {"delay": ["4 ms", "5 ms"]}},
        {"delay": "1 ms"},
        {"access": {"delay": "20 us"}, "receiver_access": {"delay": "10 us"}},
    ],
)
def test_nothing_is_said_where_hosts_are_near_or_their_delay_was_given(fields: dict[str, Any]) -> None:
    assert far_hosts(near(**fields).to_dict()) == []
    assert far_hosts(near(**fields).to_dict(full=True)) == []


def test_one_end_of_which_nothing_is_said_is_enough() -> None:
    (said,) = far_hosts(near(access={"delay": "1 us"}, receiver_access={"rate": "1 Gbit/s"}).to_dict())
    assert said.startswith("the round trip is 10.02 ms, of which hosts' links are 10 ms")


def test_all_links_of_a_chain_count_in_both_directions() -> None:
    lot = tb.parking_lot(hops=4, rate="1 Gbit/s", delay="100 us", reverse={"delay": "300 us"}, flows=[FLOW])
    (said,) = far_hosts(lot.to_dict())
    assert said.startswith("the round trip is 21.6 ms")
    assert lot.run().flows["round_trip"][0] == pytest.approx(21.6e-3)
    assert far_hosts(lot.replace(delay="250 us").to_dict()) == []


@pytest.mark.filterwarnings("error")
def test_other_networks_have_no_such_links() -> None:
    assert far_hosts(tb.star(hosts=3, rate="1 Gbit/s", delay="1 us", flows=[FLOW]).to_dict()) == []
    assert far_hosts(tb.home(delay="1 us", flows=[FLOW]).to_dict()) == []


def test_a_sweep_says_it_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        near(delay="20 ms").sweep(delay=["20 ms", "10 us", "20 us"], seeds=2, jobs=1, cache=False, progress=False)
    (said,) = [each for each in caught if issubclass(each.category, TailbackWarning)]
    assert "the round trip is 20.02 ms" in str(said.message)
    assert said.filename == __file__


def test_the_check_of_a_file_says_it(tmp_path: Path) -> None:
    file = tmp_path / "near.toml"
    near().to_toml(file)
    status, out, err = tailback("validate", str(file))
    assert (status, out.count("fine")) == (0, 1)
    assert "warning: the round trip is 20.02 ms" in err
    status, out, err = tailback("validate", str(file), "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)["warnings"] == far_hosts(near().to_dict())


def test_what_is_taken_where_nothing_is_said_is_what_the_core_takes() -> None:
    from tailback.scenario import far_hosts as module

    fields = _models.ParkingLot.model_fields
    assert fields["delay"].default == module._BETWEEN
    assert fields["hops"].default == module._HOPS
    assert _models.Access.model_fields["delay"].default == module._HOSTS
