"""Today's schemes beside ns-3 3.37: figures of `benches/ns3/dumbbell.cc`, one run each, held against the same dumbbells here.

Where ns-3 cannot be trusted, docs/todays-schemes.md says so, and there is no row.
"""

from __future__ import annotations

from typing import Any

import pytest

import tailback as tb
from tests.todays.networks import ACCESS, SEGMENT, mean, waiting

SHARE = 1446 / 1500
"""What is data of a packet, which alone counts in ns-3."""


def dumbbell(schemes: list[tuple[str, float]], seconds: float, warm_up: float, **link: Any) -> tb.Result:
    """Flows of schemes with their starts, on packets of 1500 bytes."""
    return tb.dumbbell(
        duration=f"{seconds} s",
        warm_up=f"{warm_up} s",
        access=ACCESS,
        flows=[
            tb.flows(1, scheme, name=f"flow{index}", start=f"{start} s", transport=SEGMENT)
            for index, (scheme, start) in enumerate(schemes)
        ],
        record={"bin": "0.2 ms" if link["rate"] == "100 Mbit/s" else "1 ms"},
        **link,
    ).run()


@pytest.mark.parametrize(
    ("flows", "threshold", "goodput", "average", "most"),
    [(1, 3, 96.0404, 1.45945, 4), (2, 20, 96.3991, 16.67, 22), (4, 20, 96.4019, 16.758, 25)],
)
def test_dctcp_as_in_ns3(flows: int, threshold: int, goodput: float, average: float, most: int) -> None:
    """100 Mbit/s, 4 ms, marks from the threshold on: what is used within 1 %, the mean queue within 10 %, the largest within a
    packet."""
    result = dumbbell(
        [("dctcp", 0.01 * index) for index in range(flows)],
        6,
        2,
        rate="100 Mbit/s",
        delay="0.0001 ms",
        buffer="1000 packets",
        queue={"name": "step", "threshold": f"{threshold} packets"},
    )
    assert float(result.flows["goodput"].sum()) / 1e6 * SHARE == pytest.approx(goodput, rel=0.01)
    packets = waiting(result, 2)
    assert mean(packets) == pytest.approx(average, rel=0.1)
    assert abs(int(packets.to_numpy().max()) - most) <= 1


def test_ledbat_beside_reno_and_a_latecomer_as_in_ns3() -> None:
    """10 Mbit/s, 40 ms, 267 packets: Reno's share within 1 %; the first of two LEDBAT flows has less than a twentieth."""
    link: dict[str, Any] = {"rate": "10 Mbit/s", "delay": "18 ms", "buffer": "267 packets"}
    goodput = dumbbell([("sack", 0), ("ledbat", 0.01)], 120, 80, **link).flows["goodput"]
    theirs = 9.48981 / (9.48981 + 0.107004)
    assert goodput[0] / goodput.sum() == pytest.approx(theirs, rel=0.01)
    goodput = dumbbell([("ledbat", 0), ("ledbat", 20)], 120, 80, **link).flows["goodput"]
    assert goodput[0] / goodput.sum() < 0.05  # There 0.316385 of 9.6399 Mbit/s.


def test_bbr_alone_as_in_ns3() -> None:
    """10 Mbit/s, 40 ms, 133 packets: what is used within 1 %. ns-3's mean queue is 4.7 packets in two runs and 13.8 in a third."""
    result = dumbbell([("bbr1", 0)], 40, 10, rate="10 Mbit/s", delay="18 ms", buffer="133 packets")
    assert float(result.flows["goodput"][0]) / 1e6 * SHARE == pytest.approx(9.42715, rel=0.01)
    assert 4 < mean(waiting(result, 10)) < 14
