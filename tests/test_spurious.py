"""A path that holds everything up for a moment, end to end: time-outs that were none (RFC 5682, RFC 3522), and pacing."""

from __future__ import annotations

from typing import Any

import pytest

import tailback as tb


def held_up(scheme: str, detection: str) -> tuple[dict[str, Any], list[float]]:
    """Ten seconds of one flow whose path is 350 ms longer for a third of a second; its counters, and its window in packets
    every 100 ms. Nothing is ever lost."""
    transport = {"spurious": detection, "window_limit": "100 packets", "initial_ssthresh": "50 packets"}
    result = tb.dumbbell(
        rate="20 Mbit/s",
        delay="20 ms",
        buffer="1000 packets",
        duration="10 s",
        flows=[tb.flows(1, scheme, name="one", transport=transport)],
        schedule=[{"at": "3 s", "delay": "370 ms"}, {"at": "3.3 s", "delay": "20 ms"}],
        record={"bin": "100 ms", "flows": "all"},
    ).run()
    assert int(result.links["dropped_packets"].sum()) == 0
    return result.flows.row(0, named=True), (result.series(flow="one")["window"] / 1000).to_list()


@pytest.mark.parametrize("scheme", ["reno", "newreno", "sack", "cubic"])
@pytest.mark.parametrize("detection", ["f-rto", "eifel"])
def test_a_time_out_that_was_none_leaves_no_trace(scheme: str, detection: str) -> None:
    plain, believed = held_up(scheme, "off")
    assert plain["timeouts"] == 1
    assert plain["duplicate_packets"] > 50, "a whole window is retransmitted for nothing"
    assert believed[36] < 0.75 * believed[29]

    found, window = held_up(scheme, detection)
    assert found["timeouts"] == 1
    assert (found["retransmitted_packets"], found["duplicate_packets"]) == (1, 1)
    assert window[36] >= window[29]
    assert found["goodput"] > 1.05 * plain["goodput"]


@pytest.mark.parametrize("scheme", ["newreno", "cubic", "vegas"])
def test_any_window_can_be_paced(scheme: str) -> None:
    def run(transport: dict[str, Any]) -> tb.Result:
        return tb.dumbbell(
            rate="10 Mbit/s",
            delay="50 ms",
            buffer="1000 packets",
            duration="3 s",
            flows=[tb.flows(1, scheme, name="one", transport=transport)],
            access={"rate": "1 Gbit/s", "delay": "0 s"},
            record={"bin": "10 ms", "flows": "all"},
        ).run()

    plain, paced = run({}), run({"pacing": {"factor": 2}})
    assert plain.series(flow="one")["directed_rate"].drop_nulls().drop_nans().is_empty()
    series = paced.series(flow="one").drop_nulls("directed_rate")
    # The rate is that of the window at the time: twice the window per smoothed round trip.
    expected = 2 * 8 * series["window"] / series["smoothed_rtt"]
    assert float(((series["directed_rate"] - expected).abs() / expected).max()) < 0.01  # type: ignore[arg-type]


def swings(margin: str) -> dict[str, Any]:
    """Forty seconds of one flow whose round trips of a quarter of a second never vary, but for three that are 20 ms longer."""
    changes = [{"at": f"{at} s", "delay": "120 ms"} for at in (10.5, 20.5, 30.5)]
    changes += [{"at": f"{at} s", "delay": "140 ms"} for at in (10, 20, 30)]
    result = tb.dumbbell(
        rate="20 Mbit/s",
        delay="120 ms",
        buffer="100 packets",
        duration="40 s",
        flows=[tb.flows(1, "cubic", transport={"window_limit": "20 packets", "rto": {"margin_min": margin}})],
        schedule=sorted(changes, key=lambda change: float(change["at"].split()[0])),
    ).run()
    assert int(result.links["dropped_packets"].sum()) == 0
    return result.flows.row(0, named=True)


def test_a_margin_above_the_round_trip_lets_no_small_swing_time_out() -> None:
    plain, spared = swings("0 s"), swings("200 ms")
    assert plain["timeouts"] == 3, "four variations of round trips that never vary are next to nothing"
    assert (spared["timeouts"], spared["retransmitted_packets"]) == (0, 0)
    assert spared["goodput"] > plain["goodput"]


def test_a_margin_above_the_longest_timeout_is_refused() -> None:
    rto = {"margin_min": "3 s", "max": "2 s"}
    flow = tb.flows(1, "cubic", transport={"rto": rto})
    with pytest.raises(tb.ScenarioError, match=r"flows\[0\]\.transport\.rto\.margin_min: 3 s .* at most max \(2 s\)"):
        tb.dumbbell(rate="20 Mbit/s", delay="20 ms", flows=[flow])
