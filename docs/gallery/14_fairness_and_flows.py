"""Fairness falls with the number of flows.

The more flows share a link, the smaller their windows, the more of them wait for time-outs: Jain's index over a minute,
with 95 % confidence intervals.
"""

import tailback as tb

link = tb.dumbbell(rate="10 Mbit/s", delay="20 ms", buffer="25 packets", duration="60 s", warm_up="10 s")
base = link.with_flows(tb.flows(2, "sack", start={"from": "0 s", "to": "5 s"}))
runs = base.sweep(seeds=5, scheme=["sack", "cubic"], **{"flows[0].count": [2, 4, 8, 16, 32, 64]})

print(runs.intervals("jain").select(*runs.axes, "mean", "half_width").tail(6))
runs.plot.fairness("flows[0].count").savefig("fairness_and_flows.svg")
