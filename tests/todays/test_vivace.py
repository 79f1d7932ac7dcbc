"""PCC Vivace (Dong et al., NSDI 2018): the loss that it bears, and how two flows share."""

from __future__ import annotations

import tailback as tb
from tests.todays.networks import ACCESS, alone, bottleneck, fairness


def test_vivace_bears_random_loss_below_five_per_cent() -> None:
    """Its utility makes loss of 0.9 r^-0.1/11.35 and more too dear: 5 % at 100 Mbit/s. At 1 % it has nearly all, at 12 % nothing
    to speak of; in between, an interval's loss is noise (`vivace/mod.rs`)."""
    goodput = [
        float(
            alone("vivace", rate="100 Mbit/s", buffer="1 BDP", loss={"name": "independent", "probability": loss}).flows[
                "goodput"
            ][0]
        )
        for loss in (0.01, 0.12)
    ]
    assert goodput[0] > 0.9 * 0.96 * 100e6
    assert goodput[1] < 0.1 * goodput[0]


def test_two_vivace_flows_share_without_a_queue() -> None:
    """Equal utilities have one equilibrium, with equal rates (Dong et al., §3); latency's price keeps the queue short."""
    result = tb.dumbbell(
        rate="60 Mbit/s",
        delay="8 ms",
        buffer="4 BDP",
        duration="60 s",
        warm_up="40 s",
        access=ACCESS,
        flows=[tb.flows(1, "vivace", name="one"), tb.flows(1, "vivace", name="late", start="5 s")],
    ).run()
    assert fairness(result) > 0.9
    assert bottleneck(result)["utilization"] > 0.85
    assert bottleneck(result)["queueing_delay"] < 0.02
