"""What hosts of the simulator take of the time that real ones take, beside the laboratory, and how that is measured. Nothing here
runs with real packets."""

import json

import polars as pl
import pytest

import tailback as tb
from tailback.lab.hosts import IDEAL, MEASURED, Hosts, HostTimes, nearest, rate_of, take_time
from tailback.lab.run import LabError


def _written(scheme: str = "reno", **access: object) -> tb.Scenario:
    flows = [tb.flows(1, "sack", name="kernel"), tb.flows(2, scheme, name="ours")]
    return tb.dumbbell(rate="5 Mbit/s", delay="2 ms", access={"delay": "1 ms", **access}, flows=flows)


def _hosts(rate: float = 5e6) -> Hosts:
    return Hosts(rate, HostTimes((10e-6, 20e-6), (30e-6,)), HostTimes((40e-6,), (50e-6, 60e-6)))


def test_hosts_take_packets_in_batches_on_the_links_of_templates() -> None:
    written = _written()
    scenario = written.to_dict(full=True)
    take_time(scenario, {"kernel"}, [_hosts()])
    values = {
        end: [table["time"]["values"] for table in scenario["topology"][end]["coalescing"]]
        for end in ("access", "receiver_access")
    }
    assert values["access"] == [["10 µs", "20 µs"], ["40 µs"], ["40 µs"]]
    assert values["receiver_access"] == [["30 µs"], ["50 µs", "60 µs"], ["50 µs", "60 µs"]]
    assert scenario["topology"]["access"]["delay"] == scenario["topology"]["receiver_access"]["delay"] == "1 ms"
    assert scenario["flows"] == written.to_dict(full=True)["flows"]
    tb.Scenario.of(scenario)
    before = written.to_dict(full=True)
    take_time(before, {"kernel"}, IDEAL)
    assert before == written.to_dict(full=True)


def test_schemes_that_time_packets_get_each_of_them_later_by_the_mean() -> None:
    scenario = _written("packet-pair").to_dict(full=True)
    take_time(scenario, {"kernel"}, [_hosts()])
    # Both ways of an access link are longer by half of what its host takes.
    assert scenario["topology"]["access"]["delay"] == ["1 ms", "1020 µs", "1020 µs"]
    assert scenario["topology"]["receiver_access"]["delay"] == ["1 ms", "1027500 ns", "1027500 ns"]
    assert [table["time"]["values"] for table in scenario["topology"]["access"]["coalescing"]][1:] == [
        ["1 ns"],
        ["1 ns"],
    ]
    tb.Scenario.of(scenario)


def test_programs_of_the_kernels_flows_take_time_to_read() -> None:
    kernel = HostTimes((10e-6,), (5e-6,), reading=(70e-6, 80e-6))
    hosts = [Hosts(5e6, kernel, HostTimes((40e-6,), (50e-6,)))]
    written = _written()
    scenario = written.to_dict(full=True)
    take_time(scenario, {"kernel"}, hosts)
    assert scenario["flows"][0]["receiver"]["reading"] == {"name": "empirical", "values": ["70 µs", "80 µs"]}
    assert scenario["flows"][1] == written.to_dict(full=True)["flows"][1]
    tb.Scenario.of(scenario)
    # What a scenario says itself stays: of the program, and of the hosts on that side.
    said = written.to_dict(full=True)
    said["flows"][0]["receiver"]["reading"] = "1 ms"
    take_time(said, {"kernel"}, hosts)
    assert said["flows"][0]["receiver"]["reading"] == "1 ms"
    given = _written(coalescing={"time": "7 us"}).to_dict(full=True)
    take_time(given, {"kernel"}, hosts)
    assert "reading" not in given["flows"][0]["receiver"]


def test_what_a_scenario_says_of_its_hosts_stays() -> None:
    scenario = _written(coalescing={"time": "7 us"}).to_dict(full=True)
    given = json.loads(json.dumps(scenario["topology"]["access"]))
    take_time(scenario, {"kernel"}, [_hosts()])
    assert scenario["topology"]["access"] == scenario["topology"]["receiver_access"] == given


