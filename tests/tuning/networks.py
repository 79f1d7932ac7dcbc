"""Networks whose queues are tuned. No tests."""

from __future__ import annotations

from pathlib import Path

import tailback as tb
from tailback.tuning import Tuned, tune_tdqm

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "newark.toml"
PACKET = 8000
"""Bits."""


def bottleneck(users: int, rate: float, round_trip: float, seconds: float = 60.0, g: float = 1.0) -> tb.Scenario:
    """Users with endless files over a link with a buffer of one bandwidth-delay product, or of 20 packets.

    Args:
        users: all alike.
        rate: Mbit/s.
        round_trip: ms.
        seconds: a quarter of them is warm-up.
        g: of the scheme.
    """
    product = rate * 1e3 * round_trip / PACKET
    return tb.dumbbell(
        rate=f"{rate} Mbit/s",
        delay=f"{0.475 * round_trip:.3f} ms",
        buffer=f"{max(round(product), 20)} packets",
        queue={"name": "tdqm"},
        access={"rate": "1 Gbit/s", "delay": f"{12.5 * round_trip:.0f} us"},
        duration=f"{seconds} s",
        warm_up=f"{seconds / 4} s",
        flows=[
            tb.flows(
                users,
                {"name": "newark", "g": g},
                start={"from": "0 s", "to": "1 s"},
                transport={
                    "segment_size": "1000 B",
                    "receive_window": "10000 packets",
                    "window_limit": "10000 packets",
                },
            )
        ],
    )


def tuned(scenario: tb.Scenario, target: float) -> Tuned:
    return tune_tdqm(scenario, scenario.run(), utilization=target)
