"""Flows that lose together.

A full drop-tail buffer drops packets of many flows within a round trip; all halve at once, and the queue swings. RED
drops early and at random: fewer flows are hit by each event.
"""

import tailback as tb
from tailback.results.losses import loss_synchronisation

link = tb.dumbbell(rate="16 Mbit/s", delay="30 ms", buffer="100 packets", duration="60 s", warm_up="20 s")
link = link.replace(record={"packets": True})
flows = tb.flows(8, "sack", start={"from": "0 s", "to": "5 s"})
full = link.with_flows(flows).run()
early = link.with_flows(flows).replace(queue="red").run()

print(
    f"flows hit by a loss event: {loss_synchronisation(full):.0%} with drop-tail, {loss_synchronisation(early):.0%} with RED"
)
full.plot.window().savefig("synchronised_losses.svg")
