"""A long way round the parking lot.

One long flow crosses three bottlenecks, each shared with a short one. It meets three times the losses at a longer round
trip, and gets less than its share of any of them.
"""

import tailback as tb

chain = tb.parking_lot(
    hops=3, rate="10 Mbit/s", delay="10 ms", buffer="50 packets", duration="90 s", warm_up="20 s", queue="red"
)
chain = chain.replace(record={"bin": "1 s"})
start = {"from": "0 s", "to": "5 s"}
hops = [tb.flows(1, "sack", name=f"hop {hop}", from_=f"r{hop}", to=f"r{hop + 1}", start=start) for hop in range(3)]
result = chain.with_flows(tb.flows(1, "sack", name="long", start=start), *hops).run()

print(result.flows.select("flow", "goodput", "mean_rtt", "retransmission_rate"))
result.plot.throughput().savefig("parking_lot.svg")
