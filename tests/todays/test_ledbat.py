"""LEDBAT (RFC 6817) and LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-06): their targets, and who gives way to whom. Oracle 11."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import tailback as tb
from tests.todays.networks import ACCESS, SEGMENT, bottleneck, fairness, run


def test_ledbat_settles_at_its_target_whatever_waits_on_the_way_back() -> None:
    """One flow queues 100 ms, within 5 %. Delays are one-way: with a full queue on the way back it still takes what is free,
    where LEDBAT++, which judges by round trips, gives way. Acknowledgements clump there (Zhang, Shenker and Clark 1991), so
    that an unpaced window leaves the link idle between its bursts."""
    link: dict[str, Any] = {
        "rate": "10 Mbit/s",
        "delay": "18 ms",
        "buffer": "8 BDP",
        "access": ACCESS,
    }
    back = tb.flows(1, "sack", name="back", from_="r1", to="r0")

    def there(scheme: str, **transport: Any) -> dict[str, Any]:
        one = tb.flows(1, scheme, name="one", transport={"segment_size": "1500 B", **transport})
        result = tb.dumbbell(**link, duration="120 s", warm_up="60 s", flows=[one, back]).run()
        return bottleneck(result)

    one = tb.flows(1, "ledbat", name="one", transport=SEGMENT)
    alone = tb.dumbbell(**link, duration="60 s", warm_up="30 s", flows=[one]).run()
    assert bottleneck(alone)["queueing_delay"] == pytest.approx(0.1, rel=0.05)
    assert there("ledbat", pacing={})["utilization"] > 0.8
    assert 0.4 < there("ledbat")["utilization"] < 0.8
    assert there("ledbat-plus-plus")["utilization"] < 0.2


@pytest.mark.parametrize("drift", [100.0, -100.0])
def test_a_clock_that_drifts_takes_from_ledbats_target(drift: float) -> None:
    """A receiver's clock that is fast adds to delays what it gains; until the base delay of the start is forgotten after ten
    minutes, LEDBAT takes that for queueing, and so much less waits. A slow one hides as much. The window follows a segment per
    round trip at most, so that the queue lags behind by 1.5 ms: 100 µs/s are an eightieth of a segment in 100 ms."""
    result = tb.dumbbell(
        rate="10 Mbit/s",
        delay="18 ms",
        buffer="8 BDP",
        access=ACCESS,
        duration="300 s",
        warm_up="250 s",
        flows=[tb.flows(1, {"name": "ledbat", "clock_drift": drift}, name="one")],
    ).run()
    assert bottleneck(result)["queueing_delay"] == pytest.approx(0.1 - 1e-6 * drift * 275, rel=0.05)


def test_a_late_ledbat_flow_starves_the_first_and_reno_starves_ledbat() -> None:
    """The latecomer takes the first one's 100 ms for the path and aims above them (RFC 6817 is known for it); a Reno flow
    that fills a larger buffer keeps nearly everything."""
    times = {"warm_up": "80 s", "duration": "120 s"}
    link: dict[str, Any] = {"rate": "10 Mbit/s", "delay": "18 ms", "buffer": "8 BDP", "access": ACCESS, **times}
    pair = [tb.flows(1, "ledbat", name="first"), tb.flows(1, "ledbat", name="late", start="20 s")]
    late = tb.dumbbell(**link, flows=pair).run().flows
    assert late.filter(pl.col("group") == "late")["goodput"][0] / late["goodput"].sum() > 0.9
    pair = [tb.flows(1, "ledbat", name="back"), tb.flows(1, "sack", name="reno")]
    beside = tb.dumbbell(**link, flows=pair).run().flows
    assert beside.filter(pl.col("group") == "reno")["goodput"][0] / beside["goodput"].sum() > 0.9


def test_ledbat_plus_plus_gives_way_to_reno_and_shares_with_a_late_flow() -> None:
    times = {"warm_up": "60 s", "duration": "180 s"}
    link: dict[str, Any] = {"rate": "10 Mbit/s", "delay": "18 ms", "buffer": "4 BDP", "access": ACCESS, **times}
    with_reno = tb.dumbbell(
        **link, flows=[tb.flows(1, "ledbat-plus-plus", name="back"), tb.flows(1, "sack", name="reno")]
    ).run()
    share = with_reno.flows.filter(pl.col("group") == "reno")["goodput"][0] / with_reno.flows["goodput"].sum()
    assert share > 0.9
    late = tb.dumbbell(
        **link,
        flows=[
            tb.flows(1, "ledbat-plus-plus", name="first"),
            tb.flows(1, "ledbat-plus-plus", name="late", start="20 s"),
        ],
    ).run()
    assert fairness(late) > 0.9
    assert bottleneck(late)["utilization"] > 0.85


@pytest.mark.parametrize("slowdowns", [True, False])
def test_11_ledbat_plus_plus_queues_its_target(slowdowns: bool) -> None:
    """60 ms within 5 %, its slowdowns included, which cost less than a tenth of the link."""
    one = tb.flows(1, {"name": "ledbat-plus-plus", "slowdowns": slowdowns}, name="one", transport=SEGMENT)
    found = bottleneck(run("10 Mbit/s", 40, (30, 120), [one], buffer="8 BDP"))
    assert found["queueing_delay"] == pytest.approx(0.060, rel=0.05)
    assert (0.9 if slowdowns else 0.999) < found["utilization"] <= (0.99 if slowdowns else 1)