def test_a_side_of_which_a_scenario_says_nothing_is_as_measured_beside_one_that_it_describes() -> None:
    written = tb.dumbbell(
        rate="5 Mbit/s",
        receiver_access={"delay": "1 ms", "coalescing": {"time": "7 us"}},
        flows=[tb.flows(1, "sack", name="kernel")],
    )
    scenario = written.to_dict(full=True)
    take_time(scenario, {"kernel"}, [_hosts()])
    assert scenario["topology"]["access"]["coalescing"]["time"]["values"] == ["10 µs", "20 µs"]
    assert scenario["topology"]["receiver_access"] == written.to_dict(full=True)["topology"]["receiver_access"]


@pytest.mark.parametrize("rate", ["20 Mbit/s", "50 Mbit/s"])
def test_simulated_hosts_take_what_the_tool_that_measures_real_ones_finds(rate: str) -> None:
    """At the rates that were measured, packets of one flow come further apart than hosts take, so that each is a batch."""
    from tailback.lab.timing import both_ends

    kernel = HostTimes((10e-6, 20e-6), (12e-6,), reading=(60e-6, 90e-6))
    hosts = Hosts(20e6, kernel, HostTimes((40e-6, 90e-6), (50e-6, 60e-6, 130e-6)))
    full = {"transport": {"segment_size": "1500 B"}}
    written = tb.dumbbell(
        rate=rate,
        delay="5 ms",
        buffer="50 packets",
        access={"delay": "1 ms"},
        flows=[
            tb.flows(1, "sack", name="kernel", receiver={"ack_every": 2, "sack_compression": {}}, **full),
            # It shares hosts and has none, so that the next flow has those of the number 2.
            tb.flows(1, "cubic", name="shared", from_="s0", to="d0", start="7900 ms", **full),
            tb.flows(1, "cubic", name="ours", **full),
        ],
        duration="8 s",
        record={"packets": True, "links": "all"},
    )
    scenario = written.to_dict(full=True)
    take_time(scenario, {"kernel"}, [hosts])
    result = tb.Scenario.of(scenario).run()
    for name, index, given in (("kernel", 0, hosts.kernel), ("ours", 2, hosts.ours)):
        for end, times in both_ends(result, name, index, is_read=name == "kernel").items():
            known = getattr(given, end)
            if end == "receiver" and name == "kernel":
                # Beside a hole, until three of a row have been acknowledged: a few for each loss.
                assert len(times) >= 6
                assert set(times.round(9)) == set(known)
                continue
            found = times.round(9)
            # Where packets of the flow that shares the hosts began a batch, the kernel's are taken sooner. A retransmission
            # now and then waited for its time and answers nothing.
            right = [float((found == time).sum()) for time in known]
            assert len(found) > 300
            assert sum(right) >= (0.999 if name == "ours" else 0.95) * len(found)
            assert min(right) > 0.8 * len(found) / len(known), "all are about equally likely"


def test_a_reader_is_measured_while_its_window_does_not_grow_and_beside_a_hole_until_acknowledgements_wait() -> None:
    import numpy as np

    from tailback.lab.timing import BEGINNING, GROWING, _reader

    arrived = np.arange(6000) * 1e-3
    taken, sizes = np.full(6000, 80e-6), np.full(6000, 52)
    taken[arrived < BEGINNING] = 40e-6
    sizes[4000:4005] = 64
    taken[4000:4005] = [10e-6, 11e-6, 12e-6, 150e-6, 150e-6]
    taken[4005 : 4005 + GROWING - 1] = 30e-6
    taken[5500] = 300e-6
    left = pl.DataFrame({"time": arrived + taken, "size": sizes})
    found = _reader(np.asarray(arrived, dtype=np.float64), left)
    assert found["receiver"] == pytest.approx([10e-6, 11e-6, 12e-6])
    assert found["reading"] == pytest.approx(np.full(3000 - 5 - GROWING, 69e-6))


