"""Slow start overshoots.

Slow start doubles the window every round trip and hears of its mistake a round trip late: the queue overflows and many
packets of one window are lost at once. Where slow start ends at the bandwidth-delay product, none is lost until the buffer is full.
"""

import tailback as tb

link = tb.dumbbell(rate="10 Mbit/s", delay="40 ms", buffer="60 packets", duration="8 s", record={"bin": "20 ms"})
free = link.with_flows(tb.flows(1, "sack")).run()
held = link.with_flows(tb.flows(1, "sack", transport={"initial_ssthresh": "125 packets"})).run()

print("packets lost:", *(int(result.links["dropped_packets"].sum()) for result in (free, held)))
free.plot.overview().savefig("slow_start.svg")
