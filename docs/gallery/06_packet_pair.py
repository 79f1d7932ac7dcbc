"""Packet-pair over fair queueing.

A fair queue spaces the two packets of a pair by the time that the bottleneck takes for one of this flow's: each sender
reads its own share from its acknowledgements, and follows it at once when others come.
"""

import tailback as tb

link = tb.dumbbell(
    rate="4 Mbit/s", delay="20 ms", buffer="100 packets", queue="weighted-fair-queueing", duration="20 s"
)
scheme = {"name": "packet-pair", "setpoint": {"name": "fixed", "packets": 3}}
joining = [tb.flows(1, scheme, name=f"flow {number}", start=f"{4 * number} s") for number in range(4)]
result = link.with_flows(*joining).run()

print("packets lost:", int(result.links["dropped_packets"].sum()))
result.plot.throughput().savefig("packet_pair.svg")