def test_an_end_of_which_a_run_tells_nothing_is_named() -> None:
    import numpy as np

    from tools.host_times import told_of

    assert told_of(np.array([1e-6, 2e-6]), "both")[0] == pytest.approx(1.0, abs=0.1)
    with pytest.raises(LabError, match=r"5 Mbit/s, ours, sender: nothing was answered"):
        told_of(np.array([]), "5 Mbit/s, ours, sender")


def test_hosts_are_those_of_the_nearest_rate() -> None:
    hosts = [_hosts(1e6), _hosts(1e8)]
    assert nearest(hosts, 9e6) is hosts[0]
    assert nearest(hosts, 11e6) is hosts[1]
    assert rate_of(_written().to_dict(full=True)) == 5e6
    links = [{"from": "a", "to": "b", "rate": "5 Mbit/s"}, {"from": "b", "to": "c", "rate": "4 Mbit/s"}]
    graph = tb.Scenario.of(
        {
            "duration": "1 s",
            "topology": {"template": "graph", "links": links},
            "flows": [{"name": "ours", "scheme": "reno", "from": "a", "to": "c"}],
        }
    )
    assert rate_of(graph.to_dict(full=True)) == 4e6


def test_measured_hosts_are_quicker_where_they_sleep_less() -> None:
    assert [hosts.rate for hosts in MEASURED] == [5e6, 20e6, 50e6]
    for who in ("kernel", "ours"):
        means = [getattr(hosts, who).mean for hosts in MEASURED]
        assert means == sorted(means, reverse=True)
        assert all(0.0 < mean < 400e-6 for mean in means)


@pytest.mark.parametrize(
    ("topology", "ends"),
    [
        ({"template": "star", "hosts": 2, "rate": "5 Mbit/s", "delay": "1 ms"}, ("h0", "h1")),
        ({"template": "home", "devices": ["tv"], "rate": "5 Mbit/s"}, (None, "tv")),
        ({"template": "graph", "links": [{"from": "a", "to": "b", "rate": "5 Mbit/s"}]}, ("a", "b")),
    ],
)
def test_other_topologies_stay_as_they_are_and_send_jitter_stands_for_hosts(
    topology: dict[str, object], ends: tuple[str | None, str]
) -> None:
    near, far = ends
    way = {"to": far} | ({"from": near} if near else {})
    written = tb.Scenario.of(
        {
            "duration": "1 s",
            "topology": topology,
            "flows": [
                {"name": "ours", "scheme": "reno", "transport": {"send_jitter": "1 ms"}, **way},
                {"name": "calm", "scheme": "reno", **way},
            ],
        }
    )
    scenario = written.to_dict(full=True)
    take_time(scenario, set(), [_hosts()])
    # Of 50 and 60 µs the standard deviation is 5 µs, of which a uniform time has 5 µs times the root of 12 between its ends.
    assert scenario["flows"][0]["transport"]["send_jitter"] == "1017321 ns"
    assert scenario["flows"][1] == written.to_dict(full=True)["flows"][1]
    assert scenario["topology"] == written.to_dict(full=True)["topology"]
    tb.Scenario.of(scenario)


@pytest.mark.parametrize("batch", [0.4, 3.0])
def test_a_batch_makes_round_trips_longer_by_its_time(batch: float) -> None:
    """A window of one packet: each packet begins a batch at the receiver, and each acknowledgement one at the sender."""

    def round_trip(**access: object) -> float:
        scenario = tb.dumbbell(
            rate="10 Mbit/s",
            delay="5 ms",
            access={"delay": "1 ms", **access},
            flows=[tb.flows(1, {"name": "fixed-window", "window": "1 packet"})],
            duration="5 s",
        )
        return float(scenario.run().flows["mean_rtt"].item())

    longer = round_trip(coalescing={"time": f"{batch} ms"}) - round_trip()
    assert longer == pytest.approx(2 * batch * 1e-3, rel=1e-6)
