"""Monaco keeps three packets of each flow in the network.

Control packets in a lane of their own tell the receiver how much of a flow is queued. Each flow steers that to its
target, so the queue counts the flows: three, six, nine, twelve packets.
"""

import tailback as tb

link = tb.dumbbell(rate="10 Mbit/s", delay="20 ms", buffer="200 packets", queue="priority", duration="40 s")
joining = [tb.flows(1, "monaco", name=f"flow {number}", start=f"{8 * number} s") for number in range(4)]
result = link.with_flows(*joining).run()

queue = result.series()
for end in (8, 16, 24, 32):
    late = queue.filter((queue["time"] > end - 3) & (queue["time"] < end))
    print(f"before {end} s: {late['mean_queue'].mean():.1f} packets queued")
result.plot.overview().savefig("monaco.svg")
