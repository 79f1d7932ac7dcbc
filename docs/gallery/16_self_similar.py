"""Self-similar traffic from the sizes of files, and how far ahead it can be predicted.

Thirty clients send files with heavy-tailed sizes through one bottleneck. The heavier the tail, the longer the memory of
what passes it, and the more the last two seconds say of the next two.
"""

import tailback as tb
from tailback.analysis import lrd
from tailback.plot.lrd import overview

link = tb.dumbbell(
    rate="10 Mbit/s", delay="10 ms", buffer="64 packets", duration="400 s", record={"bin": "10 ms", "flows": "none"}
)
for shape, pause in ((1.2, "140 ms"), (1.9, "160 ms")):
    files = {
        "name": "files",
        "size": {"name": "pareto", "mean": "5 kB", "shape": shape},
        "pause": {"name": "exponential", "mean": pause},
    }
    clients = tb.flows(30, "reno", files, name="client", transport={"receive_window": "2 packets"})
    series = link.with_flows(clients).run().series(link="r0->r1")["transmitted_bytes"].to_numpy()
    found = lrd.study(lrd.Trace(f"shape {shape}", series, 0.01))
    span = found.prediction.table.span(5)
    print(
        f"shape {shape}: {found.verdict} The past explains {found.prediction.predictability:.0%}, E[L2] spans {span:.1f}"
    )
    if shape == 1.2:
        overview(found).savefig("self_similar.svg")
