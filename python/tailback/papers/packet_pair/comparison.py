"""The comparison that Keshav 1994, §9.4, declined to make: packet-pair beside SACK, CUBIC and paced CUBIC on the nine
benchmarks, over fair queueing and over drop-tail. Its figure is drawn in ``comparison_figure.py``; one command makes both:

    python -m tailback.papers.packet_pair --out DIR

Every combination runs with the same seeds. Nothing but benchmark 7 is random in the memorandum, so here every
connection starts up to a tenth of a round trip late, drawn from a stream that depends on the seed and on the
connection's name alone: all schemes and both disciplines meet the same starts and the same cross traffic. Intervals are
Student's t at 95 % over the seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from tailback import units
from tailback.analysis import columns
from tailback.analysis.confidence import mean_interval
from tailback.papers.packet_pair import (
    table_7,
    table_8,
    table_9,
    table_10,
    table_11,
    table_12,
    table_13,
    table_14,
    table_15,
)
from tailback.papers.packet_pair.benchmarks import PER_MS, PRIMARY, QUEUE
from tailback.papers.packet_pair.fair_share import Transfer, completions
from tailback.papers.packet_pair.scenes import HEADER, PACKET, PAYLOAD, WINDOW
from tailback.pool import Pool
from tailback.progress import Bar

if TYPE_CHECKING:
    from tailback.results import Result
    from tailback.scenario import Scenario

SEEDS = 20
QUEUES = {"fair queueing": QUEUE, "drop-tail": "drop-tail"}
LONGEST = "20 s"
"""After this a transfer that is not over counts as if it ended then."""
LOAD = 0.6
"""Of benchmark 7's Poisson sources."""
FILE = 200
"""Packets of benchmark 3's file."""

_CUBIC = {"name": "cubic", "hystart": True}
SCHEMES: dict[str, tuple[dict[str, Any] | None, dict[str, Any]]] = {
    "packet-pair": (None, {}),
    "SACK": ({"name": "sack"}, {}),
    "CUBIC": (_CUBIC, {}),
    "paced CUBIC": (_CUBIC, {"pacing": {}}),
}
"""Scheme, where not the benchmark's own, and what it changes in the transport."""


class Benchmark(NamedTuple):
    """One benchmark."""

    title: str
    scenario: Callable[[], Scenario]
    primary: tuple[str, ...]
    """The connections whose completion the memorandum prints."""
    optimal: tuple[float, ...]
    """Their printed optimum in milliseconds; empty where it prints none."""
    links: Mapping[str, tuple[str, ...]] = {}
    """Shared links of connections that do not just pass the one bottleneck."""
    capacity: float = float(PER_MS)
    """Packets per millisecond that each shared link has for the transfers."""
    late: str = "4.4 ms"
    """How much later than in the memorandum a connection may start."""


def _backwards(name: str) -> tuple[str, ...]:
    return ("back",) if name.endswith("back") else ("bottleneck",)


_NAMES_6 = [f"{index}{way}" for index in range(1, 12) for way in ("", " back")]
BENCHMARKS: dict[int, Benchmark] = {
    1: Benchmark("slow changes", table_7.CROSSING.scenario, ("1",), (1444.0,)),
    2: Benchmark("sudden jumps", table_8.CROSSING.scenario, ("1",), (1444.0,)),
    3: Benchmark("short file", lambda: table_9.scenario(FILE), ("1",), (64.0,)),
    4: Benchmark("two lengths", table_10.scenario, ("1", "2"), (1844.0, 1882.0)),
    5: Benchmark(
        "moving bottleneck",
        table_11.scenario,
        ("1",),
        (644.0,),
        {"1": ("s1-s2", "s2-h2"), "2": ("s1-s2",), "3": ("s2-h2",), "4": ("s2-h2",)},
    ),
    6: Benchmark(
        "two-way",
        table_12.scenario,
        ("1", "1 back"),
        (1556.0, 1556.0),
        {name: _backwards(name) for name in _NAMES_6},
        PER_MS * PACKET / (PACKET + HEADER),
    ),
    7: Benchmark(
        "Poisson", lambda: table_13.scenario(LOAD, at_once=True), ("1",), (1044.0,), capacity=PER_MS * (1 - LOAD)
    ),
    8: Benchmark("small buffer", lambda: table_14.scenario(table_14.Run(WINDOW)), ("1",), (1444.0,)),
    9: Benchmark(
        "torture test",
        table_15.scenario,
        ("1", "2"),
        (),
        capacity=2 * PRIMARY / table_15.best(),
        late="1 ms",
    ),
}


class Case(NamedTuple):
    """One run."""

    benchmark: int
    queue: str
    scheme: str
    seed: int


METRICS = {
    "speed": ("optimum / completion time", "of the primary connections; 1 is the memorandum's optimum"),
    "delay": ("queueing delay (ms)", "mean round trip of the primary connections less its propagation"),
    "repeated": ("retransmitted (%)", "of all packets of all controlled connections"),
    "jain": ("fairness", "Jain's index of max-min fair time / time taken, over all controlled connections"),
}
"""What is compared: the axis' label, and what it is."""


