"""Incast: many servers answer at the same instant.

A client asks up to 64 servers of a rack for 64 kB each, and all answers meet at one port of the switch. Whoever loses the
end of an answer waits 200 ms for its timer, hundreds of times as long as the answer takes. DCTCP and Prague heed the
switch's marks and need no timer up to 16 servers. From 32 on, the first windows alone overflow the buffer.
"""

import tailback as tb

step = {"name": "step", "threshold": "65 packets"}
rack = tb.star(
    hosts=65, rate="10 Gbit/s", delay="10 us", buffer="200 packets", queue=step, duration="1 s", warm_up="0 s"
)
answer = {"name": "files", "size": "64 kB", "count": 1}
base = rack.with_flows(tb.flows(4, "dctcp", answer, to="h64", start={"from": "0 s", "to": "20 us"}))
runs = base.sweep(seeds=5, scheme=["cubic", "bbr3", "dctcp", "prague"], **{"flows[0].count": [4, 8, 16, 32, 64]})

found = runs.select(**{"flows[0].count": 16}).intervals("completion_time_p95")
print(found.select("scheme", "mean", "half_width"))
picture = runs.plot.over("flows[0].count", "completion_time_p95", log=True)
picture.savefig("incast.svg")
