"""Three queues, one load: drop-tail, RED, CoDel.

Drop-tail fills whatever buffer it has. CoDel keeps the queue short at nearly the same throughput; RED, with the settings
that it has by default, pays for its shorter queue with a few per cent of the link.
"""

import tailback as tb

link = tb.dumbbell(rate="20 Mbit/s", delay="25 ms", buffer="200 packets", duration="40 s", warm_up="10 s")
mixed = link.with_flows(tb.flows(8, "cubic", start={"from": "0 s", "to": "3 s"}))
runs = mixed.sweep(queue=["drop-tail", "red", "codel"], seeds=6)

print(runs.intervals("throughput", "queueing_delay").select("queue", "metric", "mean", "half_width", "unit"))
runs.plot.throughput_delay().savefig("queues_compared.svg")
