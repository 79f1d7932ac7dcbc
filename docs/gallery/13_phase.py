"""The window walks around the queue.

While the link is busy, every packet more in the window is a packet more in the queue: a straight line. Halving leaves
the line, through an empty queue where the buffer is too small.
"""

import tailback as tb

link = tb.dumbbell(rate="10 Mbit/s", delay="20 ms", buffer="40 packets", duration="60 s", warm_up="20 s")
result = link.with_flows(tb.flows(1, "sack")).replace(record={"bin": "50 ms"}).run()

row = result.links.filter(result.links["link"] == result.bottleneck)
print(f"utilization {row['utilization'][0]:.1%}, buffer {row['buffer_packets'][0]:.0f} packets")
result.plot.phase().savefig("phase.svg")
