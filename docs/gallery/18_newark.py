"""What a limit on saved tokens gains.

Fifteen users with endless files share a link with fifteen that send impulses. All of them send with tokens; where the queue
tells of burstiness, those who saved many may no longer let all go at once: fewer losses, and more of the link used.
"""

import tailback as tb

link = tb.dumbbell(rate="45 Mbit/s", delay="40 ms", buffer="240 packets", duration="40 s", warm_up="10 s")
impulses = {
    "name": "on-off",
    "rate": "100 Mbit/s",
    "on": {"name": "exponential", "mean": "4608 us"},
    "off": {"name": "exponential", "mean": "1 s"},
}
users = [tb.flows(15, "newark", name="file"), tb.flows(15, "newark", impulses, name="impulse")]
rho = {"min": 0.9, "max": 1.0, "max_p": 0.003}

for eta in ({"min": 1.0, "max": 1.0}, {"min": 0.1, "max": 0.2}):
    queue = {"name": "tdqm", "rho": rho, "eta": eta}
    result = link.with_flows(*users).replace(queue=queue).run()
    row = result.links.filter(result.links["link"] == result.bottleneck)
    print(f"η marks from {eta['min']}: utilization {row['utilization'][0]:.2f}, loss {row['loss_rate'][0]:.2%}")

result.plot.queue().savefig("newark.svg")