def scenario(case: Case) -> Scenario:
    """A benchmark with another scheme, another discipline, and late starts."""
    from tailback.scenario import Scenario

    benchmark = BENCHMARKS[case.benchmark]
    scheme, changed = SCHEMES[case.scheme]
    data = benchmark.scenario().model_dump(by_alias=True, exclude_none=True)
    topology = data["topology"]
    for link in [topology, *topology.get("links", [])]:
        if link.get("queue") == QUEUE:
            link["queue"] = QUEUES[case.queue]
    for flow in data["flows"]:
        start = units.number(str(flow["start"]))
        flow["start"] = {"from": units.time(start), "to": units.time(start + units.number(benchmark.late))}
        if flow["scheme"]["name"] == "packet-pair":
            flow["scheme"] = scheme or flow["scheme"]
            flow["transport"] |= changed
    data |= {
        "name": f"benchmark {case.benchmark}: {case.scheme} over {case.queue}",
        "duration": LONGEST,
        "record": {"flows": list(benchmark.primary), "links": "none", "bin": "100 ms"},
    }
    return Scenario.model_validate(data)


def simulate(case: Case) -> dict[str, float]:
    """One run's figures."""
    return judge(case, scenario(case).run(seed=case.seed))


def judge(case: Case, result: Result) -> dict[str, float]:
    """What a run of a case says."""
    benchmark = BENCHMARKS[case.benchmark]
    flows = result.flows.filter(pl.col("source") == "bulk")
    rows = flows.to_dicts()
    sizes = file_sizes(result.scenario)
    ideal = completions(
        [
            Transfer(1e3 * row["start"], sizes[row["flow"]], benchmark.links.get(row["flow"], ("bottleneck",)))
            for row in rows
        ],
        dict.fromkeys(
            {link for links in benchmark.links.values() for link in links} or {"bottleneck"}, benchmark.capacity
        ),
    )
    shares = {}
    for row, best in zip(rows, ideal, strict=True):
        end = result.duration if row["finished"] is None else row["finished"]
        shares[row["flow"]] = (best + 1e3 * row["round_trip"]) / (1e3 * (end - row["start"]))
    primary = [row for row in rows if row["flow"] in benchmark.primary]
    values = list(shares.values())
    return {
        "speed": _mean(shares[name] for name in benchmark.primary),
        "delay": _mean(1e3 * (row["mean_rtt"] - row["round_trip"]) for row in primary),
        "repeated": 100 * float(flows["retransmitted_packets"].sum()) / float(flows["sent_packets"].sum()),
        "jain": sum(values) ** 2 / (len(values) * sum(v * v for v in values)) if len(values) > 1 else math.nan,
        "unfinished": float(flows["finished"].null_count()),
    }


def file_sizes(scenario: Scenario) -> dict[str, float]:
    """Packets of every connection that transfers a file."""
    from tailback.scenario._models import BulkSource

    bulk = {flow.name: flow.source for flow in scenario.flows if isinstance(flow.source, BulkSource)}
    return {name: units.number(str(source.size)) / PAYLOAD for name, source in bulk.items()}


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


def compare(seeds: int = SEEDS, *, jobs: int | None = None, show_progress: bool = True) -> pl.DataFrame:
    """Runs everything; one row per benchmark, discipline, scheme and metric, with mean and half-width over the seeds."""
    cases = [
        Case(benchmark, queue, scheme, seed)
        for benchmark in BENCHMARKS
        for queue in QUEUES
        for scheme in SCHEMES
        for seed in range(1, seeds + 1)
    ]
    with Pool(jobs) as pool, Bar("comparing", len(cases), show=show_progress) as bar:
        found = pool.map(simulate, cases, bar.advance)
    samples = pl.DataFrame([{**case._asdict(), **figures} for case, figures in zip(cases, found, strict=True)])
    rows = []
    for (benchmark, queue, scheme), part in samples.group_by(["benchmark", "queue", "scheme"], maintain_order=True):
        for metric in METRICS:
            values = part[metric].drop_nans()
            interval = mean_interval(values) if len(values) else None
            rows.append(
                {
                    "benchmark": benchmark,
                    "queue": queue,
                    "scheme": scheme,
                    "metric": metric,
                    "mean": interval.mean if interval else None,
                    "half_width": interval.half_width if interval else None,
                    "runs": len(values),
                    "unfinished": int(part["unfinished"].sum()),
                }
            )
    return pl.DataFrame(rows)


def markdown(table: pl.DataFrame) -> str:
    """Geometric means of speed and delay and means of the rest over the benchmarks, as a table for the documentation."""
    lines = [
        "| over | scheme | optimum / time | queueing delay | retransmitted | fairness |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for queue in QUEUES:
        for scheme in SCHEMES:
            part = table.filter((pl.col("queue") == queue) & (pl.col("scheme") == scheme))
            speed = math.exp(columns.mean(_of(part, "speed").log()))
            delay, again, jain = (columns.mean(_of(part, name)) for name in ("delay", "repeated", "jain"))
            lines.append(f"| {queue} | {scheme} | {speed:.2f} | {delay:.1f} ms | {again:.2f} % | {jain:.3f} |")
    return "\n".join(lines) + "\n"


def _of(part: pl.DataFrame, metric: str) -> pl.Series:
    return part.filter(pl.col("metric") == metric)["mean"].drop_nulls()
