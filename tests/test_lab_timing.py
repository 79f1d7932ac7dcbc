"""What hosts of a run took, by its packet log: of simulated runs, whose hosts take what is known, and of one with real packets."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailback as tb
from tailback.lab import Setup
from tailback.lab.hosts import IDEAL, MEASURED, Hosts, HostTimes, take_time
from tailback.lab.parity import compare, figures, simulate
from tailback.lab.timing import as_data, can_be_told, from_data, hosts_of, with_log, without_log
from tailback.units import number

LOOSE = "10 s, 60 s"
"""A budget that a machine with other work keeps, too."""
USUAL = Hosts(20e6, HostTimes((1e-6,), (2e-6,), reading=(3e-6,)), HostTimes((4e-6,), (5e-6,)))
"""What no flow of these tests takes."""
KERNEL = HostTimes((10e-6, 20e-6), (12e-6,), reading=(60e-6, 90e-6))
OURS = HostTimes((40e-6, 90e-6), (50e-6, 130e-6))
SIZE: Mapping[str, Any] = {"transport": {"segment_size": "1500 B"}}


def _setup(*flows: Any, kernel: Mapping[str, str] | None = None, **fields: Any) -> Setup:
    table: dict[str, Any] = {"rate": "20 Mbit/s", "delay": "5 ms", "buffer": "50 packets", "duration": "8 s"}
    written = tb.dumbbell(**table | {"access": {"delay": "1 ms"}} | fields, flows=list(flows))
    return Setup(json.dumps(written.to_dict(full=True)), kernel or {})


def _told(setup: Setup, groups: Mapping[str, HostTimes]) -> Hosts:
    """What the log of a run tells in which groups take these times."""
    logged = with_log(setup)
    scenario = json.loads(logged.scenario)
    scenario["record"] |= {"links": "all"}  # The router's log has all of them.
    take_time(scenario, setup.kernel, [replace(USUAL, groups=groups)])
    return hosts_of(tb.Scenario.of(scenario).run(), setup, [USUAL])


def _close(told: tuple[float, ...], known: tuple[float, ...]) -> bool:
    """Whether times that stand for all have the mean of what is known."""
    return bool(np.mean(told) == pytest.approx(np.mean(known), rel=0.06))


def test_each_group_takes_what_its_own_hosts_took() -> None:
    linux = {"receiver": {"ack_every": 2, "sack_compression": {}}}
    other = OURS.each(lambda times: tuple(time / 2 for time in times))
    setup = _setup(
        tb.flows(1, "sack", name="kernel", **SIZE, **linux),
        tb.flows(2, "cubic", name="two", **SIZE),
        tb.flows(1, "cubic", name="one", **SIZE),
        kernel={"kernel": "reno"},
    )
    told = _told(setup, {"kernel": KERNEL, "two": OURS, "one": other})
    assert told.rate == 20e6
    assert list(told.groups) == ["kernel", "two", "one"]
    for name, known in (("kernel", KERNEL), ("two", OURS), ("one", other)):
        found = told.of(name, setup.kernel)
        assert _close(found.sender, known.sender), name
        assert len(found.sender) == 20
        if name == "kernel":
            assert _close(found.reading, known.reading)
        else:
            assert _close(found.receiver, known.receiver), name
            assert found.reading == ()


def test_an_end_with_a_clock_of_its_own_takes_what_the_other_end_takes() -> None:
    setup = _setup(
        tb.flows(1, "bbr1", name="paced", **SIZE),
        tb.flows(1, "copa", name="both", **_jittered("600 us")),
        tb.flows(1, "cubic", name="short", **_jittered("50 us")),
        tb.flows(1, "bbr1", name="kernel", **SIZE, receiver={"ack_every": 2}),
        kernel={"kernel": "bbr"},
    )
    told = _told(setup, {"paced": OURS, "both": OURS, "short": OURS, "kernel": KERNEL})
    for name in ("paced", "both", "short"):
        assert told.groups[name].sender == told.groups[name].receiver
        assert _close(told.groups[name].receiver, OURS.receiver), name
    assert told.groups["kernel"].sender == USUAL.kernel.sender, "of a sender of the kernel's its receiver says nothing"
    assert _close(told.groups["kernel"].reading, KERNEL.reading)


@pytest.mark.parametrize(("rate", "jitter"), [("20 Mbit/s", "600 us"), ("50 Mbit/s", "240 us")])
@pytest.mark.parametrize("scheme", ["reno", "cubic", "vegas"])
def test_what_a_sender_takes_is_told_beside_its_jitter(scheme: str, rate: str, jitter: str) -> None:
    flows = [tb.flows(1, scheme, name="a", **_jittered(jitter)), tb.flows(1, "cubic", name="b", **SIZE)]
    chance = 3e-6 + number(jitter) / 100
    for sender in (OURS.sender, (20e-6, 30e-6)):
        told = _told(_setup(*flows, rate=rate, duration="15 s"), {"a": replace(OURS, sender=sender), "b": OURS})
        assert np.mean(told.groups["a"].sender) == pytest.approx(np.mean(sender), abs=chance)
        assert _close(told.groups["a"].receiver, OURS.receiver)


def test_of_a_paced_sender_jitter_tells_nothing() -> None:
    flows = [tb.flows(1, "bbr1", name="a", **_jittered("240 us")), tb.flows(1, "cubic", name="b", **SIZE)]
    told = _told(_setup(*flows, rate="50 Mbit/s"), {"a": OURS, "b": OURS}).groups["a"]
    assert told.sender == told.receiver


def _jittered(time: str) -> dict[str, Any]:
    return {"transport": {"segment_size": "1500 B", "send_jitter": time}}


def test_what_a_log_tells_too_little_of_is_as_usual() -> None:
    quiet = {"source": {"name": "datagrams", "rate": "384 kbit/s"}}
    rate = {"name": "fixed-rate", "rate": "400 kbit/s"}
    setup = _setup(
        tb.flows(1, "cubic", name="late", start="7965 ms", **SIZE),
        tb.flows(1, rate, name="tone", **quiet),
        tb.flows(1, "cubic", name="guest", from_="s0", to="d0", **SIZE),
        tb.flows(1, "cubic", name="own", **SIZE),
    )
    told = _told(setup, {"own": OURS, "late": OURS})
    assert told.groups["late"] == told.groups["tone"] == USUAL.ours
    assert "guest" not in told.groups, "others' hosts are not its own"
    assert _close(told.groups["own"].receiver, OURS.receiver)


@pytest.mark.parametrize(
    ("fields", "is_told"),
    [
        ({}, True),
        ({"rate": "66 Mbit/s"}, True),
        ({"rate": "67 Mbit/s"}, False),
        ({"duration": "240 s"}, True),
        ({"duration": "241 s"}, False),
    ],
)
def test_packets_that_come_too_close_or_too_many_tell_nothing(fields: Mapping[str, Any], is_told: bool) -> None:
    assert can_be_told(_setup(tb.flows(1, "cubic", name="a"), **fields)) == is_told


def test_other_topologies_than_those_with_hosts_for_each_flow_tell_nothing() -> None:
    star = tb.Scenario.of(
        {
            "duration": "1 s",
            "topology": {"template": "star", "hosts": 2, "rate": "5 Mbit/s", "delay": "1 ms"},
            "flows": [{"name": "a", "scheme": "reno", "from": "h0", "to": "h1"}],
        }
    )
    assert not can_be_told(Setup(json.dumps(star.to_dict(full=True))))


def test_a_parking_lots_hosts_are_told_too() -> None:
    lot = tb.parking_lot(hops=2, rate="20 Mbit/s", delay="2 ms", buffer="50 packets", duration="4 s")
    setup = Setup(json.dumps(lot.with_flows(tb.flows(1, "cubic", name="a", **SIZE)).to_dict(full=True)))
    assert can_be_told(setup)
    assert _close(_told(setup, {"a": OURS}).groups["a"].receiver, OURS.receiver)


@pytest.mark.parametrize("asks", [False, True])
def test_a_log_that_nobody_asked_for_is_not_kept(asks: bool) -> None:
    setup = _setup(tb.flows(1, "cubic", name="a"), duration="1 s", record={"packets": asks})
    made = tb.Scenario.of(json.loads(with_log(setup).scenario)).run()
    assert made.packets.height > 0
    result = without_log(made, setup)
    assert (result.packets.height > 0) == asks
    assert result.scenario_data["record"]["packets"] == asks
    assert result.flows.equals(made.flows)


def test_hosts_are_the_same_after_they_were_kept() -> None:
    hosts = replace(USUAL, rate=5e6, groups={"a": KERNEL, "b": OURS})
    assert from_data(json.loads(json.dumps(as_data(hosts))), [USUAL]) == hosts


def test_simulated_runs_take_hosts_in_turn() -> None:
    flows = [tb.flows(1, "cubic", name=name, **SIZE) for name in "ab"]
    setup = _setup(*flows, duration="2 s")
    slow = replace(USUAL, groups={"a": HostTimes((3e-3,), (3e-3,))})
    quick = replace(USUAL, rate=1e6, groups={"a": HostTimes((1e-6,), (1e-6,))})
    assert quick.rate != slow.rate, "each run takes its own, whatever is nearest"
    turns = simulate(setup, 4, [slow, quick], each=True)
    assert [run.seed for run in turns] == [1, 2, 3, 4]
    for index, run in enumerate(turns):
        (alone,) = simulate(setup.with_seed(run.seed), 1, [(slow, quick)[index % 2]])
        assert run.hash == alone.hash
        (other,) = simulate(setup.with_seed(run.seed), 1, [(quick, slow)[index % 2]])
        assert run.hash != other.hash


@pytest.mark.usefixtures("able")
def test_runs_are_kept_with_what_hosts_took_and_outlive_new_fields(tmp_path: Path) -> None:
    from tools.write_parity import _kept

    setup = _setup(tb.flows(1, "cubic", name="a", **SIZE)).checked()
    before = json.loads(setup.scenario)
    del before["flows"][0]["transport"]["proportional_rate_reduction"]
    figure = {"of": "a", "metric": "share", "unit": "", "values": [0.5, 0.4]}
    data = {"valid": True, "hosts": [as_data(USUAL)] * 2, "setup": json.dumps(before), "each": [figure]}
    file = tmp_path / "kept.json"

    def values(**changed: object) -> list[list[float]]:
        file.write_text(json.dumps(data | changed), encoding="utf-8")
        return [found.values for found in _kept(file, setup)]

    assert values() == [[0.5, 0.4]]
    assert values(hosts=[]) == values(valid=False) == []
    before["flows"][0]["start"] = "1 s"
    assert values(setup=json.dumps(before)) == []


@pytest.mark.usefixtures("able")
def test_a_comparison_measures_hosts_in_its_own_runs() -> None:
    flows = [tb.flows(1, "cubic", name="ours", **SIZE), tb.flows(1, "sack", name="kernel", **SIZE)]
    setup = _setup(*flows, duration="4 s", kernel={"kernel": "reno"}).checked()
    parity = compare(setup, replicates=2, simulations=4, budget=LOOSE)
    assert len(parity.hosts) == len(parity.measured) == 2
    for hosts, result in zip(parity.hosts, parity.measured, strict=True):
        assert result.packets.is_empty()
        assert hosts.rate == 20e6
        assert len(hosts.groups["kernel"].sender) == len(hosts.groups["ours"].receiver) == 20
    # A run on a machine that did much else may tell too little of an end, which takes what is usual then.
    usual = {MEASURED[1].ours, MEASURED[1].kernel}
    assert any(not {hosts.groups["ours"], hosts.groups["kernel"]} & usual for hosts in parity.hosts)
    again = simulate(setup, 4, parity.hosts, each=True)
    assert figures(again) == figures(parity.simulated)
    assert figures(simulate(setup, 4, IDEAL)) != figures(parity.simulated)
