"""CUBIC against Reno over the round trip time.

CUBIC's window grows with time, not with round trips: on short paths it behaves like Reno, on long ones it takes most.
"""

import tailback as tb

link = tb.dumbbell(rate="40 Mbit/s", delay="5 ms", buffer="1 BDP", duration="90 s", warm_up="30 s")
mixed = link.with_flows(tb.flows(2, "sack", name="reno"), tb.flows(2, "cubic"))
runs = mixed.sweep(delay=["2 ms", "10 ms", "25 ms", "50 ms", "100 ms"], seeds=4)

print(runs.compare("group", "reno", "goodput").select("delay", "relative", "differs"))
runs.plot.share("delay").savefig("cubic_and_reno.svg")
