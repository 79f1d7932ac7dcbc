"""How much buffer do so many flows need?

One flow needs a buffer of the bandwidth-delay product to keep the link busy (here about 75 packets). Sixteen fill a small
buffer a little better. The textbook's saving, by the square root of their number, needs sawteeth that do not move
together, and at equal round trip times behind drop-tail they do.
"""

import tailback as tb

link = tb.dumbbell(rate="10 Mbit/s", delay="20 ms", duration="60 s", warm_up="20 s")
base = link.with_flows(tb.flows(1, "sack", start={"from": "0 s", "to": "5 s"}))
axes = {
    "buffer": ["5 packets", "10 packets", "20 packets", "40 packets", "80 packets"],
    "flows[0].count": [1, 2, 4, 8, 16],
}
runs = base.sweep(seeds=3, **axes)

alone = runs.select(**{"flows[0].count": 1}).intervals("utilization")
print(alone.select("buffer", "mean", "half_width"))
runs.plot.heatmap("utilization", "buffer", "flows[0].count").savefig("buffer_and_flows.svg")
