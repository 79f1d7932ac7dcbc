"""Web traffic beside a download: how long files take.

Forty readers fetch files with heavy-tailed sizes while one CUBIC flow fills the queue. Fair queueing with CoDel lets
short files pass.
"""

import polars as pl

import tailback as tb
from tailback.results.completion import completion_times

link = tb.dumbbell(rate="10 Mbit/s", delay="20 ms", buffer="150 packets", duration="80 s", warm_up="10 s")
files = {
    "name": "files",
    "size": {"name": "pareto", "mean": "30 kB", "shape": 1.2},
    "pause": {"name": "exponential", "mean": "3 s"},
    "connection": "per-file",
}
load = link.with_flows(tb.flows(40, "sack", files, name="reader"), tb.flows(1, "cubic", name="download"))
plain, fair = load.run(), load.replace(queue="fq-codel").run()

for name, result in (("drop-tail", plain), ("fq-codel", fair)):
    row = completion_times(result).filter(pl.col("group") == "reader").row(0, named=True)
    print(f"{name:9} median {row['completion_time_p50']:.2f} s, 95th percentile {row['completion_time_p95']:.2f} s")
plain.plot.completion().savefig("web_and_fct.svg")
