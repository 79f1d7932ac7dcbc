"""The delay that PIE holds where a trace decides when packets leave: its target, however fast the link is just then. How PIE
moves its probability is tested in crates/qdisc."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tailback as tb
from tailback.capture.mahimahi import delivery_trace, write_mahimahi

TARGET = 0.04
BIN = 0.01
PLATEAU = 30
"""Seconds at one rate: it takes PIE some seconds to settle, as its steps are small."""
SLOW, FAST = 2e6, 12e6


@pytest.mark.parametrize("rates", [(FAST, SLOW), (SLOW, FAST)], ids=["slow", "fast"])
def test_pie_holds_its_target_at_every_rate_of_a_trace(tmp_path: Path, rates: tuple[float, float]) -> None:
    """Both traces have the mean of 7 Mbit/s. With this rate, the delay would be 3.5 times the target on the slow plateau, and
    0.6 times on the fast one. A quarter is what Reno's sawtooth and the packets of 6 ms leave open."""
    trace = tmp_path / "cellular.trace"
    write_mahimahi(trace, delivery_trace(np.repeat(rates, int(PLATEAU / BIN)) * BIN / 8, BIN))
    link = tb.dumbbell(
        rate="12 Mbit/s",
        delay="25 ms",
        buffer="400 packets",
        duration=f"{2 * PLATEAU} s",
        warm_up=f"{2 * PLATEAU - 20} s",
        queue={"name": "pie", "target": f"{TARGET * 1e3} ms"},
    ).replace(trace={"file": str(trace), "opportunity": "1500 B"})
    run = link.with_flows(tb.flows(4, "reno", transport={"segment_size": "1500 B"})).run()
    delay = run.links.filter(run.links["link"] == run.bottleneck)["queueing_delay"][0]
    assert delay == pytest.approx(TARGET, rel=0.25)
