"""A cellular link and its deep buffer.

The link's rate swings between 2 and 12 Mbit/s, as a trace of delivery opportunities. CUBIC fills the buffer, so that a
dip of the rate becomes hundreds of milliseconds of delay; with CoDel the queue stays short.
"""

import numpy as np

import tailback as tb
from tailback.capture.mahimahi import delivery_trace, write_mahimahi

seconds = np.arange(0, 8, 0.01)
rate = 7e6 + 5e6 * np.sin(2 * np.pi * seconds / 8)  # bit/s
write_mahimahi("swinging.trace", delivery_trace(rate * 0.01 / 8, 0.01))

link = tb.dumbbell(rate="12 Mbit/s", delay="25 ms", buffer="300 packets", duration="40 s", warm_up="8 s")
link = link.replace(trace={"file": "swinging.trace", "opportunity": "1500 B"})
one = link.with_flows(tb.flows(1, "cubic", transport={"segment_size": "1500 B"}))
deep, short = one.run(), one.replace(queue="codel").run()

for name, result in (("drop-tail", deep), ("CoDel", short)):
    goodput, slow = result.flows["goodput"][0] / 1e6, result.flow_series["rtt"].quantile(0.95, "linear") * 1e3
    print(f"{name:9} {goodput:.2f} Mbit/s, 95 % of round trips below {slow:.0f} ms")
deep.plot.overview().savefig("cellular.svg")
