"""HyStart++ (RFC 9406) end to end: CUBIC's slow start on a path whose bandwidth-delay product is 1000 packets."""

from __future__ import annotations

from typing import Any

import polars as pl

import tailback as tb

BDP = 1000
"""Packets: 100 Mbit/s times a round trip of 80 ms."""


def start_up(*, hystart: bool = True, **fields: Any) -> tuple[pl.DataFrame, int]:
    """The first four seconds of one flow: its window over time, and how many packets were dropped."""
    made: dict[str, Any] = {"buffer": "3 BDP", **fields}
    result = tb.dumbbell(
        rate="100 Mbit/s",
        delay="40 ms",
        duration="4 s",
        flows=[tb.flows(1, {"name": "cubic", "hystart": hystart}, name="cubic")],
        access={"rate": "10 Gbit/s", "delay": "0 s"},
        record={"bin": "20 ms", "flows": "all"},
        **made,
    ).run()
    series = result.series(flow="cubic").select("time", (pl.col("window") / 1000).alias("window"))
    return series, int(result.links["dropped_packets"].sum())


def window(series: pl.DataFrame, time: float) -> float:
    """The window in packets at the end of a bin."""
    return float(series.filter((pl.col("time") - time).abs() < 0.001)["window"][0])


def test_slow_start_leaves_before_it_overshoots() -> None:
    # A standing queue shows when the window has passed the path's 1000 packets and has doubled once more at most; five
    # rounds of conservative slow start may then make it 1.25⁵ = 3.05 times as large (RFC 9406 §4.3), 7.6 times in all.
    _, lost = start_up(hystart=False, buffer="8 BDP")
    assert lost > 5 * BDP, "slow start ends in a burst of losses, whatever the buffer"
    series, lost = start_up(buffer="8 BDP")
    assert lost == 0
    assert BDP < float(series["window"].max()) < 7.6 * BDP  # type: ignore[arg-type]
    # Left for good: congestion avoidance goes on.
    assert window(series, 4.0) < 1.05 * window(series, 3.0)


def test_over_a_small_buffer_less_is_lost() -> None:
    _, plain = start_up(hystart=False, buffer="1 BDP")
    _, lost = start_up(buffer="1 BDP")
    assert 0 < lost < 0.3 * plain


def test_a_lasting_rise_of_the_round_trip_ends_slow_start() -> None:
    series, lost = start_up(schedule=[{"at": "0.2 s", "delay": "60 ms"}])
    assert lost == 0
    # Five rounds at a quarter of the growth, 1.25 each (RFC 9406 §4.3), after the alarm; then congestion avoidance.
    end = window(series, 1.2)
    assert end < 0.6 * BDP
    assert window(series, 4.0) < 1.3 * end


def test_slow_start_goes_on_when_the_rise_has_passed() -> None:
    lasting, _ = start_up(schedule=[{"at": "0.2 s", "delay": "60 ms"}])
    passing, _ = start_up(schedule=[{"at": "0.2 s", "delay": "60 ms"}, {"at": "0.4 s", "delay": "40 ms"}])
    # Until the round trip falls both have heard the same: conservative slow start at a quarter of the growth.
    assert passing.filter(pl.col("time") < 0.4).equals(lasting.filter(pl.col("time") < 0.4))
    growth = window(passing, 0.48) / window(passing, 0.36)
    assert growth < 1.5
    # Then it doubles each round trip again, up to the path's capacity.
    assert window(passing, 0.7) > 2 * window(passing, 0.56)
    assert float(passing["window"].max()) > BDP  # type: ignore[arg-type]
    assert window(passing, 1.0) > 3 * window(lasting, 1.0)
