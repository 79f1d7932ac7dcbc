"""Vegas beside Reno starves.

Vegas backs off when its round trips grow, Reno when packets are lost. In one queue, Reno's packets are what makes
Vegas's round trips grow.
"""

import tailback as tb

link = tb.dumbbell(rate="10 Mbit/s", delay="20 ms", buffer="100 packets", duration="60 s", warm_up="20 s")
both = link.with_flows(tb.flows(1, "vegas"), tb.flows(1, "sack", name="reno", start="15 s")).run()

print(both.flows.select("flow", "goodput", "mean_rtt"))
both.plot.overview().savefig("vegas_and_reno.svg")
