"""Marks instead of drops.

RED marks packets of flows that understand marks and drops those of flows that do not. The marked flows send nothing
again, and get a little more.
"""

import tailback as tb

red = {"name": "red", "min": "15 packets", "max": "45 packets", "gentle": True, "ecn": True}
link = tb.dumbbell(rate="10 Mbit/s", delay="20 ms", buffer="100 packets", queue=red, duration="60 s", warm_up="10 s")
marked = tb.flows(4, "sack", name="marked", transport={"ecn": "ect0"}, start={"from": "0 s", "to": "2 s"})
dropped = tb.flows(4, "sack", name="dropped", start={"from": "0 s", "to": "2 s"})
runs = link.with_flows(marked, dropped).sweep(seeds=10)

found = runs.intervals("goodput", "retransmission_rate", by="group")
print(found.select("group", "metric", "mean", "half_width"))
runs.plot.throughput_delay(delay="mean_rtt").savefig("ecn.svg")
